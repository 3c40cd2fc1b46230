// Owns the words in which a failure is kept beside the work that failed.

/** What a column can hold: a text without the zero byte that PostgreSQL refuses, of bounded length. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll('\0', '').slice(0, 1_000);
