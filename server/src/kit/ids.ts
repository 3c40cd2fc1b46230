// The id format: version 7 UUIDs, which sort by time, in lower case with hyphens.
import { v7 } from 'uuid';

export const newId = (): string => v7();

/** Returns the smallest id for this time. Ids created earlier sort before it. */
export function minIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isUuid = (text: string): boolean => uuidForm.test(text);

/** Formats 32 hexadecimal digits as an id. */
export const hexToId = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/s, '$1-$2-$3-$4-$5');

/**
 * Returns the id that a caller sent, or null if it is malformed. Null matches no row, so malformed ids count as
 * unknown.
 */
export const idOrNull = (text: string | undefined): string | null => (text !== undefined && isUuid(text) ? text : null);
