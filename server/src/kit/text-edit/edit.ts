// Replaces a part of a text. Reports how often the old text occurs, and where the most similar text is. Line
// endings and trailing spaces may differ. Pure. Finding and replacing take time linear in the text's size. The nearest
// lines are searched for only in small texts, because each line is compared with each line of the old text.
import { findAll, toLineNumbers } from './occurrences.ts';

export type EditResult =
  | { readonly text: string; readonly replaced: number; readonly line: number; readonly tolerated: boolean }
  | { readonly nearest: NearLines | undefined }
  /** The first lines where the old text occurs. `more` is true if it also occurs elsewhere. */
  | { readonly lines: readonly number[]; readonly more: boolean }
  | { readonly tooLong: true };

export interface NearLines {
  readonly firstLine: number;
  readonly lines: readonly string[];
}

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

const maxShownLines = 10;

/**
 * Replaces the only occurrence of `oldText`, or all occurrences, unless the result would exceed `maxLength` characters.
 */
export function editText(text: string, { oldText, newText, replaceAll }: Edit, maxLength: number): EditResult {
  const maxMatches = replaceAll ? Number.POSITIVE_INFINITY : maxShownLines + 1;
  const exact = findExact(text, oldText, maxMatches);
  const matches = exact.length > 0 ? exact : findTolerant(text, oldText, maxMatches);
  if (matches.length === 0) return { nearest: findNearest(text, oldText) };
  const shown = matches.slice(0, maxShownLines).map(({ start }) => start);
  const lines = toLineNumbers(text, shown);
  if (matches.length > 1 && !replaceAll) return { lines, more: matches.length > maxShownLines };
  const inserted = usesCrLf(text) ? newText.replaceAll(/\r?\n/g, '\r\n') : newText;
  // Checked before building the result, because 100,000 characters inserted in a million places would not fit into
  // memory.
  const removed = matches.reduce((sum, { start, end }) => sum + end - start, 0);
  if (text.length - removed + matches.length * inserted.length > maxLength) return { tooLong: true };
  const [line = 1] = lines;
  return { text: splice(text, matches, inserted), replaced: matches.length, line, tolerated: exact.length === 0 };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const findExact = (text: string, part: string, max: number): Range[] =>
  findAll(text, part, max).map((start) => ({ start, end: start + part.length }));

/** Finds whole lines, ignoring trailing spaces and line endings. Example: `a␊b` finds `a␍␊b  ␊`. */
function findTolerant(text: string, part: string, max: number): Range[] {
  const wanted = toLines(part.replace(/\r?\n$/, '')).map(({ content }) => content);
  if (wanted.every((content) => content === '')) return [];
  const lines = toLines(text);
  const contents = lines.map(({ content }) => content);
  return findAll(contents, wanted, max).map((at) => {
    const [first, last] = [lines[at] as Line, lines[at + wanted.length - 1] as Line];
    // The last line's line ending is replaced only if the old text includes one.
    return { start: first.start, end: part.endsWith('\n') ? last.next : last.end };
  });
}

interface Line {
  /** The line without trailing spaces. */
  readonly content: string;
  readonly start: number;
  /** Where the line ends, including trailing spaces. */
  readonly end: number;
  /** Where the next line starts. */
  readonly next: number;
}

function toLines(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start <= text.length) {
    const newline = text.indexOf('\n', start);
    const next = newline === -1 ? text.length + 1 : newline + 1;
    const raw = text.slice(start, next - 1);
    const end = start + (raw.endsWith('\r') ? raw.length - 1 : raw.length);
    lines.push({ content: raw.trimEnd(), start, end, next: Math.min(next, text.length) });
    start = next;
  }
  return lines;
}

function splice(text: string, ranges: readonly Range[], inserted: string): string {
  let result = '';
  let from = 0;
  for (const { start, end } of ranges) {
    result += text.slice(from, start) + inserted;
    from = end;
  }
  return result + text.slice(from);
}

/** Whether most lines end with CRLF. */
function usesCrLf(text: string): boolean {
  let [newlines, crLfs] = [0, 0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    newlines += 1;
    if (text[at - 1] === '\r') crLfs += 1;
  }
  return crLfs * 2 > newlines;
}

// Limits the search for the nearest lines to a fraction of a second.
const maxCompared = { textLength: 256 * 1024, oldLines: 40, lineLength: 200 };
const contextLines = 3;

/** Finds the lines that have the most in common with the old text. Returns them with some context. */
function findNearest(text: string, oldText: string): NearLines | undefined {
  if (text.length > maxCompared.textLength) return undefined;
  const wanted = oldText.split('\n', maxCompared.oldLines).map(normalize);
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const normalized = lines.map(normalize);
  let best = { score: 0, at: 0 };
  for (let at = 0; at < lines.length; at += 1) {
    let score = 0;
    for (const [index, line] of wanted.entries()) score += scoreLine(line, normalized[at + index]);
    if (score > best.score) best = { score, at };
  }
  if (best.score === 0) return undefined;
  const from = Math.max(0, best.at - contextLines);
  return { firstLine: from + 1, lines: lines.slice(from, best.at + Math.min(wanted.length, 12) + contextLines) };
}

const normalize = (line: string): string => line.slice(0, maxCompared.lineLength).replaceAll(/\s+/g, ' ').trim();

/** Equal lines score highest, followed by lines that contain one another. */
function scoreLine(wanted: string, line: string | undefined): number {
  if (line === undefined || wanted.length < 2 || line.length < 2) return 0;
  if (wanted === line) return 4;
  if (line.length >= 8 && wanted.length >= 8 && (line.includes(wanted) || wanted.includes(line))) return 2;
  return line.length >= 8 && line.slice(0, 8) === wanted.slice(0, 8) ? 1 : 0;
}
