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

/** Gives how many had been turned off. */
export async function turnOn(ask: Ask, hooks: readonly Hook[]): Promise<number> {
  const byAgent = Map.groupBy(hooks, ({ agent }) => agent);
  let count = 0;
  for (const [agent, mine] of byAgent) {
    const { body } = await ask('GET', `/api/agents/${agent}/webhooks`);
    const off = new Set(body.filter((hook: { disabled_at: unknown }) => hook.disabled_at).map(({ id }: Hook) => id));
    for (const hook of mine.filter(({ id }) => off.has(id))) {
      await ask('PATCH', at(hook), { enabled: true });
      count += 1;
    }
  }
  return count;
}

/** Gives how many are sent again: the failed and the missed. */
export const replay = async (ask: Ask, hook: Hook): Promise<number> =>
  (await ask('POST', `${at(hook)}/replay`, { limit: 10_000 })).body.queued;

/** False: it is being attempted at this moment, or its webhook is off. */
export const redeliver = async (ask: Ask, hook: Hook, { id }: Listed): Promise<boolean> =>
  (await ask('POST', `${at(hook)}/deliveries/${id}/redeliver`)).status === 200;

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

export async function lastSequence(ask: Ask, hook: Hook): Promise<number> {
  const { body } = await ask('GET', `${at(hook)}/deliveries?limit=1`);
  return body.items[0]?.sequence ?? 0;
}

/** What an event that never arrived says it is. */
export async function keyOfListed(ask: Ask, hook: Hook, { id }: Listed): Promise<string> {
  const { type, data } = (await ask('GET', `${at(hook)}/deliveries/${id}`)).body.payload;
  return keyOf(type, data.message.content);
}
