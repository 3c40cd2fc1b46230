// A report's date range (docs/api/ads.md#search-terms). A day is a string such as `2026-11-16`, so string order is
// date order. Pure.

export const datePresets = [
  'TODAY',
  'YESTERDAY',
  'LAST_7_DAYS',
  'LAST_14_DAYS',
  'LAST_30_DAYS',
  'LAST_90_DAYS',
  'THIS_WEEK_MON_TODAY',
  'THIS_WEEK_SUN_TODAY',
  'LAST_WEEK_MON_SUN',
  'LAST_WEEK_SUN_SAT',
  'LAST_BUSINESS_WEEK',
  'THIS_MONTH',
  'LAST_MONTH',
] as const;
export type DatePreset = (typeof datePresets)[number];

export interface DateRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the current day in a time zone. */
export function dayIn(timezone: string, time: Date): string {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    calendar: 'iso8601',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(time);
  const read = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return `${read('year').padStart(4, '0')}-${read('month')}-${read('day')}`;
}

const dayMs = 24 * 60 * 60 * 1000;
const toDay = (time: number): string => new Date(time).toISOString().slice(0, 10);
const toTime = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const addDays = (day: string, days: number): string => toDay(toTime(day) + days * dayMs);
/** The number of days since the last Sunday. 0 on a Sunday. */
const daysSinceSunday = (day: string): number => new Date(toTime(day)).getUTCDay();
const firstOfMonth = (day: string): string => `${day.slice(0, 8)}01`;

/**
 * Undefined if the range is empty. For example, this month ends yesterday, so it is empty on the first of the month.
 */
export function toRange(preset: DatePreset, today: string): DateRange | undefined {
  const back = (days: number) => addDays(today, -days);
  const monday = back((daysSinceSunday(today) + 6) % 7);
  const sunday = back(daysSinceSunday(today));
  const lastMonday = addDays(monday, -7);
  const lastSunday = addDays(sunday, -7);
  const endOfLastMonth = addDays(firstOfMonth(today), -1);
  const ranges: Record<DatePreset, DateRange> = {
    TODAY: { from: today, to: today },
    YESTERDAY: { from: back(1), to: back(1) },
    LAST_7_DAYS: { from: back(6), to: today },
    LAST_14_DAYS: { from: back(14), to: back(1) },
    LAST_30_DAYS: { from: back(29), to: today },
    LAST_90_DAYS: { from: back(89), to: today },
    THIS_WEEK_MON_TODAY: { from: monday, to: today },
    THIS_WEEK_SUN_TODAY: { from: sunday, to: today },
    LAST_WEEK_MON_SUN: { from: lastMonday, to: addDays(lastMonday, 6) },
    LAST_WEEK_SUN_SAT: { from: lastSunday, to: addDays(lastSunday, 6) },
    LAST_BUSINESS_WEEK: { from: lastMonday, to: addDays(lastMonday, 4) },
    THIS_MONTH: { from: firstOfMonth(today), to: back(1) },
    LAST_MONTH: { from: firstOfMonth(endOfLastMonth), to: endOfLastMonth },
  };
  return nonEmpty(ranges[preset]);
}

/** Limits the range to the platform's 37 months of data. Undefined if nothing remains. */
export function cutRange({ from, to }: DateRange, today: string): DateRange | undefined {
  const first = subtractMonths(today, 37);
  return nonEmpty({ from: from < first ? first : from, to: to > today ? today : to });
}

const nonEmpty = (range: DateRange): DateRange | undefined => (range.from <= range.to ? range : undefined);

/** The same day in an earlier month, or that month's last day. */
function subtractMonths(day: string, months: number): string {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
  const lastDate = new Date(Date.UTC(year, month - months, 0)).getUTCDate();
  return toDay(Date.UTC(year, month - 1 - months, Math.min(date, lastDate)));
}
