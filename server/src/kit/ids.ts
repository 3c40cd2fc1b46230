// Owns the form of ids: UUIDs of version 7, which sort by time, in lower case with hyphens.
import { v7 } from 'uuid';

export const newId = (): string => v7();

/** The smallest id of a time: ids created before it sort lower. */
export function minIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isUuid = (text: string): boolean => uuidForm.test(text);

/** The id of these 16 bytes, written as 32 hexadecimal digits. */
export const hexToId = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/s, '$1-$2-$3-$4-$5');

/** A caller's id, or null if it is malformed. Null matches no row, so a malformed id reads as an unknown one. */
export const idOrNull = (text: string | undefined): string | null => (text !== undefined && isUuid(text) ? text : null);
