// Cron expressions: which expressions are accepted, and when an expression next matches in a time zone.
import { Cron } from 'croner';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const minMinutes = 5;

// The subset that all dialects share. croner also supports nicknames such as @daily, and L, W, # and ?.
const value = '(?:[0-9]{1,2}|[A-Za-z]{3})';
const part = String.raw`(?:\*|${value}(?:-${value})?)(?:/[0-9]{1,2})?`;
const field = `${part}(?:,${part})*`;
const cronForm = new RegExp(`^${field}(?: +${field}){4}$`);

/**
 * Returns the reason why a cron expression is rejected, or undefined if it is accepted. Takes at most 2 ms for any
 * expression.
 */
export function findCronProblem(cron: string): string | undefined {
  if (!cronForm.test(cron) || !isCron(cron)) return 'must be a cron expression with 5 fields, such as 0 9 * * 1-5';
  const [minutes = '', hours = '', ...days] = cron.split(/ +/);
  const isDay = matchDays(days);
  if (!hasDaysInARow(isDay, 1)) return 'must be a cron expression that matches at least one date';
  const times = listTimes(minutes, hours);
  const isTooOften =
    times.some((time, index) => time - (times[index - 1] ?? Number.NEGATIVE_INFINITY) < minMinutes) ||
    (isTooOftenAtMidnight(times) && hasDaysInARow(isDay, 2));
  return isTooOften ? `must not match at times less than ${minMinutes} minutes apart` : undefined;
}

function isCron(cron: string): boolean {
  try {
    parseCron(cron, 'UTC');
    return true;
  } catch {
    return false;
  }
}

const parseCron = (cron: string, timezone: string) => new Cron(cron, { timezone, mode: '5-part', paused: true });

/** The times of day at which the expression matches, in minutes since midnight and in order. */
const listTimes = (minutes: string, hours: string): number[] =>
  readField(hours, 0, 23)
    .flatMap((hour) => readField(minutes, 0, 59).map((minute) => hour * 60 + minute))
    .sort((a, b) => a - b);

const isTooOftenAtMidnight = (times: readonly number[]): boolean =>
  (times[0] ?? 0) + 24 * 60 - (times.at(-1) ?? 0) < minMinutes;

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** If both the day of the month and the day of the week are restricted, a date only needs to match one of them. */
function matchDays([monthDayField = '*', monthField = '*', weekdayField = '*']: readonly string[]) {
  const monthDays = new Set(readField(monthDayField, 1, 31));
  const inMonths = new Set(readField(monthField, 1, 12, months));
  const onWeekdays = new Set(readField(weekdayField, 0, 6, weekdays).map((weekday) => weekday % 7)); // 7 is also Sunday
  const isEither = monthDayField !== '*' && weekdayField !== '*';
  return (date: Date): boolean => {
    if (!inMonths.has(date.getUTCMonth() + 1)) return false;
    const isMonthDay = monthDays.has(date.getUTCDate());
    const isWeekday = onWeekdays.has(date.getUTCDay());
    return isEither ? isMonthDay || isWeekday : isMonthDay && isWeekday;
  };
}

// Within 28 years, every day of the year, including 29 February, falls on every day of the week.
const firstDay = Date.UTC(2024, 0, 1);
const endDay = Date.UTC(2052, 0, 1);

function hasDaysInARow(isDay: (date: Date) => boolean, count: number): boolean {
  let inARow = 0;
  for (let day = firstDay; day < endDay && inARow < count; day += dayMs) inARow = isDay(new Date(day)) ? inARow + 1 : 0;
  return inARow >= count;
}

/** Returns the distinct values of a field that croner accepts. Example: `1-5/2,MON` means 1, 3, 5. */
function readField(text: string, min: number, max: number, names: readonly string[] = []): number[] {
  const toNumber = (value: string): number => {
    const index = names.indexOf(value.toUpperCase());
    return index === -1 ? Number(value) : index + min;
  };
  const values = text.split(',').flatMap((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [from = min, to = range === '*' ? max : from] = range === '*' ? [] : range.split('-').map(toNumber);
    return Array.from(
      { length: Math.floor((to - from) / Number(step)) + 1 },
      (_, index) => from + index * Number(step),
    );
  });
  return [...new Set(values)];
}

/**
 * Returns the first time after `after` that matches the expression, or null if there is none. Throws if the expression
 * is not valid. Around skipped and repeated hours, expressions that repeat hourly or every few hours behave as in
 * croner. All others match fixed times on the local clock. For `0,30 2 * * *` in Europe/Berlin:
 *
 *   29 March 2026    02:00 and 02:30 are skipped      once, at 03:00    01:00Z
 *   25 October 2026  02:00 and 02:30 occur twice      first occurrence  00:00Z, 00:30Z
 */
export function nextCronTime(cron: string, timezone: string, after: Date): Date | null {
  const [, hours = ''] = cron.split(/ +/);
  if (/^\*(?:\/[0-9]+)?$/.test(hours)) return parseCron(cron, timezone).nextRun(after);
  const readOffset = createOffsetReader(timezone);
  const clock = parseCron(cron, 'UTC');
  // Local clock times are represented as if they were UTC.
  let shown = clock.nextRun(new Date(after.getTime() + readOffset(after.getTime())));
  while (shown !== null) {
    const time = findTime(shown.getTime(), readOffset);
    if (time > after.getTime()) return new Date(time);
    shown = clock.nextRun(shown); // this local time already occurred before `after`
  }
  return null;
}

type OffsetReader = (time: number) => number;

/** Returns when the local clock first shows this time. If it never does, returns the end of the skipped period. */
function findTime(shown: number, readOffset: OffsetReader): number {
  const before = readOffset(shown - dayMs);
  const after = readOffset(shown + dayMs);
  const candidates = [shown - before, shown - after].filter((time) => time + readOffset(time) === shown);
  if (candidates.length > 0) return Math.min(...candidates);
  // The clock moves forward between these two times.
  let [low, high] = [shown - after, shown - before];
  while (high - low > minuteMs) {
    const middle = low + Math.floor((high - low) / 2 / minuteMs) * minuteMs;
    if (readOffset(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Returns a function that returns how far a time zone is ahead of UTC, in milliseconds. */
function createOffsetReader(timeZone: string): OffsetReader {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (time) => {
    // For example, GMT+05:45, or just GMT for UTC.
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(time)) ?? [];
    const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minuteMs;
    return sign === '-' ? -offset : offset;
  };
}
