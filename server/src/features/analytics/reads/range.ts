// Owns the time that a read is about: its defaults and its bounds.
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import type { TimeRange } from './intervals.ts';

const dayMs = 24 * 60 * 60 * 1000;
const keptDays = 60;
/** A caller's clock may differ from ours, and a request takes time to arrive. */
const toleranceMs = 60_000;

interface SentRange {
  readonly start_time?: Date | undefined;
  readonly end_time?: Date | undefined;
}

/** The time before which there are no events any more. Some of them may still be stored. */
export const findOldest = (now: Date): Date => new Date(now.getTime() - keptDays * dayMs);

/**
 * The range, which begins at the oldest event if the caller's begins a moment before. Throws a ValidationError if a part
 * of it is longer ago than events are kept: an empty answer would say that there were none.
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

/** The part of a range that an earlier page has begun with of which events are still kept. */
export function clampRange({ start, end }: TimeRange, now: Date): TimeRange {
  const oldest = findOldest(now);
  return { start: start < oldest ? oldest : start, end };
}

const startTooOld: Fault = {
  loc: ['body', 'start_time'],
  msg: 'must be in the last 60 days, for which events are kept',
  type: 'value_error',
};
const endTooOld: Fault = { ...startTooOld, loc: ['body', 'end_time'] };
const reversed: Fault = { loc: ['body', 'end_time'], msg: 'must be after start_time', type: 'value_error' };
const tooLong: Fault = {
  loc: ['body', 'end_time'],
  msg: 'must be at most 60 days after start_time',
  type: 'value_error',
};
