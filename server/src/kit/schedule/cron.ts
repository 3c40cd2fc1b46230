// Owns cron expressions: which are accepted, and when one next applies in a time zone.
import { Cron } from 'croner';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const minMinutes = 5;

// The common part of all dialects. croner knows more: nicknames such as @daily, and L, W, # and ?.
const value = '(?:[0-9]{1,2}|[A-Za-z]{3})';
const part = String.raw`(?:\*|${value}(?:-${value})?)(?:/[0-9]{1,2})?`;
const field = `${part}(?:,${part})*`;
const cronForm = new RegExp(`^${field}(?: +${field}){4}$`);

/** Why a cron expression is refused. Undefined: it is accepted. Costs 2 ms at most, whatever the expression is. */
export function findCronProblem(cron: string): string | undefined {
  if (!cronForm.test(cron) || !isCron(cron)) return 'must be a cron expression of 5 fields, such as 0 9 * * 1-5';
  const [minutes = '', hours = '', ...days] = cron.split(/ +/);
  const isDay = matchDays(days);
  if (!hasDaysInARow(isDay, 1)) return 'must be a cron expression that applies at some time';
  const times = listTimes(minutes, hours);
  const isTooOften =
    times.some((time, index) => time - (times[index - 1] ?? Number.NEGATIVE_INFINITY) < minMinutes) ||
    (isTooOftenAtMidnight(times) && hasDaysInARow(isDay, 2));
  return isTooOften ? `must not apply twice within ${minMinutes} minutes` : undefined;
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

/** The minutes of a day at which it applies, in order. */
const listTimes = (minutes: string, hours: string): number[] =>
  readField(hours, 0, 23)
    .flatMap((hour) => readField(minutes, 0, 59).map((minute) => hour * 60 + minute))
    .sort((a, b) => a - b);

const isTooOftenAtMidnight = (times: readonly number[]): boolean =>
  (times[0] ?? 0) + 24 * 60 - (times.at(-1) ?? 0) < minMinutes;

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** If days of the month and of the week are both restricted, either of them is enough. */
function matchDays([monthDayField = '*', monthField = '*', weekdayField = '*']: readonly string[]) {
  const monthDays = new Set(readField(monthDayField, 1, 31));
  const inMonths = new Set(readField(monthField, 1, 12, months));
  const onWeekdays = new Set(readField(weekdayField, 0, 6, weekdays).map((weekday) => weekday % 7)); // 7 is Sunday too
  const isEither = monthDayField !== '*' && weekdayField !== '*';
  return (date: Date): boolean => {
    if (!inMonths.has(date.getUTCMonth() + 1)) return false;
    const isMonthDay = monthDays.has(date.getUTCDate());
    const isWeekday = onWeekdays.has(date.getUTCDay());
    return isEither ? isMonthDay || isWeekday : isMonthDay && isWeekday;
  };
}

// In 28 years every day of the year is on every day of the week, 29 February too.
const firstDay = Date.UTC(2024, 0, 1);
const endDay = Date.UTC(2052, 0, 1);

function hasDaysInARow(isDay: (date: Date) => boolean, count: number): boolean {
  let inARow = 0;
  for (let day = firstDay; day < endDay && inARow < count; day += dayMs) inARow = isDay(new Date(day)) ? inARow + 1 : 0;
  return inARow >= count;
}

/** The distinct values of a field that croner accepts: `1-5/2,MON` is 1, 3, 5. */
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
 * The first time after another at which the expression applies; null if there is none. Throws if it is not valid. One that is
 * repeated every hour, or every few hours, follows the clock through an hour that is left out or repeated, as croner does. All
 * others apply at fixed times of the day, which are looked for as the clock shows them. In Europe/Berlin, `0,30 2 * * *`:
 *
 *   29 March 2026    02:00 and 02:30 are left out    once, at 03:00    01:00Z
 *   25 October 2026  02:00 and 02:30 come twice      the first ones    00:00Z, 00:30Z
 */
export function nextCronTime(cron: string, timezone: string, after: Date): Date | null {
  const [, hours = ''] = cron.split(/ +/);
  if (/^\*(?:\/[0-9]+)?$/.test(hours)) return parseCron(cron, timezone).nextRun(after);
  const readOffset = createOffsetReader(timezone);
  const clock = parseCron(cron, 'UTC');
  // What the clock shows is calculated with as if it were UTC.
  let shown = clock.nextRun(new Date(after.getTime() + readOffset(after.getTime())));
  while (shown !== null) {
    const time = findTime(shown.getTime(), readOffset);
    if (time > after.getTime()) return new Date(time);
    shown = clock.nextRun(shown); // it was shown before, and is shown again
  }
  return null;
}

type OffsetReader = (time: number) => number;

/** When the clock first shows this; the end of the time that is left out if it never does. */
function findTime(shown: number, readOffset: OffsetReader): number {
  const before = readOffset(shown - dayMs);
  const after = readOffset(shown + dayMs);
  const candidates = [shown - before, shown - after].filter((time) => time + readOffset(time) === shown);
  if (candidates.length > 0) return Math.min(...candidates);
  // The clock is put forward between these two.
  let [low, high] = [shown - after, shown - before];
  while (high - low > minuteMs) {
    const middle = low + Math.floor((high - low) / 2 / minuteMs) * minuteMs;
    if (readOffset(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** How far the clock of a time zone is ahead of UTC, in milliseconds. */
function createOffsetReader(timeZone: string): OffsetReader {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (time) => {
    // Such as GMT+05:45; GMT alone for UTC.
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(time)) ?? [];
    const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minuteMs;
    return sign === '-' ? -offset : offset;
  };
}
