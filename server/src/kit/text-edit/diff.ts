// Compares two versions of a text file, as a unified diff that is cut if it is too long.
import { createTwoFilesPatch } from 'diff';

export interface FileDifference {
  readonly path: string;
  readonly existed: boolean;
  /** Null if the file did not exist or was not text. */
  readonly before: string | null;
  /** Null if the file was deleted. */
  readonly after: string | null;
}

// The comparison time is proportional to the length multiplied by the number of differences.
export const maxCompared = { characters: 256 * 1024, differences: 2_000, totalMs: 400 };

export interface DiffLimits {
  readonly timeoutMs: number;
  readonly maxCharacters: number;
}

export interface Diff {
  readonly heading: string;
  /** Includes the heading. Null if it can't be shown. */
  readonly text: string | null;
  /** Why the diff is not whole. */
  readonly cut?: 'long' | 'different' | 'end';
}

export function diffFile({ path, existed, before, after }: FileDifference, limits: DiffLimits): Diff {
  const [from, to] = [!existed ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`];
  const heading = `--- ${from}\n+++ ${to}\n`;
  if ((before?.length ?? 0) + (after?.length ?? 0) > maxCompared.characters)
    return { heading, text: null, cut: 'long' };
  const options = { context: 3, maxEditLength: maxCompared.differences, timeout: limits.timeoutMs };
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', undefined, undefined, options);
  if (patch === undefined) return { heading, text: null, cut: 'different' };
  const text = patch.replace(/^=+\n/, '');
  if (text.length <= limits.maxCharacters) return { heading, text };
  return { heading, text: cutAtLine(text, limits.maxCharacters), cut: 'end' };
}

const cutAtLine = (text: string, max: number): string => text.slice(0, text.lastIndexOf('\n', max));
