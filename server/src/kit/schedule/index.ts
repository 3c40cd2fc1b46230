// Owns schedules: a cron expression in a time zone, an interval, or one time; and when they are next due
// (docs/api/workflows.md#schedules).
import { z } from 'zod';
import { integer, text } from '../http/shapes.ts';
import { parseTime } from '../text.ts';
import { findCronProblem, nextCronTime } from './cron.ts';

const minuteMs = 60_000;
const minMinutes = 5;
const maxMinutes = 525_600; // a year

/** What must be said where a value is at fault: the fault type, and a sentence that follows the field's name. */
const refusal = (type: string, error: string) => ({ params: { type }, error });

const time = z
  .string()
  .refine(
    (value) => parseTime(value) !== undefined,
    refusal('datetime_parsing', 'must be a time such as 2026-11-15T09:30:00Z'),
  )
  .meta({ format: 'date-time' });

/** The fields of a schedule, each for itself. Enough for one that was checked when it was stored. */
export const StoredSchedule = z.strictObject({
  cron: text(1, 100).optional(),
  timezone: text(1, 64).optional(),
  every_minutes: integer(minMinutes, maxMinutes).optional(),
  at: time.optional(),
  ends_at: time.optional(),
  ends_after: integer(1, 1_000_000).optional(),
});

export type Schedule = z.output<typeof StoredSchedule>;

const kinds = ['cron', 'every_minutes', 'at'] as const;

/** A schedule that a caller sends. */
export const Schedule = StoredSchedule.superRefine((schedule, context) => {
  const refuse = (path: string[], type: string, message: string) =>
    context.addIssue({ code: 'custom', path, params: { type }, message });
  if (kinds.filter((kind) => schedule[kind] !== undefined).length !== 1)
    refuse([], 'value_error', `must have exactly one of ${kinds.join(', ')}`);
  const { cron, timezone } = schedule;
  if (cron === undefined && timezone !== undefined)
    refuse(['timezone'], 'value_error', 'must not be sent without cron');
  if (cron !== undefined && timezone === undefined) refuse(['timezone'], 'missing', 'is required with cron');
  if (timezone !== undefined && !isTimezone(timezone))
    refuse(['timezone'], 'value_error', 'must be the name of a time zone, such as Europe/Berlin or UTC');
  const problem = cron === undefined ? undefined : findCronProblem(cron);
  if (problem !== undefined) refuse(['cron'], 'value_error', problem);
});

const timezoneForm = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

export function isTimezone(name: string): boolean {
  if (!timezoneForm.test(name)) return false; // an offset such as +01:00 has no summer time
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The next tick if `ticks` of them have come, the last at `previous`; null if the schedule has ended. */
export function findNextTick(schedule: Schedule, ticks: number, after: Date, previous: Date = after): Date | null {
  if (schedule.ends_after !== undefined && ticks >= schedule.ends_after) return null;
  return nextTick(schedule, after, previous);
}

/**
 * The first tick after a time, however many have come; null if there is none. An interval is counted from `previous`, the tick
 * before: 10 minutes after 09:00 it is 09:10, 09:20 and so on, however late each is handled. When clocks go forward, a tick in the
 * hour that is left out comes at its end; when they go back, a tick at a fixed time comes once. Throws if the schedule is not valid.
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
