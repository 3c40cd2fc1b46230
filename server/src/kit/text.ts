// Small text functions: checking whether PostgreSQL can store a text, parsing and printing times, and conversions.

/** PostgreSQL can't store NUL characters or unpaired surrogates. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Removes NUL characters and replaces unpaired surrogates. */
export const toStorableText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** Makes every string in the value storable. */
export const toStorable = <Value>(value: Value): Value =>
  JSON.parse(JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? toStorableText(inner) : inner)));

/** Parses a JSON string: `"a \"b\""` → `a "b"`. Undefined if the text is not a JSON string. */
export function unquote(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const timeForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/;
const printedForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Parses an ISO 8601 time with `Z`, with an offset, or without a zone, which means UTC
 * (docs/api/conventions.md#values). Fractions are truncated to milliseconds. Undefined if the text is not a time
 * between 1970 and 9999.
 */
export function parseTime(text: string): Date | undefined {
  if (printedForm.test(text)) return parsePrintedTime(text); // the most common form
  const [, seconds = '', fraction = '', zone = 'Z'] = timeForm.exec(text) ?? [];
  const time = new Date(`${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  const year = time.getUTCFullYear();
  return isRealDate(seconds) && year >= 1970 && year <= 9999 ? time : undefined;
}

/** Parses a time as printed by `toISOString`, twice as fast as Date.parse. */
function parsePrintedTime(text: string): Date | undefined {
  const twoDigitsAt = (index: number) => (text.charCodeAt(index) - 48) * 10 + text.charCodeAt(index + 1) - 48;
  const year = twoDigitsAt(0) * 100 + twoDigitsAt(2);
  if (year < 1970) return undefined;
  const day = Date.UTC(year, twoDigitsAt(5) - 1, twoDigitsAt(8));
  const seconds = (twoDigitsAt(11) * 60 + twoDigitsAt(14)) * 60 + twoDigitsAt(17);
  const time = new Date(day + seconds * 1_000 + twoDigitsAt(20) * 10 + text.charCodeAt(22) - 48);
  return printTime(time) === text ? time : undefined; // 30 February is printed as 2 March
}

// Date.parse accepts 30 February as 2 March.
function isRealDate(seconds: string): boolean {
  const time = Date.parse(`${seconds}Z`);
  return !Number.isNaN(time) && new Date(time).toISOString() === `${seconds}.000Z`;
}

let lastMinute = Number.NaN;
let lastMinuteText = '';

/**
 * Prints a time as `toISOString` does, but faster for consecutive times in the same minute, which are common for
 * events.
 */
export function printTime(time: Date): string {
  const sinceEpochMs = time.getTime();
  const minute = Math.floor(sinceEpochMs / 60_000);
  if (minute !== lastMinute) {
    lastMinuteText = time.toISOString().slice(0, -7);
    lastMinute = minute;
  }
  const inMinuteMs = sinceEpochMs - minute * 60_000;
  return `${lastMinuteText}${twoDigits[Math.floor(inMinuteMs / 1_000)]}.${String(inMinuteMs % 1_000).padStart(3, '0')}Z`;
}

const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
