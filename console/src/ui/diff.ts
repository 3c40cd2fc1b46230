// Differences as lines with their numbers: read from the unified format, or found between two texts.
export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'same' | 'gap';
  readonly text: string;
  readonly before?: number;
  readonly after?: number;
}

export function readDiff(diff: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let isInHunk = false;
  for (const line of diff.split('\n')) {
    const [, fromLine, toLine] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? [];
    if (fromLine !== undefined && toLine !== undefined) {
      before = Number(fromLine);
      after = Number(toLine);
      if (isInHunk || before > 1) lines.push({ kind: 'gap', text: `Line ${Math.max(after, 1)}` });
      isInHunk = true;
    } else if (!isInHunk || line === '' || line.startsWith('\\')) continue;
    else if (line.startsWith('+')) lines.push({ kind: 'added', text: line.slice(1), after: after++ });
    else if (line.startsWith('-')) lines.push({ kind: 'removed', text: line.slice(1), before: before++ });
    else lines.push({ kind: 'same', text: line.slice(1), before: before++, after: after++ });
  }
  return lines;
}

/** How many lines were added and removed. */
export function countLines(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return { added: count('added'), removed: count('removed') };
}

/** The lines that differ between two texts, with all that stay. For texts of some hundred lines, such as a schema. */
export function compareTexts(before: string, after: string): readonly DiffLine[] {
  const a = before === '' ? [] : before.split('\n');
  const b = after === '' ? [] : after.split('\n');
  const common = countCommon(a, b);
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const isSame = i < a.length && j < b.length && a[i] === b[j];
    if (isSame) lines.push({ kind: 'same', text: a[i] ?? '', before: ++i, after: ++j });
    else if (j >= b.length || (i < a.length && at(common, i + 1, j) >= at(common, i, j + 1)))
      lines.push({ kind: 'removed', text: a[i] ?? '', before: ++i });
    else lines.push({ kind: 'added', text: b[j] ?? '', after: ++j });
  }
  return lines;
}

const at = (table: readonly (readonly number[])[], i: number, j: number): number => table[i]?.[j] ?? 0;

/** For each pair of positions, the length of the longest sequence of lines that both texts have from there on. */
function countCommon(a: readonly string[], b: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = table[i] as number[];
      row[j] = a[i] === b[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), at(table, i, j + 1));
    }
  return table;
}
