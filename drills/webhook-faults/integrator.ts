// Owns what an integrator does through the API: sets webhooks up, turns on again what was turned off, replays, redelivers,
// and reads the logs of deliveries.
import type { Ask } from './asking.ts';
import { keyOf } from './journal.ts';

export interface Hook {
  readonly agent: string;
  readonly id: string;
  /** The path that the receiver knows it by. */
  readonly path: string;
  readonly types: readonly string[];
  readonly secret: string;
}

export interface Listed {
  readonly id: string;
  readonly event_id: string;
  readonly sequence: number;
  readonly status: string;
  readonly next_attempt_at: string | null;
}

const at = ({ agent, id }: Hook): string => `/api/agents/${agent}/webhooks/${id}`;

export async function createAgent(ask: Ask, name: string): Promise<{ id: string; conversation: string }> {
  const { id } = (await ask('POST', '/api/agents', { name })).body;
  const { id: conversation } = (await ask('POST', `/api/agents/${id}/conversations`)).body;
  return { id, conversation };
}

export async function createHook(ask: Ask, agent: string, origin: string, path: string, types: readonly string[]) {
  const asked = { target_url: `${origin}${path}`, events: types };
  const { id, secret } = (await ask('POST', `/api/agents/${agent}/webhooks`, asked)).body;
  return { agent, id, path, types, secret } as Hook;
}

export interface Integrator {
  /** Turns on what was turned off, and replays what it missed; gives how many were off. */
  revive(): Promise<number>;
  /** Asks for everything that has not arrived and would not soon; gives how many are on their way. */
  chase(): Promise<number>;
}

const replayedEveryMs = 100;
const patienceMs = 2_000;

export function integratorOf(ask: Ask, hooks: readonly Hook[]): Integrator {
  const replayedUntil = new Map<string, number>();

  /** What failed and what was missed, ten a second; nothing while it is off again. */
  async function replay(hook: Hook): Promise<number> {
    const { queued = 0 } = (await ask('POST', `${at(hook)}/replay`, { limit: 10_000 })).body;
    replayedUntil.set(hook.id, Math.max(Date.now(), replayedUntil.get(hook.id) ?? 0) + queued * replayedEveryMs);
    return queued;
  }

  async function revive(): Promise<number> {
    const off = (await Promise.all(hooks.map(async (hook) => ((await isOff(ask, hook)) ? [hook] : [])))).flat();
    for (const hook of off) {
      await ask('PATCH', at(hook), { enabled: true });
      await replay(hook);
    }
    return off.length;
  }

  async function chaseOne(hook: Hook): Promise<number> {
    const waiting = await listDeliveries(ask, hook, 'pending');
    // What is being replayed has its turn; what waits for its next attempt may wait for hours.
    const soon = Math.max(Date.now(), replayedUntil.get(hook.id) ?? 0) + patienceMs;
    for (const { id, next_attempt_at } of waiting)
      if (Date.parse(next_attempt_at ?? '') > soon) await ask('POST', `${at(hook)}/deliveries/${id}/redeliver`);
    const replayed = await replay(hook);
    return waiting.length + replayed + (await listDeliveries(ask, hook, 'delivering')).length;
  }

  return {
    revive,
    async chase() {
      await revive();
      return (await Promise.all(hooks.map(chaseOne))).reduce((sum, count) => sum + count, 0);
    },
  };
}

const isOff = async (ask: Ask, hook: Hook): Promise<boolean> => (await ask('GET', at(hook))).body.disabled_at !== null;

export async function listDeliveries(ask: Ask, hook: Hook, status?: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  const query = new URLSearchParams({ after_seq: '0', limit: '100', ...(status && { status }) });
  for (let more = true; more; ) {
    const { body } = await ask('GET', `${at(hook)}/deliveries?${query}`);
    listed.push(...body.items);
    more = body.has_more;
    if (more) query.set('cursor', body.next_cursor);
  }
  return listed;
}

/** What the delivery with the highest number says. */
export async function newestKey(ask: Ask, hook: Hook): Promise<string | undefined> {
  const { body } = await ask('GET', `${at(hook)}/deliveries?limit=1`);
  return body.items.length === 0 ? undefined : keyOfListed(ask, hook, body.items[0]);
}

/** What an event says, by the API: for one that never arrived. */
export async function keyOfListed(ask: Ask, hook: Hook, { id }: Listed): Promise<string> {
  const { type, data } = (await ask('GET', `${at(hook)}/deliveries/${id}`)).body.payload;
  return keyOf(type, data.message.content);
}
