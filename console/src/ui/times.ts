// How times and numbers are written, in the language of the browser.
const steps = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Example: "2 minutes ago". Within a minute it is "just now", because nobody counts seconds. */
export function formatSince(time: Date, now: Date, language?: string): string {
  const seconds = (now.getTime() - time.getTime()) / 1_000;
  const [unit, length] = steps.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  if (unit === undefined) return 'just now';
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(-Math.round(seconds / length), unit);
}

/** The whole time with its offset, for the tip. */
export const formatTime = (time: Date, language?: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'long' }).format(time);

export const formatClock = (time: Date, language?: string): string =>
  new Intl.DateTimeFormat(language, { timeStyle: 'medium' }).format(time);

export const formatNumber = (value: number, language?: string): string =>
  new Intl.NumberFormat(language, { maximumFractionDigits: 4 }).format(value);

export function formatBytes(bytes: number, language?: string): string {
  const [value, unit] =
    bytes < 1_000 ? [bytes, 'byte'] : bytes < 1e6 ? [bytes / 1e3, 'kilobyte'] : [bytes / 1e6, 'megabyte'];
  return new Intl.NumberFormat(language, { style: 'unit', unit, maximumFractionDigits: 1 }).format(value as number);
}

/** Example: `plural(2, 'file', 'files')` is "2 files". */
export const plural = (count: number, one: string, many: string): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`;
