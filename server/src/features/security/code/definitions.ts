// Decides which assignments to a variable can reach a given use of it.
import ts from 'typescript';
import type { Declaration, Definition } from './scopes.ts';
import { enclosingFunction, isFunction, isInside, statementsOf } from './syntax.ts';

/** The definitions that can reach a use. Later definitions, and those overwritten before the use, are left out. */
export function reachingDefinitions({ definitions, scope }: Declaration, use: ts.Node): readonly Definition[] {
  if (definitions.length < 2) return definitions;
  const owner = enclosingFunction(use);
  const isLocal = definitions.every(({ at }) => enclosingFunction(at) === owner) && isInside(use, scope);
  if (!isLocal) return definitions;
  const loop = enclosingLoop(use);
  const start = use.getStart();
  const visible = definitions.filter(
    ({ at }) => at.getEnd() <= start || isInside(use, at) || (loop && isInside(at, loop)),
  );
  const last = visible.findLastIndex(
    ({ kind, target, at }) => kind === 'set' && target.length === 0 && at.getEnd() <= start && dominates(at, use),
  );
  return last > 0
    ? visible.slice(last)
    : visible.filter(({ at, kind }) => kind !== 'set' || !isInside(use, at) || at === use);
}

function enclosingLoop(node: ts.Node): ts.Node | undefined {
  for (let at = node.parent; at !== undefined && !isFunction(at); at = at.parent) {
    if (ts.isIterationStatement(at, false)) return at;
  }
  return undefined;
}

/** Whether the statement that contains `before` always runs before `after`. Its block must also contain `after`. */
function dominates(before: ts.Node, after: ts.Node): boolean {
  let at: ts.Node = before;
  while (at.parent !== undefined && statementsOf(at.parent) === undefined) {
    const { parent } = at;
    const isBranch = ts.isIfStatement(parent) ? parent.expression !== at : ts.isConditionalExpression(parent);
    if (isBranch || isFunction(parent) || ts.isIterationStatement(parent, false)) return false;
    if (ts.isBinaryExpression(parent) && parent.right === at && isShortCircuit(parent)) return false;
    at = parent;
  }
  if (at.parent !== undefined && ts.isBlock(at.parent) && ts.isTryStatement(at.parent.parent)) {
    return isInside(after, at.parent.parent.parent);
  }
  return at.parent !== undefined && isInside(after, at.parent);
}

const isShortCircuit = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind === ts.SyntaxKind.AmpersandAmpersandToken ||
  kind === ts.SyntaxKind.BarBarToken ||
  kind === ts.SyntaxKind.QuestionQuestionToken;
