// Shows people a turn's changes to files and entities, as a unified diff that is cut if it is too long.
import { diffFile, type FileDifference, maxCompared } from '../../kit/text-edit/diff.ts';

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

function showDifference(file: FileDifference, timeoutMs: number): string {
  const { heading, text, cut } = diffFile(file, { timeoutMs, maxCharacters: maxShown.file });
  if (cut === 'long') return `${heading}Not shown: the file is too long.\n`;
  if (cut === 'different') return `${heading}Not shown: too much has changed.\n`;
  return cut === undefined ? `${text}` : `${text}\nCut: the rest of this file's changes.\n`;
}
