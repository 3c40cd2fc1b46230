// Owns which texts the database can keep: well-formed ones, without the zero byte that PostgreSQL refuses; and which of them
// are times.

export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** The same text without what cannot be kept. */
export const toStorableText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

const timeForm = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/;

/**
 * The time that a text says, by contract §0.2: with `Z`, an offset or no zone, which is UTC; cut to milliseconds; from 1970
 * to 9999. Undefined when it says none.
 */
export function parseTime(text: string): Date | undefined {
  const [, seconds = '', fraction = '', zone = 'Z'] = timeForm.exec(text) ?? [];
  const time = new Date(`${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  const year = time.getUTCFullYear();
  return isOnCalendar(seconds) && year >= 1970 && year <= 9999 ? time : undefined;
}

// Date.parse alone takes the 30th of February for the 2nd of March.
function isOnCalendar(seconds: string): boolean {
  const time = Date.parse(`${seconds}Z`);
  return !Number.isNaN(time) && new Date(time).toISOString() === `${seconds}.000Z`;
}
