// Random runs against a model of the server: no call takes effect twice, and a failed call that says its outcome is
// known had no effect.
import { describe, expect, it } from 'vitest';
import { isPlinthError, Plinth } from '../src/index.ts';
import { createModel, type ModelledCall } from './model.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Read by `npm run bench -- client`. */
    figures?: Readonly<Record<string, number>>;
  }
}

const runs = process.env.ALL_CASES === '1' ? 8000 : 2000;
const seed = Number(process.env.TEST_SEED ?? 1);

/** A generator of random numbers with a seed (mulberry32). */
function createChance(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const app_id = '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e';
const kinds = [
  { repeat: 'safe', call: (plinth: Plinth) => plinth.getApp({ app_id }) },
  { repeat: 'safe', call: (plinth: Plinth) => plinth.updateApp({ app_id, name: 'Shop' }) },
  { repeat: 'safe', call: (plinth: Plinth) => plinth.deleteApp({ app_id }) },
  { repeat: 'key', call: (plinth: Plinth) => plinth.createApp({ name: 'Shop' }) },
  {
    repeat: 'look',
    call: (plinth: Plinth) => plinth.signIn({ email: 'ada@example.com', password: 'a long password' }),
  },
] as const;

async function runOnce(index: number) {
  const chance = createChance(seed * 100_000 + index);
  const kind = kinds[index % kinds.length] ?? kinds[0];
  const state: ModelledCall = { effects: 0, stored: new Map(), isDeleted: false };
  const token = chance() < 0.8 ? 'plp_00' : '';
  const fetch = createModel(state, chance, kind.repeat);
  const attempts: string[] = [];
  const plinth = new Plinth({
    url: 'https://plinth.example',
    ...(token && { token }),
    fetch,
    onRequest: ({ requestId }) => attempts.push(requestId),
  });
  const error = await kind.call(plinth).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { kind, isRead: index % kinds.length === 0, state, error, attempts };
}

describe('retries', () => {
  it('have no second effect, lose no success, and say when the outcome is unknown', async ({ task }) => {
    const outcomes = await Promise.all(Array.from({ length: runs }, (_, index) => runOnce(index)));
    const counts = { done: 0, refused: 0, unknown: 0, repeated: 0 };
    for (const { state, error, isRead, attempts } of outcomes) {
      expect(state.effects).toBeLessThanOrEqual(1);
      const [first = ''] = attempts;
      expect(attempts).toEqual(attempts.map((_, index) => (index === 0 ? first : `${first}.${index + 1}`)));
      if (attempts.length > 1) counts.repeated += 1;
      if (error === undefined) {
        counts.done += 1;
        if (!isRead) expect(state.effects).toBe(1);
        continue;
      }
      if (!isPlinthError(error)) throw error;
      counts[error.outcomeUnknown ? 'unknown' : 'refused'] += 1;
      if (!error.outcomeUnknown) expect(state.effects).toBe(0);
      if (isRead) expect(error.outcomeUnknown).toBe(false);
    }
    task.meta.figures = { runs, ...counts };
    // Every kind of outcome occurs: none of the assertions above is idle.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(runs / 50);
  });
});
