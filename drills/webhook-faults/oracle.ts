// Judges the drill by comparing the sender's and receiver's journals with the API's lists. It knows nothing about how
// Plinth works.
import type { ListedDelivery, Webhook } from './integrator.ts';
import { type ReceivedLine, type SentLine, typeOf } from './journal.ts';

/** The deliveries that the API listed for each path, and the time at which they were listed. */
export interface Listing {
  readonly at: number;
  readonly deliveries: ReadonlyMap<string, readonly ListedDelivery[]>;
}

export interface Evidence {
  readonly sent: readonly SentLine[];
  readonly received: readonly ReceivedLine[];
  readonly listing: Listing;
  /** Each event's key. */
  readonly keys: ReadonlyMap<string, string>;
}

const waitingStatuses = ['pending', 'delivering', 'held', 'failed', 'missed'];

/** Counts of faults, all of which should be 0. */
export interface Verdict {
  /** Acknowledged events that neither got a 2xx response nor are listed as still to be delivered. */
  readonly lost: number;
  /** Acknowledged events that did not get a 2xx response. */
  readonly undelivered: number;
  /** Sequence numbers, per webhook, that neither arrived nor are listed. */
  readonly gaps: number;
  /** Events with two sequence numbers in one webhook, and messages that arrived as two events. */
  readonly twice: number;
  /** Sequence numbers that refer to one event in the journal and to a different event in the API. */
  readonly contradicted: number;
  /** Events listed as delivered, although the receiver never responded with 2xx. */
  readonly claimed: number;
  /** Events that were received but never sent. */
  readonly invented: number;
}

export function judgeDeliveries(webhooks: readonly Webhook[], evidence: Evidence): Verdict {
  const received = Map.groupBy(
    evidence.received.filter(({ at }) => at <= evidence.listing.at),
    ({ webhook }) => webhook,
  );
  const verdicts = webhooks.map((webhook) => judgeWebhook(webhook, received.get(webhook.path) ?? [], evidence));
  const sum = (of: keyof Verdict) => verdicts.reduce((total, verdict) => total + verdict[of], 0);
  return {
    lost: sum('lost'),
    undelivered: sum('undelivered'),
    gaps: sum('gaps'),
    twice: sum('twice'),
    contradicted: sum('contradicted'),
    claimed: sum('claimed'),
    invented: sum('invented'),
  };
}

function judgeWebhook(webhook: Webhook, received: readonly ReceivedLine[], { sent, listing, keys }: Evidence): Verdict {
  const listed = listing.deliveries.get(webhook.path) ?? [];
  const sequences = new Map<number, { delivery: string; event: string }>();
  let contradicted = 0;
  const note = (sequence: number, delivery: string, event: string) => {
    const known = sequences.get(sequence);
    if (known === undefined) sequences.set(sequence, { delivery, event });
    else if (known.delivery !== delivery || known.event !== event) contradicted += 1;
  };
  for (const { sequence, delivery, event } of received) note(sequence, delivery, event);
  for (const { sequence, id, event_id } of listed) note(sequence, id, event_id);

  const keyOf = (event: string) => keys.get(event) ?? event;
  const numberedKeys = [...sequences.values()].map(({ event }) => keyOf(event));
  const arrived = new Set(received.filter(({ answer }) => answer === 200).map(({ event }) => keyOf(event)));
  const waiting = new Set(
    listed.filter(({ status }) => waitingStatuses.includes(status)).map(({ event_id }) => keyOf(event_id)),
  );
  const concerning = expectedKeys(webhook, sent);
  const missing = [...concerning.acknowledged].filter((key) => !arrived.has(key));
  return {
    lost: missing.filter((key) => !waiting.has(key)).length,
    undelivered: missing.length,
    gaps: Math.max(0, ...sequences.keys()) - sequences.size,
    twice: numberedKeys.length - new Set(numberedKeys).size,
    contradicted,
    claimed: listed.filter(({ status, event_id }) => status === 'delivered' && !arrived.has(keyOf(event_id))).length,
    invented: numberedKeys.filter((key) => !concerning.began.has(key)).length,
  };
}

/** Returns the events that the webhook should receive, according to the sender's journal. */
function expectedKeys({ agent, types }: Webhook, sent: readonly SentLine[]): Record<SentLine['state'], Set<string>> {
  const keys = { began: new Set<string>(), acknowledged: new Set<string>() };
  for (const line of sent)
    if (line.agent === agent) for (const key of line.keys) if (types.includes(typeOf(key))) keys[line.state].add(key);
  return keys;
}

/**
 * Counts repeated deliveries, and repeats that differ from the first delivery in sequence number, event, body or
 * webhook.
 */
export function countRepeats(received: readonly ReceivedLine[]): { repeated: number; changed: number } {
  const first = new Map<string, string>();
  let [repeated, changed] = [0, 0];
  for (const { delivery, webhook, sequence, event, sha256 } of received) {
    const is = `${webhook} ${sequence} ${event} ${sha256}`;
    const was = first.get(delivery);
    if (was === undefined) first.set(delivery, is);
    else repeated += 1;
    if (was !== undefined && was !== is) changed += 1;
  }
  return { repeated, changed };
}
