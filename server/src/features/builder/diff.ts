// Shows people a turn's changes to files and entities, as a unified diff that is cut if it is too long.
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
const maxCompared = { characters: 256 * 1024, differences: 2_000, totalMs: 400 };
const maxShown = { file: 8_000, total: 60_000 };

export function showDifferences(files: readonly FileDifference[]): string {
  const deadline = performance.now() + maxCompared.totalMs;
  const parts: string[] = [];
  let remaining = maxShown.total;
  for (const [index, file] of files.entries()) {
    const part = showDifference(file, Math.max(0, deadline - performance.now()));
    remaining -= part.length;
    if (remaining < 0) return [...parts, `Cut: ${files.length - index} more files changed.`].join('\n');
    parts.push(part);
  }
  return parts.join('\n');
}

function showDifference({ path, existed, before, after }: FileDifference, timeout: number): string {
  const [from, to] = [!existed ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`];
  const heading = `--- ${from}\n+++ ${to}\n`;
  if ((before?.length ?? 0) + (after?.length ?? 0) > maxCompared.characters)
    return `${heading}Not shown: the file is too long.\n`;
  const options = { context: 3, maxEditLength: maxCompared.differences, timeout };
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', undefined, undefined, options);
  if (patch === undefined) return `${heading}Not shown: too much has changed.\n`;
  const text = patch.replace(/^=+\n/, '');
  return text.length <= maxShown.file
    ? text
    : `${cutAtLine(text, maxShown.file)}\nCut: the rest of this file's changes.\n`;
}

const cutAtLine = (text: string, max: number): string => text.slice(0, text.lastIndexOf('\n', max));
