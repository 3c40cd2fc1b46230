// Owns replacing a part of a text by another: how often the old text occurs, and where the text is that comes nearest. Line
// ends and spaces at the end of lines may differ. Pure; linear in the size of the text.
import { findAll } from './occurrences.ts';

export type EditResult =
  | { readonly text: string; readonly replaced: number; readonly line: number; readonly tolerated: boolean }
  | { readonly matches: 0; readonly nearest: NearLines | undefined }
  | { readonly matches: number; readonly lines: readonly number[] };

export interface NearLines {
  readonly firstLine: number;
  readonly lines: readonly string[];
}

/** Replaces the one occurrence of `oldText`, or all of them. */
export function editText(text: string, oldText: string, newText: string, replaceAll: boolean): EditResult {
  const exact = findExact(text, oldText);
  const matches = exact.length > 0 ? exact : findTolerant(text, oldText);
  const [first] = matches;
  if (first === undefined) return { matches: 0, nearest: findNearest(text, oldText) };
  if (matches.length > 1 && !replaceAll)
    return { matches: matches.length, lines: matches.slice(0, 10).map(({ start }) => lineAt(text, start)) };
  const inserted = usesCrLf(text) ? newText.replaceAll(/\r?\n/g, '\r\n') : newText;
  const line = lineAt(text, first.start);
  return { text: splice(text, matches, inserted), replaced: matches.length, line, tolerated: exact.length === 0 };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const findExact = (text: string, part: string): Range[] =>
  findAll(text, part).map((start) => ({ start, end: start + part.length }));

/** Whole lines that are equal without the spaces at their ends. Example: `a␍␊b  ␊` is found by `a␊b`. */
function findTolerant(text: string, part: string): Range[] {
  const wanted = toLines(part.replace(/\r?\n$/, '')).map(({ content }) => content);
  if (wanted.every((content) => content === '')) return [];
  const lines = toLines(text);
  const contents = lines.map(({ content }) => content);
  return findAll(contents, wanted).map((at) => {
    const [first, last] = [lines[at] as Line, lines[at + wanted.length - 1] as Line];
    // The line end after the last line is replaced only if it was part of what to replace.
    return { start: first.start, end: part.endsWith('\n') ? last.next : last.end };
  });
}

interface Line {
  /** Without the spaces at its end. */
  readonly content: string;
  readonly start: number;
  /** Where its content ends, with the spaces. */
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
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of ranges) {
    parts.push(text.slice(from, start), inserted);
    from = end;
  }
  return [...parts, text.slice(from)].join('');
}

/** Whether most of its lines end so. */
function usesCrLf(text: string): boolean {
  const newlines = text.split('\n').length - 1;
  return newlines > 0 && (text.split('\r\n').length - 1) * 2 > newlines;
}

/** The number of the line that contains this position; the first is 1. */
const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

// What is compared to find the nearest lines, so that it takes a fraction of a second.
const maxCompared = { textLength: 256 * 1024, oldLines: 40, lineLength: 200 };
const contextLines = 3;

/** The lines that have the most in common with the old text, with some around them. */
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

/** Equal lines count most, then lines of which one contains the other. */
function scoreLine(wanted: string, line: string | undefined): number {
  if (line === undefined || wanted.length < 2 || line.length < 2) return 0;
  if (wanted === line) return 4;
  if (line.length >= 8 && wanted.length >= 8 && (line.includes(wanted) || wanted.includes(line))) return 2;
  return line.length >= 8 && line.slice(0, 8) === wanted.slice(0, 8) ? 1 : 0;
}
