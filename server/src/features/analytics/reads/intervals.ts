// Bucket intervals: choosing one for a request, and finding where its buckets begin
// (docs/api/analytics.md#buckets).

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;

export interface Interval {
  /** The name that callers see. */
  readonly name: string;
  readonly sizeMs: number;
  /** The time at which one of the buckets begins, in milliseconds since 1970. */
  readonly originMs: number;
}

/** 1970 began on a Thursday, and weeks begin on Mondays. */
const firstMonday = 4 * dayMs;

const hours = (count: number): Interval => ({ name: `${count}h`, sizeMs: count * hourMs, originMs: 0 });
const days = (count: number): Interval => ({ name: `${count}d`, sizeMs: count * dayMs, originMs: 0 });
const weeks = (count: number): Interval => ({ name: `${count}w`, sizeMs: count * weekMs, originMs: firstMonday });

/** All intervals, from the smallest to the largest. */
export const intervals: readonly [Interval, ...Interval[]] = [
  hours(1),
  ...[2, 3, 4, 6, 8, 12].map(hours),
  ...[1, 2, 3].map(days),
  ...[1, 2].map(weeks),
  days(30),
];

/** A time range that includes `start` but not `end`. */
export interface TimeRange {
  readonly start: Date;
  readonly end: Date;
}

/**
 * Starts with the largest interval that is at most `sizeMs`, or with one hour if there is none. From there, returns the
 * first interval with at most `maxBuckets` buckets in the range, or else the largest interval. Without a size, the
 * result is the smallest interval that fits.
 *
 *   5 h, 100 buckets, two days      4h    12 or 13 buckets
 *   1 h, 100 buckets, thirty days   8h    90 or 91 buckets
 */
export function chooseInterval(range: TimeRange, sizeMs: number | undefined, maxBuckets: number): Interval {
  const [smallest] = intervals;
  const wanted = intervals.findLast((interval) => interval.sizeMs <= (sizeMs ?? 0)) ?? smallest;
  const candidates = intervals.filter((interval) => interval.sizeMs >= wanted.sizeMs);
  return candidates.find((interval) => countBuckets(range, interval) <= maxBuckets) ?? (candidates.at(-1) as Interval);
}

/** The number of buckets that overlap the range, which may contain only part of the first and last buckets. */
export function countBuckets({ start, end }: TimeRange, interval: Interval): number {
  const first = findBucketStart(start.getTime(), interval);
  return Math.max(0, Math.ceil((end.getTime() - first) / interval.sizeMs));
}

export const findBucketStart = (timeMs: number, { sizeMs, originMs }: Interval): number =>
  Math.floor((timeMs - originMs) / sizeMs) * sizeMs + originMs;
