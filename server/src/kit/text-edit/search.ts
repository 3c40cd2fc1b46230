// Searches a text line by line for a literal text, or for parts separated by `*`. Pure and linear.
import { createFinder, type Finder } from './occurrences.ts';

export interface SearchMatch {
  readonly line: number;
  readonly text: string;
}

/** Example: `fetch(*tasks` finds lines that contain `fetch(` and, anywhere after it, `tasks`. */
export function searchText(text: string, pattern: string, ignoreCase: boolean, max: number): SearchMatch[] {
  const fold = (value: string) => (ignoreCase ? value.toLowerCase() : value);
  const parts = fold(pattern)
    .split('*')
    .filter((part) => part !== '')
    .map((part) => ({ ...createFinder(part), length: part.length }));
  const matches: SearchMatch[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (!containsInOrder(fold(line), parts)) continue;
    matches.push({ line: index + 1, text: line.replace(/\r$/, '') });
    if (matches.length === max) break;
  }
  return matches;
}

function containsInOrder(line: string, parts: readonly (Finder<string> & { length: number })[]): boolean {
  let from = 0;
  for (const { find, length } of parts) {
    const at = find(line, from);
    if (at === -1) return false;
    from = at + length;
  }
  return true;
}
