// Owns finding a part in a text, or in a list of lines, in linear time (Knuth, Morris and Pratt), and on which line it is.
// String.indexOf is quadratic for some texts: five million times `a`, searched for `aa…abaa…a`, took minutes. Pure.

export interface Finder<Item> {
  /** Where the part starts at or after `from`; -1: nowhere. */
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

/** The first `max` places where the part starts, not overlapping. */
export function findAll<Item>(text: ArrayLike<Item>, part: ArrayLike<Item>, max = Number.POSITIVE_INFINITY): number[] {
  const finder = createFinder(part);
  const found: number[] = [];
  for (let at = finder.find(text); at !== -1; at = finder.find(text, at + part.length)) {
    found.push(at);
    if (found.length === max) break;
  }
  return found;
}

/** The numbers of the lines that contain these positions, which must be in ascending order; the first line is 1. */
export function toLineNumbers(text: string, positions: readonly number[]): number[] {
  let line = 1;
  let newline = text.indexOf('\n');
  return positions.map((position) => {
    for (; newline !== -1 && newline < position; newline = text.indexOf('\n', newline + 1)) line += 1;
    return line;
  });
}

/** For each length of a matched part, how much of it is also a beginning of the part: `abab` → 0, 0, 1, 2. */
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
