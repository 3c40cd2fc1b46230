// Owns the words in which a failure is kept beside the work that failed.
import { keepable } from '../text.ts';

export const reasonOf = (error: unknown): string =>
  keepable(error instanceof Error ? error.message : String(error)).slice(0, 1_000);
