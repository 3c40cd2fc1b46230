// Owns the form of ids: time-ordered UUIDs (version 7), lower-case, hyphenated.
import { v7 } from 'uuid';

export const newId = (): string => v7();

/** The least id of a time: those made before it sort below. */
export function minIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An id as a caller sent it, or null when it cannot be one: null matches no row, so a malformed id reads as unknown. */
export const idOrNull = (text: string | undefined): string | null =>
  text !== undefined && uuid.test(text) ? text : null;
