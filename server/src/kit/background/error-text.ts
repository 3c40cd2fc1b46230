// Owns the words in which a failure is kept beside the work that failed.
import { toStorableText } from '../text.ts';

export const toErrorText = (error: unknown): string =>
  toStorableText(error instanceof Error ? error.message : String(error)).slice(0, 1_000);
