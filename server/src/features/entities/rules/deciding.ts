// Owns which clauses decide: a smallest set of clauses such that changing the result of all of them changes the decision.
//
// For each part of a tree of clauses, the smallest sets are computed that would bring the part into each of four states. To
// make an "and" true, all its parts must be: the set is the union of theirs. To make it anything but true, one part is
// enough: the set is the smallest of theirs. A clause occurs once in a tree, so this is exact.
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

/** For each state, the fewest clauses whose results have to change to bring a part into it. */
interface Changes<Leaf> {
  readonly true: readonly Leaf[];
  readonly false: readonly Leaf[];
  readonly notTrue: readonly Leaf[];
  readonly notFalse: readonly Leaf[];
}

interface JudgedTree<Leaf> {
  readonly possible: VerdictSet;
  /** Empty if it is not known what the tree results in. */
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

// A clause that can have several results may have to change, whichever state is wanted.
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

/** Of several that are equally small, the first. */
const smallest = <Leaf>(parts: readonly Changes<Leaf>[], state: keyof Changes<Leaf>): readonly Leaf[] =>
  parts.map((part) => part[state]).reduce((best, next) => (next.length < best.length ? next : best));
