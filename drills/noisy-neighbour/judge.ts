// Judges the drill: the quiet workspace's latencies and failures during a period, and whether they are within the bar.
import { quantile, rounded } from '../../harness/statistics.ts';
import { type CallKind, callKinds, type QuietCall } from './calls.ts';

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export interface Journals {
  readonly calls: readonly QuietCall[];
  /** The arrival time of each `put`'s delivery. */
  readonly arrivals: ReadonlyMap<number, number>;
}

type Kind = CallKind | 'delivery';
export type Latencies = Readonly<Record<Kind, number>>;

const isWithin = ({ at }: QuietCall, stretches: readonly Stretch[]): boolean =>
  stretches.some(({ from, to }) => at >= from && at < to);

export const isFailed = ({ status }: QuietCall): boolean => status !== 200;

/**
 * Returns the 95th percentile for each kind of call and for deliveries, which are measured from the intended start of
 * the change to the delivery's arrival.
 */
export function latenciesWithin({ calls, arrivals }: Journals, stretches: readonly Stretch[]): Latencies {
  const within = calls.filter((call) => isWithin(call, stretches));
  const p95 = (times: readonly number[]) => rounded(quantile(times, 0.95), 1);
  const byKind = callKinds.map((kind) => [kind, p95(within.flatMap((call) => (call.kind === kind ? call.ms : [])))]);
  const delivered = within.flatMap(({ kind, status, n, at }) =>
    kind === 'put' && status === 200 ? (arrivals.get(n) ?? Number.POSITIVE_INFINITY) - at : [],
  );
  return { ...Object.fromEntries(byKind), delivery: p95(delivered) } as Latencies;
}

export const countFailed = ({ calls }: Journals, stretch: Stretch): number =>
  calls.filter((call) => isWithin(call, [stretch]) && isFailed(call)).length;

export const maxP95Ms: Readonly<Record<'call' | 'delivery', number>> = { call: 300, delivery: 1_000 };

/** Lists the kinds whose 95th percentile is beyond the bar. */
export const beyondBar = (beside: Latencies): string[] =>
  Object.entries(beside).flatMap(([kind, ms]) => (ms <= maxP95Ms[kind === 'delivery' ? kind : 'call'] ? [] : kind));

/**
 * Lists the kinds whose 95th percentile is more than twice the value without an attack and more than 30 ms above it.
 */
export const findSlower = (alone: Latencies, beside: Latencies): string[] =>
  Object.entries(alone).flatMap(([kind, ms]) => (beside[kind as Kind] <= Math.max(2 * ms, ms + 30) ? [] : kind));

/** Counts acknowledged changes whose delivery never arrived. */
export const countLost = ({ calls, arrivals }: Journals): number =>
  calls.filter(({ kind, status, n }) => kind === 'put' && status === 200 && !arrivals.has(n)).length;
