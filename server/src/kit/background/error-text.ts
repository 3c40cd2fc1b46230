// The error text that is stored with failed work.
import { toStorableText } from '../text.ts';

const maxLength = 1_000;

export const toErrorText = (error: unknown): string =>
  toStorableText(error instanceof Error ? error.message : String(error)).slice(0, maxLength);

/** Stored when work is dead-lettered because workers crashed while running it. */
export const describeCrashes = (count: number): string => `the worker crashed while running it, ${count} times`;
