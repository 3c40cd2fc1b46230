// Finds a part of a text or of a list of lines, and its line numbers, in linear time (Knuth-Morris-Pratt).
// String.indexOf is quadratic for some texts: searching five million `a`s for `aa…abaa…a` took minutes. Pure.

export interface Finder<Item> {
  /** Returns the part's first position at or after `from`, or -1 if it does not occur. */
  find(text: ArrayLike<Item>, from?: number): number;
}

/** The part must not be empty. */
export function createFinder<Item>(part: ArrayLike<Item>): Finder<Item> {
  const fallbacks = computeFallbacks(part);
  return {
    find(text, from = 0) {
      let matched = 0;
      for (let at = from; at < text.length; at += 1) {
        while (matched > 0 && part[matched] !== text[at]) matched = fallbacks[matched - 1] as number;
        if (part[matched] === text[at]) matched += 1;
        if (matched === part.length) return at - matched + 1;
      }
      return -1;
    },
  };
}

/** Returns the part's first `max` positions. Matches do not overlap. */
export function findAll<Item>(text: ArrayLike<Item>, part: ArrayLike<Item>, max = Number.POSITIVE_INFINITY): number[] {
  const finder = createFinder(part);
  const found: number[] = [];
  for (let at = finder.find(text); at !== -1; at = finder.find(text, at + part.length)) {
    found.push(at);
    if (found.length === max) break;
  }
  return found;
}

/** Returns the positions' line numbers, starting at 1. The positions must be in ascending order. */
export function toLineNumbers(text: string, positions: readonly number[]): number[] {
  let line = 1;
  let newline = text.indexOf('\n');
  return positions.map((position) => {
    for (; newline !== -1 && newline < position; newline = text.indexOf('\n', newline + 1)) line += 1;
    return line;
  });
}

/**
 * For each prefix of the part, the length of the prefix's longest suffix that is also a prefix: `abab` → 0, 0, 1, 2.
 */
function computeFallbacks<Item>(part: ArrayLike<Item>): number[] {
  const fallbacks = [0];
  let matched = 0;
  for (let at = 1; at < part.length; at += 1) {
    while (matched > 0 && part[matched] !== part[at]) matched = fallbacks[matched - 1] as number;
    if (part[matched] === part[at]) matched += 1;
    fallbacks.push(matched);
  }
  return fallbacks;
}
