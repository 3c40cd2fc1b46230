// Finds the deciding clauses: a smallest set of clauses such that changing all their results changes the
// decision.
//
// For each part of a clause tree, this computes the smallest set of clauses that would bring the part into each of four
// states. An "and" is true only if all its parts are true, so its set for true is the union of the parts' sets. A
// single part can make it anything but true, so the smallest of the parts' sets is used. Each clause occurs only once
// in a tree, so the result is exact.
import type { ClauseTree } from './clauses.ts';
import {
  andSets,
  isWithin,
  negateSet,
  notFalse,
  notTrue,
  orSets,
  type VerdictSet,
  verdictSets,
} from './verdict-set.ts';

/** For each state, the smallest set of clauses whose results must change to bring a part into that state. */
interface Changes<Leaf> {
  readonly true: readonly Leaf[];
  readonly false: readonly Leaf[];
  readonly notTrue: readonly Leaf[];
  readonly notFalse: readonly Leaf[];
}

interface JudgedTree<Leaf> {
  readonly possible: VerdictSet;
  /** Empty if the tree's result is not known. */
  readonly deciding: readonly Leaf[];
}

export function judgeTree<Leaf>(tree: ClauseTree<Leaf>, evaluate: (clause: Leaf) => VerdictSet): JudgedTree<Leaf> {
  const { possible, changes } = judge(tree, evaluate);
  if (possible === verdictSets.true) return { possible, deciding: changes.notTrue };
  return { possible, deciding: isWithin(possible, notTrue) ? changes.true : [] };
}

interface Judged<Leaf> {
  readonly possible: VerdictSet;
  readonly changes: Changes<Leaf>;
}

function judge<Leaf>(tree: ClauseTree<Leaf>, evaluate: (clause: Leaf) => VerdictSet): Judged<Leaf> {
  if (tree.kind === 'clause') return judgeClause(tree.clause, evaluate(tree.clause));
  const parts = tree.parts.map((part) => judge(part, evaluate));
  const sets = parts.map(({ possible }) => possible);
  const changes = parts.map((part) => part.changes);
  switch (tree.kind) {
    case 'and':
      return { possible: andSets(sets), changes: joinWithAnd(changes) };
    case 'or':
      return { possible: orSets(sets), changes: joinWithOr(changes) };
    case 'nor':
      return { possible: negateSet(orSets(sets)), changes: negate(joinWithOr(changes)) };
  }
}

// A clause with several possible results may have to change for any wanted state.
function judgeClause<Leaf>(clause: Leaf, possible: VerdictSet): Judged<Leaf> {
  const changeUnless = (wanted: VerdictSet): readonly Leaf[] => (isWithin(possible, wanted) ? [] : [clause]);
  const changes = {
    true: changeUnless(verdictSets.true),
    false: changeUnless(verdictSets.false),
    notTrue: changeUnless(notTrue),
    notFalse: changeUnless(notFalse),
  };
  return { possible, changes };
}

const joinWithAnd = <Leaf>(parts: readonly Changes<Leaf>[]): Changes<Leaf> => ({
  true: union(parts, 'true'),
  notFalse: union(parts, 'notFalse'),
  false: smallest(parts, 'false'),
  notTrue: smallest(parts, 'notTrue'),
});

const joinWithOr = <Leaf>(parts: readonly Changes<Leaf>[]): Changes<Leaf> => ({
  true: smallest(parts, 'true'),
  notFalse: smallest(parts, 'notFalse'),
  false: union(parts, 'false'),
  notTrue: union(parts, 'notTrue'),
});

const negate = <Leaf>(changes: Changes<Leaf>): Changes<Leaf> => ({
  true: changes.false,
  false: changes.true,
  notTrue: changes.notFalse,
  notFalse: changes.notTrue,
});

const union = <Leaf>(parts: readonly Changes<Leaf>[], state: keyof Changes<Leaf>): readonly Leaf[] =>
  parts.flatMap((part) => part[state]);

/** Returns the smallest set, or the first one in case of a tie. */
const smallest = <Leaf>(parts: readonly Changes<Leaf>[], state: keyof Changes<Leaf>): readonly Leaf[] =>
  parts.map((part) => part[state]).reduce((best, next) => (next.length < best.length ? next : best));
