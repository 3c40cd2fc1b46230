// Sets of verdicts in three-valued logic: a condition's possible results when some of its parts are not known to
// the reader. A set is a number with one bit per verdict.
import type { Verdict } from '../rule.ts';

export type VerdictSet = number;

export const verdictSets = { true: 1, false: 2, unknown: 4 } as const;

export const anyVerdict: VerdictSet = 7;
export const notTrue: VerdictSet = verdictSets.false | verdictSets.unknown;
export const notFalse: VerdictSet = verdictSets.true | verdictSets.unknown;

export const ofVerdict = (verdict: Verdict): VerdictSet =>
  verdict === null ? verdictSets.unknown : verdict ? verdictSets.true : verdictSets.false;

export const isWithin = (set: VerdictSet, of: VerdictSet): boolean => (set & ~of) === 0;

/** False becomes true, and true becomes false. Unknown stays unknown. */
export const negateSet = (set: VerdictSet): VerdictSet =>
  (set & verdictSets.unknown) |
  (set & verdictSets.true ? verdictSets.false : 0) |
  (set & verdictSets.false ? verdictSets.true : 0);

/** The possible results of joining conditions with `or`. */
export const orSets = (sets: readonly VerdictSet[]): VerdictSet => negateSet(andSets(sets.map(negateSet)));

/**
 * The possible results of joining conditions with `and`. Exact if the conditions are independent of each other,
 * otherwise a superset.
 */
export function andSets(sets: readonly VerdictSet[]): VerdictSet {
  let result = 0;
  if (sets.every((set) => set & verdictSets.true)) result |= verdictSets.true;
  if (sets.some((set) => set & verdictSets.false)) result |= verdictSets.false;
  if (sets.every((set) => set & notFalse) && sets.some((set) => set & verdictSets.unknown))
    result |= verdictSets.unknown;
  return result;
}
