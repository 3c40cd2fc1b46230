// A read's time range: its defaults and limits.
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import type { TimeRange } from './intervals.ts';

const dayMs = 24 * 60 * 60 * 1000;
const keptDays = 60;
/** A caller's clock may differ from ours, and requests take time to arrive. */
const toleranceMs = 60_000;

interface SentRange {
  readonly start_time?: Date | undefined;
  readonly end_time?: Date | undefined;
}

/** The start of the period for which events are kept. Some older events may still be stored. */
export const findOldest = (now: Date): Date => new Date(now.getTime() - keptDays * dayMs);

/**
 * Resolves the range. If it begins slightly before the period for which events are kept, it is cut. If it begins much
 * earlier, throws a ValidationError, because an empty response would suggest that there were no events.
 */
export function resolveRange({ start_time, end_time }: SentRange, defaultDays: number, now: Date): TimeRange {
  const oldest = findOldest(now);
  const end = end_time ?? now;
  const start = start_time ?? new Date(Math.max(end.getTime() - defaultDays * dayMs, oldest.getTime()));
  const faults = [
    ...(start.getTime() < oldest.getTime() - toleranceMs ? [startTooOld] : []),
    ...(end <= oldest ? [endTooOld] : []),
    ...(end <= start && end > oldest ? [reversed] : []),
    ...(end.getTime() - start.getTime() > keptDays * dayMs + toleranceMs && start >= oldest ? [tooLong] : []),
  ];
  if (faults.length > 0) throw new ValidationError(faults);
  return { start: start < oldest ? oldest : start, end };
}

/** Returns the part of an earlier page's range for which events are still kept. */
export function clampRange({ start, end }: TimeRange, now: Date): TimeRange {
  const oldest = findOldest(now);
  return { start: start < oldest ? oldest : start, end };
}

const startTooOld: Fault = {
  loc: ['body', 'start_time'],
  msg: 'must be within the last 60 days; older events are not kept',
  type: 'value_error',
};
const endTooOld: Fault = { ...startTooOld, loc: ['body', 'end_time'] };
const reversed: Fault = { loc: ['body', 'end_time'], msg: 'must be after start_time', type: 'value_error' };
const tooLong: Fault = {
  loc: ['body', 'end_time'],
  msg: 'must be at most 60 days after start_time',
  type: 'value_error',
};
