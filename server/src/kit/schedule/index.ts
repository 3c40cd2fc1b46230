// Schedules (a cron expression in a time zone, an interval, or a single time) and when they are next due
// (docs/api/workflows.md#schedules).
import { z } from 'zod';
import { described, integer, text } from '../http/shapes.ts';
import { parseTime } from '../text.ts';
import { findCronProblem, nextCronTime } from './cron.ts';

const minuteMs = 60_000;
const minMinutes = 5;
const maxMinutes = 525_600; // a year

/** The fault type and message for an invalid value. The message is shown after the field's name. */
const refusal = (type: string, error: string) => ({ params: { type }, error });

const time = z
  .string()
  .refine(
    (value) => parseTime(value) !== undefined,
    refusal('datetime_parsing', 'must be a time such as 2026-11-15T09:30:00Z'),
  )
  .meta({ format: 'date-time' });

/**
 * Validates each of a schedule's fields separately, which is enough for a schedule that was checked when it was stored.
 */
export const StoredSchedule = z.strictObject({
  cron: described(
    text(1, 100).optional(),
    'The times in five fields, in the time zone `timezone`; at least 5 minutes apart.',
    '0 9 * * 1-5',
  ),
  timezone: described(text(1, 64).optional(), 'The IANA name of the time zone of `cron`.', 'Europe/Berlin'),
  every_minutes: described(integer(minMinutes, maxMinutes).optional(), 'How many minutes are between two times.', 30),
  at: described(time.optional(), 'For a single time: when.', '2026-12-01T09:00:00Z'),
  ends_at: described(time.optional(), 'When the schedule ends.', '2027-01-01T00:00:00Z'),
  ends_after: described(integer(1, 1_000_000).optional(), 'After how many times the schedule ends.', 10),
});

export type Schedule = z.output<typeof StoredSchedule>;

const kinds = ['cron', 'every_minutes', 'at'] as const;

/** A schedule sent by a caller. */
export const Schedule = StoredSchedule.superRefine((schedule, context) => {
  const refuse = (path: string[], type: string, message: string) =>
    context.addIssue({ code: 'custom', path, params: { type }, message });
  if (kinds.filter((kind) => schedule[kind] !== undefined).length !== 1)
    refuse([], 'value_error', `must contain exactly one of ${kinds.join(', ')}`);
  const { cron, timezone } = schedule;
  if (cron === undefined && timezone !== undefined)
    refuse(['timezone'], 'value_error', 'must not be sent without cron');
  if (cron !== undefined && timezone === undefined) refuse(['timezone'], 'missing', 'is required with cron');
  if (timezone !== undefined && !isTimezone(timezone))
    refuse(['timezone'], 'value_error', 'must be a time zone name, such as Europe/Berlin or UTC');
  const problem = cron === undefined ? undefined : findCronProblem(cron);
  if (problem !== undefined) refuse(['cron'], 'value_error', problem);
});

const timezoneForm = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

export function isTimezone(name: string): boolean {
  if (!timezoneForm.test(name)) return false; // an offset such as +01:00 has no daylight saving time
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the first tick after `after`, given that there have been `ticks` ticks, the last of them at `previous`. Null
 * if the schedule has ended.
 */
export function findNextTick(schedule: Schedule, ticks: number, after: Date, previous: Date = after): Date | null {
  if (schedule.ends_after !== undefined && ticks >= schedule.ends_after) return null;
  return nextTick(schedule, after, previous);
}

/**
 * Returns the first tick after `after`, regardless of the number of earlier ticks, or null if there is none. Intervals
 * are counted from the previous tick. For example, every 10 minutes from 09:00 means 09:10, 09:20 and so on, however
 * late each tick is handled. When clocks go forward, a tick in the skipped hour occurs at the end of that hour. When
 * they go back, a tick at a fixed time occurs once. Throws if the schedule is not valid.
 */
export function nextTick(
  { cron, timezone = 'UTC', every_minutes, at, ends_at }: Schedule,
  after: Date,
  previous: Date = after,
): Date | null {
  let next: Date | null | undefined;
  if (cron !== undefined) next = nextCronTime(cron, timezone, after);
  else if (every_minutes !== undefined) next = addIntervals(previous, every_minutes * minuteMs, after);
  else if (at !== undefined) next = parseTime(at);
  const end = ends_at === undefined ? undefined : parseTime(ends_at);
  if (next === undefined || next === null || next <= after || (end !== undefined && next > end)) return null;
  return next;
}

const addIntervals = (start: Date, intervalMs: number, after: Date): Date => {
  const passed = Math.floor((after.getTime() - start.getTime()) / intervalMs);
  return new Date(start.getTime() + (passed + 1) * intervalMs);
};
