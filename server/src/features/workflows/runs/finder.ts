// Owns finding many texts in others, in time that grows with those others alone. All of them may be chosen to make this slow.

/** The shortest text that can be found: those that begin with the same four characters are compared where these occur. */
const keyLength = 4;
/** How many characters may be compared for each character that is searched, and how many beside these. */
const comparedPerCharacter = 16;
const comparedInAll = 100_000;

export interface Place {
  readonly start: number;
  readonly end: number;
}

/** What may be compared while a value is searched, which may consist of many short texts. */
export interface Budget {
  compared: number;
}

export const createBudget = (): Budget => ({ compared: comparedInAll });

/** Returns the places of the wanted texts, in order. Places that overlap are one. */
export type Finder = (text: string, budget: Budget) => Place[];

export function createFinder(wanted: Iterable<string>): Finder {
  const byKey = groupByKey(wanted);
  // Most positions of a text have no key, which one look at this table tells.
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

/** Of the four characters from `start` on. */
function hash(text: string, start: number): number {
  let sum = 0;
  for (let index = start; index < start + keyLength; index += 1) sum = Math.imul(sum, 31) + text.charCodeAt(index);
  return (sum ^ (sum >>> 16)) & (tableSize - 1);
}

/** The longest first. */
function groupByKey(wanted: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const long = [...wanted].filter(({ length }) => length >= keyLength).sort((a, b) => b.length - a.length);
  return Map.groupBy(long, (text) => text.slice(0, keyLength));
}

/**
 * The length of the longest candidate that is at `start`, or 0. If too much was compared, then the longest that fits there
 * counts as found: too much is hidden rather than too little. Example: `aaa…ab` is wanted in a text of 250,000 `a`.
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

/** The index of the first candidate that is not longer than `remaining`. */
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

/** The places of several searches in the same text. */
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
