// Splits a time range into whole days, hours, minutes and seconds, plus the remainders at both ends.
//
// Example, from 14 November 22:58:30 to 16 November 01:00:00:
//
//   seconds  22:58:30 to 22:58:59    up to the next minute
//   minutes  22:59                   up to the next hour
//   hours    23                      up to the next day
//   days     15 November
//   hours    00                      of the last day
//
// If a range begins within a second, it also has an edge: the rest of that second.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Selects rows in analytics_user_counts: users by the second, minute, hour or day of their last event, or by the second
 * of their last heartbeat.
 */
export type Grain = 'second' | 'minute' | 'hour' | 'day' | 'heartbeat_second';

interface Unit {
  readonly grain: Grain;
  readonly ms: number;
}

/** The units, smallest first. */
export const eventUnits: readonly Unit[] = [
  { grain: 'second', ms: second },
  { grain: 'minute', ms: minute },
  { grain: 'hour', ms: hour },
  { grain: 'day', ms: day },
];
export const heartbeatUnits: readonly Unit[] = [{ grain: 'heartbeat_second', ms: second }];

export interface SplitRange {
  /** Whole buckets from `first` up to but excluding `end`, numbered from 1970. */
  readonly buckets: readonly { readonly grain: Grain; readonly first: number; readonly end: number }[];
  /** Parts of the smallest buckets, in milliseconds since 1970. `to` is excluded. */
  readonly edges: readonly { readonly bucket: number; readonly from: number; readonly to: number }[];
}

/** Splits the range from `from` up to but excluding `to`, in milliseconds. */
export function splitRange(from: number, to: number, units: readonly Unit[]): SplitRange {
  const buckets: { grain: Grain; first: number; end: number }[] = [];
  const edges: { bucket: number; from: number; to: number }[] = [];
  let parts = [{ from, to }];
  for (const { grain, ms } of units.toReversed()) {
    const rest: typeof parts = [];
    for (const part of parts) {
      const first = Math.ceil(part.from / ms);
      const end = Math.floor(part.to / ms);
      if (first < end) {
        buckets.push({ grain, first, end });
        rest.push({ from: part.from, to: first * ms }, { from: end * ms, to: part.to });
      } else rest.push(part);
    }
    parts = rest.filter((part) => part.from < part.to);
  }
  const smallest = units[0]?.ms ?? 1;
  for (const part of parts) edges.push(...splitAtBuckets(part, smallest));
  return { buckets, edges };
}

/** A part that contains no whole bucket may still span two buckets. */
function splitAtBuckets({ from, to }: { from: number; to: number }, ms: number) {
  const bucket = Math.floor(from / ms);
  const next = (bucket + 1) * ms;
  if (to <= next) return [{ bucket, from, to }];
  return [
    { bucket, from, to: next },
    { bucket: bucket + 1, from: next, to },
  ];
}
