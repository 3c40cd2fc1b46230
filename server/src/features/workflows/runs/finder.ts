// Finds many strings in a text in linear time, even if the strings and the text were chosen to make the search
// slow.

/**
 * The minimum length of a string that can be found. Strings are grouped by their first four characters and compared
 * only where those characters occur.
 */
const keyLength = 4;
/** The comparison budget: this many characters per searched character, plus a fixed number. */
const comparedPerCharacter = 16;
const comparedInAll = 100_000;

export interface Place {
  readonly start: number;
  readonly end: number;
}

/** How many more characters may be compared while searching one value, which may contain many short strings. */
export interface Budget {
  compared: number;
}

export const createBudget = (): Budget => ({ compared: comparedInAll });

/** Returns the places where the wanted strings occur, in order. Overlapping places are merged. */
export type Finder = (text: string, budget: Budget) => Place[];

export function createFinder(wanted: Iterable<string>): Finder {
  const byKey = groupByKey(wanted);
  // Most positions match no key, and this table rules them out with a single lookup.
  const hasKey = new Uint8Array(tableSize);
  for (const key of byKey.keys()) hasKey[hash(key, 0)] = 1;

  return (text, budget) => {
    budget.compared += text.length * comparedPerCharacter;
    const places: Place[] = [];
    for (let start = 0; start + keyLength <= text.length; start += 1) {
      if (hasKey[hash(text, start)] === 0) continue;
      const candidates = byKey.get(text.slice(start, start + keyLength));
      const length = candidates === undefined ? 0 : measureLongest(text, start, candidates, budget);
      if (length > 0) addPlace(places, start, start + length);
    }
    return places;
  };
}

const tableSize = 2 ** 16;

/** Hashes the four characters starting at `start`. */
function hash(text: string, start: number): number {
  let sum = 0;
  for (let index = start; index < start + keyLength; index += 1) sum = Math.imul(sum, 31) + text.charCodeAt(index);
  return (sum ^ (sum >>> 16)) & (tableSize - 1);
}

/** Groups the strings by their first four characters. Each group is sorted by length, longest first. */
function groupByKey(wanted: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const long = [...wanted].filter(({ length }) => length >= keyLength).sort((a, b) => b.length - a.length);
  return Map.groupBy(long, (text) => text.slice(0, keyLength));
}

/**
 * Returns the length of the longest candidate at `start`, or 0. Once the budget is used up, the longest candidate that
 * fits is assumed to match, because hiding too much is better than hiding too little. This happens, for example, if
 * `aaa…ab` is wanted in a text of 250,000 `a` characters.
 */
function measureLongest(text: string, start: number, candidates: readonly string[], budget: Budget): number {
  for (let index = findFirstWithin(candidates, text.length - start); index < candidates.length; index += 1) {
    const candidate = candidates[index] ?? '';
    if (budget.compared <= 0) return candidate.length;
    const length = countEqual(text, start, candidate);
    budget.compared -= length;
    if (length === candidate.length) return length;
  }
  return 0;
}

/** Returns the index of the first candidate that is no longer than `remaining`. */
function findFirstWithin(candidates: readonly string[], remaining: number): number {
  let [from, to] = [0, candidates.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((candidates[middle]?.length ?? 0) > remaining) from = middle + 1;
    else to = middle;
  }
  return from;
}

function countEqual(text: string, start: number, candidate: string): number {
  let length = keyLength;
  while (length < candidate.length && text.charCodeAt(start + length) === candidate.charCodeAt(length)) length += 1;
  return length;
}

/** Merges the results of several searches in the same text. */
export function mergePlaces(found: readonly (readonly Place[])[]): Place[] {
  const places: Place[] = [];
  for (const { start, end } of found.flat().sort((a, b) => a.start - b.start)) addPlace(places, start, end);
  return places;
}

function addPlace(places: Place[], start: number, end: number): void {
  const last = places.at(-1);
  if (last === undefined || last.end <= start) places.push({ start, end });
  else if (last.end < end) places[places.length - 1] = { start: last.start, end };
}
