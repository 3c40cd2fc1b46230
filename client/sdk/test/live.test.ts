// Calls the real app through a proxy that loses requests and answers. The database tells how often each call took
// effect, and the stream of a turn is cut again and again.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startChatWorld } from '../../../server/test/support/chat.ts';
import { isPlinthError, Plinth } from '../src/index.ts';
import { type Fate, startLossyProxy } from './lossy-proxy.ts';

const { world, owner, workspace, token, scriptSteps } = await startChatWorld();
const direct = new Plinth({ url: world.url, token });

const cuts = 10;
// So long that all cuts are within it. The events after it are larger than what a cut connection carries.
const text = Array.from({ length: 2500 }, (_, index) => `word${index}`).join(' ');

describe('a stream that is cut ten times', () => {
  it('yields each event once, in order', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      scriptSteps({ text: `${turn} ${text}` });
      const app = await world.appOf(owner, workspace);
      let left = cuts;
      const proxy = await startLossyProxy(world.url, () => (left-- > 0 ? { cut: 1000 + 150 * (cuts - left) } : 'pass'));
      const ids: string[] = [];
      let said = '';
      let last: unknown;
      for await (const { event, data, id } of new Plinth({ url: proxy.url, token })
        .app(app.id)
        .sendChatMessage({ content: 'Say something long' })
        .stream()) {
        if (id !== undefined) ids.push(id);
        if (event === 'message.reset') said = '';
        if (event === 'message.delta') said += data.text;
        if (event === 'turn.completed') last = data.status.state;
      }
      const { faults } = proxy;
      await proxy.close();
      expect(faults).toBe(cuts);
      expect(new Set(ids).size).toBe(ids.length);
      expect(said).toBe(`${turn} ${text}`);
      expect(last).toBe('ready');
    }
  });

  it('is what a long call is read from, and gives the same data', async () => {
    scriptSteps({ text });
    const app = await world.appOf(owner, workspace);
    let left = 3;
    const proxy = await startLossyProxy(world.url, () => (left-- > 0 ? { cut: 1500 } : 'pass'));
    const turn = await new Plinth({ url: proxy.url, token }).app(app.id).sendChatMessage({ content: 'Hello' });
    await proxy.close();
    expect(turn.conversation.messages.map(({ content }) => content)).toEqual(['Hello', text]);
  });
});

describe('calls through a proxy that loses requests and answers', () => {
  it('take effect once or not at all, and say so if nobody knows', async ({ task }) => {
    const app = await world.appOf(owner, workspace);
    const properties = { code: { type: 'string' } } as const;
    await direct.putEntitySchema({ app_id: app.id, entity_name: 'Task', name: 'Task', properties });
    const calls = process.env.ALL_CASES === '1' ? 200 : 60;
    const fates: readonly Fate[] = ['pass', 'drop', 'lose', 'page', { cut: 20 }, 'pass', 'lose'];
    let index = 0;
    const proxy = await startLossyProxy(world.url, () => fates[index++ % fates.length] ?? 'pass');
    const plinth = new Plinth({ url: proxy.url, token, maxRetries: 4 });
    const Task = plinth.app(app.id).entity('Task');
    const outcomes = await Promise.all(
      Array.from({ length: calls }, async (_, number) => {
        const code = `code-${number}`;
        const created = await Task.create({ code }).result();
        return { code, created };
      }),
    );
    await proxy.close();
    expect(proxy.faults).toBeGreaterThan(calls / 2);
    const { rows } = await sql<{ code: string; count: number }>`
      select data->>'code' as code, count(*)::int as count from entity_records where app_id = ${app.id} group by 1`.execute(
      world.db,
    );
    const counts = new Map(rows.map(({ code, count }) => [code, count]));
    const refused = outcomes.flatMap(({ created }) => (created.ok ? [] : [created.error]));
    task.meta.figures = {
      calls,
      faults: proxy.faults,
      done: calls - refused.length,
      unknown: refused.filter(({ outcomeUnknown }) => outcomeUnknown).length,
      second_effects: [...counts.values()].filter((count) => count > 1).length,
    };
    for (const { code, created } of outcomes) {
      expect(counts.get(code) ?? 0).toBeLessThanOrEqual(1);
      if (created.ok) expect(counts.get(code)).toBe(1);
      else if (isPlinthError(created.error) && !created.error.outcomeUnknown) expect(counts.get(code) ?? 0).toBe(0);
    }
  });
});
