// Finds the longest stall: the longest time in which nothing was delivered although something was due, PostgreSQL was
// up and no worker was killed. Computed from the journals. A worker's start counts, because a receiver experiences it
// as a wait like any other.
import { rounded } from '../../harness/statistics.ts';
import type { Webhook } from './integrator.ts';
import { type FaultLine, type ReceivedLine, type SentLine, typeOf } from './journal.ts';

export interface StallEvidence {
  readonly sent: readonly SentLine[];
  readonly received: readonly ReceivedLine[];
  readonly faults: readonly FaultLine[];
  /**
   * The time at which each path was last re-enabled. While a webhook was off, its deliveries waited for the integrator.
   */
  readonly turnedOnAt: ReadonlyMap<string, number>;
  /** The number of ready workers, recorded once a second. */
  readonly workers: readonly { readonly at: number; readonly ready: number }[];
}

interface Period {
  readonly from: number;
  readonly to: number;
}

export interface Stall {
  readonly seconds: number;
  /** What happened in each second, from shortly before the stall until its end. */
  readonly timeline: readonly string[];
}

const minStallMs = 100;

export function findLongestStall(webhooks: readonly Webhook[], evidence: StallEvidence): Stall {
  const waits = webhooks.flatMap((webhook) => listWaits(webhook, evidence));
  let longest: Period = { from: 0, to: 0 };
  for (const gap of listGaps(evidence)) {
    const dueSince = waits.reduce((least, { from, to }) => (to >= gap.to ? Math.min(least, from) : least), gap.to);
    const stall = { from: Math.max(gap.from, dueSince), to: gap.to };
    if (stall.to - stall.from > longest.to - longest.from) longest = stall;
  }
  const seconds = rounded((longest.to - longest.from) / 1000, 1);
  return { seconds, timeline: seconds === 0 ? [] : describePeriod(longest, evidence) };
}

/**
 * Returns the periods without a delivery, split where a fault stopped workers. Excludes periods in which PostgreSQL was
 * down.
 */
function listGaps({ received, faults }: StallEvidence): Period[] {
  const stops = faults.filter(({ fault }) => fault === 'worker killed' || fault === 'postgres crashed');
  const moments = [...received.filter(isDelivered).map(({ at }) => at), ...stops.flatMap(({ from, to }) => [from, to])];
  moments.sort((a, b) => a - b);
  return moments
    .slice(1)
    .map((to, n) => ({ from: moments[n] as number, to }))
    .filter(({ from, to }) => to - from > minStallMs)
    .filter(({ from, to }) => !stops.some((stop) => stop.from <= from && to <= stop.to));
}

const isDelivered = ({ answer }: ReceivedLine): boolean => answer === 200;

// The documented delays, plus the longest attempt and jitter. Later retries would be due after the drill has ended.
const retryDelaysMs = [5_000, 5 * 60_000].map((ms) => 10_000 + ms * 1.1);

/**
 * Returns the waits from an event's acknowledgement to its first attempt, and from each retry's due time to that retry.
 */
function listWaits(webhook: Webhook, { sent, received, turnedOnAt }: StallEvidence): Period[] {
  const attempts = Map.groupBy(
    received.filter((line) => line.webhook === webhook.path),
    ({ key }) => key,
  );
  const waits: Period[] = [];
  for (const line of sent) {
    if (line.state !== 'acknowledged' || line.agent !== webhook.agent) continue;
    for (const key of line.keys)
      if (webhook.types.includes(typeOf(key))) waits.push(...waitsOf(line.at, attempts.get(key) ?? []));
  }
  const countedFrom = turnedOnAt.get(webhook.path) ?? 0;
  return waits.filter(({ from, to }) => from >= countedFrom && from < to);
}

function waitsOf(acknowledgedAt: number, attempts: readonly ReceivedLine[]): Period[] {
  const waits: Period[] = [{ from: acknowledgedAt, to: attempts[0]?.at ?? Number.POSITIVE_INFINITY }];
  for (const [n, attempt] of attempts.entries()) {
    const delayMs = retryDelaysMs[n];
    if (isDelivered(attempt) || delayMs === undefined) break;
    waits.push({ from: attempt.at + delayMs, to: attempts[n + 1]?.at ?? Number.POSITIVE_INFINITY });
  }
  return waits;
}

const secondsBefore = 3;

function describePeriod({ from, to }: Period, { sent, received, faults, workers }: StallEvidence): string[] {
  const startedAt = sent[0]?.at ?? from;
  const secondOf = (at: number) => Math.floor((at - startedAt) / 1000);
  const delivered = Map.groupBy(received.filter(isDelivered), ({ at }) => secondOf(at));
  const first = secondOf(from) - secondsBefore;
  return Array.from({ length: secondOf(to) - first + 1 }, (_, n) => {
    const second = first + n;
    const ready = workers.findLast(({ at }) => secondOf(at) <= second)?.ready ?? 0;
    const injected = faults.filter((line) => secondOf(line.from) === second).map(({ fault }) => fault);
    return [`${second} s: ${delivered.get(second)?.length ?? 0} delivered`, `${ready} workers ready`, ...injected].join(
      ', ',
    );
  });
}
