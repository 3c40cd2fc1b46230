// Owns checks of text values: what PostgreSQL can store, and what is a time; and small changes of text.

/** PostgreSQL refuses NUL characters and unpaired surrogates. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** The text without NUL characters, and with unpaired surrogates replaced. */
export const toStorableText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** The value with each text in it made storable. */
export const toStorable = <Value>(value: Value): Value =>
  JSON.parse(JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? toStorableText(inner) : inner)));

/** What a text in double quotes says: `"a \"b\""` → `a "b"`. Undefined if it is not written as JSON writes texts. */
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

/**
 * Parses an ISO 8601 time with `Z`, an offset or no zone, which means UTC (docs/api/conventions.md#values). Fractions
 * are cut to milliseconds. Undefined if the text is not a time between 1970 and 9999.
 */
export function parseTime(text: string): Date | undefined {
  if (text.length === 24 && text.endsWith('Z')) {
    // Most are in the form that this prints, and one comparison says that the date is real.
    const time = new Date(text);
    if (!Number.isNaN(time.getTime()) && time.toISOString() === text && text >= '1970') return time;
  }
  const [, seconds = '', fraction = '', zone = 'Z'] = timeForm.exec(text) ?? [];
  const time = new Date(`${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  const year = time.getUTCFullYear();
  return isRealDate(seconds) && year >= 1970 && year <= 9999 ? time : undefined;
}

// Date.parse reads the 30th of February as the 2nd of March.
function isRealDate(seconds: string): boolean {
  const time = Date.parse(`${seconds}Z`);
  return !Number.isNaN(time) && new Date(time).toISOString() === `${seconds}.000Z`;
}
