// Plays the integrator, using only the API: creates webhooks, re-enables them, replays, redelivers, and reads delivery
// logs.

import type { Call } from '../../harness/retrying-client.ts';
import { keyOf } from './journal.ts';

export interface Webhook {
  readonly agent: string;
  readonly id: string;
  /** The webhook's path on the receiver. */
  readonly path: string;
  readonly types: readonly string[];
  readonly secret: string;
}

export interface ListedDelivery {
  readonly id: string;
  readonly event_id: string;
  readonly sequence: number;
  readonly status: string;
  readonly next_attempt_at: string | null;
}

const at = ({ agent, id }: Webhook): string => `/api/agents/${agent}/webhooks/${id}`;

export async function createAgent(call: Call, name: string): Promise<{ id: string; conversation: string }> {
  const { id } = (await call('POST', '/api/agents', { name })).body;
  const { id: conversation } = (await call('POST', `/api/agents/${id}/conversations`)).body;
  return { id, conversation };
}

export async function createWebhook(call: Call, agent: string, origin: string, path: string, types: readonly string[]) {
  const newWebhook = { target_url: `${origin}${path}`, events: types };
  const { id, secret } = (await call('POST', `/api/agents/${agent}/webhooks`, newWebhook)).body;
  return { agent, id, path, types, secret } as Webhook;
}

export interface Integrator {
  /** Re-enables webhooks that were turned off and replays the deliveries they missed. Returns how many were off. */
  reenableWebhooks(): Promise<number>;
  /** The time at which each path was last re-enabled. */
  readonly turnedOnAt: ReadonlyMap<string, number>;
  /**
   * Requests all deliveries that have not arrived and are not expected soon. Returns the number of pending deliveries.
   */
  replayMissing(): Promise<number>;
}

const replayedEveryMs = 100;
const patienceMs = 2_000;

export function createIntegrator(call: Call, webhooks: readonly Webhook[]): Integrator {
  const replayedUntil = new Map<string, number>();
  const turnedOnAt = new Map<string, number>();

  /** Replays failed and missed deliveries at ten per second. Does nothing while the webhook is off. */
  async function replay(webhook: Webhook): Promise<number> {
    const { queued = 0 } = (await call('POST', `${at(webhook)}/replay`, { limit: 10_000 })).body;
    replayedUntil.set(webhook.id, Math.max(Date.now(), replayedUntil.get(webhook.id) ?? 0) + queued * replayedEveryMs);
    return queued;
  }

  async function revive(): Promise<number> {
    const off = (
      await Promise.all(webhooks.map(async (webhook) => ((await isOff(call, webhook)) ? [webhook] : [])))
    ).flat();
    for (const webhook of off) {
      await call('PATCH', at(webhook), { enabled: true });
      turnedOnAt.set(webhook.path, Date.now());
      await replay(webhook);
    }
    return off.length;
  }

  async function chaseOne(webhook: Webhook): Promise<number> {
    const waiting = await listDeliveries(call, webhook, 'pending');
    // A replay in progress sends its own deliveries, but a delivery's next scheduled attempt may be hours away.
    const soon = Math.max(Date.now(), replayedUntil.get(webhook.id) ?? 0) + patienceMs;
    for (const { id, next_attempt_at } of waiting)
      if (Date.parse(next_attempt_at ?? '') > soon) await call('POST', `${at(webhook)}/deliveries/${id}/redeliver`);
    const replayed = await replay(webhook);
    return waiting.length + replayed + (await listDeliveries(call, webhook, 'delivering')).length;
  }

  return {
    reenableWebhooks: revive,
    turnedOnAt,
    async replayMissing() {
      await revive();
      return (await Promise.all(webhooks.map(chaseOne))).reduce((sum, count) => sum + count, 0);
    },
  };
}

const isOff = async (call: Call, webhook: Webhook): Promise<boolean> =>
  (await call('GET', at(webhook))).body.disabled_at !== null;

export async function listDeliveries(call: Call, webhook: Webhook, status?: string): Promise<ListedDelivery[]> {
  const listed: ListedDelivery[] = [];
  const query = new URLSearchParams({ after_seq: '0', limit: '100', ...(status && { status }) });
  for (let more = true; more; ) {
    const { body } = await call('GET', `${at(webhook)}/deliveries?${query}`);
    listed.push(...body.items);
    more = body.has_more;
    if (more) query.set('cursor', body.next_cursor);
  }
  return listed;
}

/** Returns the key of the delivery with the highest sequence number. */
export async function newestKey(call: Call, webhook: Webhook): Promise<string | undefined> {
  const { body } = await call('GET', `${at(webhook)}/deliveries?limit=1`);
  return body.items.length === 0 ? undefined : keyOfDelivery(call, webhook, body.items[0]);
}

/** Returns a delivery's event key, as reported by the API. */
export async function keyOfDelivery(call: Call, webhook: Webhook, { id }: ListedDelivery): Promise<string> {
  const { type, data } = (await call('GET', `${at(webhook)}/deliveries/${id}`)).body.payload;
  return keyOf(type, data.message.content);
}
