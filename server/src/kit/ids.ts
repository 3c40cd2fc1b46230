// Owns the form of ids: time-ordered UUIDs (version 7), lower-case, hyphenated.
import { v7 } from 'uuid';

export const newId = (): string => v7();

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An id as a caller sent it, or null when it cannot be one: null matches no row, so a malformed id reads as unknown. */
export const idOrNull = (text: string | undefined): string | null =>
  text !== undefined && uuid.test(text) ? text : null;
