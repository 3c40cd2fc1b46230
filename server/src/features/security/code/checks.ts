// Decides which checks apply where a value is used: conditions around it, earlier statements that exit if a check
// fails, and functions that throw. Each check makes some uses of the checked names safe.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import { keyOf, keysOf } from './keys.ts';
import { checkNames } from './known.ts';
import { allUses, type Origin, uses } from './origins.ts';
import { constantInitialiserOf, declarationOf, findCallees } from './program.ts';
import { readRegExp, usesSafeAfterMatch } from './samples.ts';
import {
  alwaysExits,
  dottedName,
  type FunctionNode,
  isFunction,
  methodName,
  receiverOf,
  statementsOf,
  textOf,
  unwrap,
  walkOwn,
} from './syntax.ts';

/** The names with these keys are safe for the uses in `bits`. */
interface Check {
  readonly keys: readonly string[];
  readonly bits: number;
}

/** The origins of a value at a node, including the uses that earlier checks made safe. */
export function checksAt(flow: Flow, node: ts.Node, origins: readonly Origin[]): readonly Origin[] {
  const checks = checksBefore(flow, node, 0);
  if (checks.length === 0) return origins;
  return origins.map((origin) => {
    let { safeFor } = origin;
    for (const { keys, bits } of checks) if (keys.some((key) => origin.trail.includes(key))) safeFor |= bits;
    return safeFor === origin.safeFor ? origin : { ...origin, safeFor };
  });
}

const maxDepth = 4;

function checksBefore(flow: Flow, node: ts.Node, depth: number): readonly Check[] {
  const checks: Check[] = [];
  for (let at = node; at.parent !== undefined; at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && parent.expression !== at) {
      checks.push(...checksOf(flow, parent.expression, parent.thenStatement === at, depth));
    } else if (ts.isConditionalExpression(parent) && parent.condition !== at) {
      checks.push(...checksOf(flow, parent.condition, parent.whenTrue === at, depth));
    } else if (ts.isBinaryExpression(parent) && parent.right === at) {
      const { kind } = parent.operatorToken;
      if (kind === ts.SyntaxKind.AmpersandAmpersandToken) checks.push(...checksOf(flow, parent.left, true, depth));
      if (kind === ts.SyntaxKind.BarBarToken) checks.push(...checksOf(flow, parent.left, false, depth));
    } else if (ts.isWhileStatement(parent) && parent.statement === at) {
      checks.push(...checksOf(flow, parent.expression, true, depth));
    } else if (ts.isCaseClause(parent) && parent.expression !== at) {
      checks.push({ keys: keysOf(flow.program, parent.parent.parent.expression), bits: allUses });
    }
    if (statementsOf(parent) !== undefined) checks.push(...checksOfEarlier(flow, parent, at, depth));
  }
  return checks;
}

const earlierChecks = new WeakMap<ts.Node, readonly (readonly Check[])[]>();

/** The checks made by earlier statements in the same list. */
function checksOfEarlier(flow: Flow, list: ts.Node, before: ts.Node, depth: number): readonly Check[] {
  const statements = statementsOf(list);
  const at = statements?.indexOf(before as ts.Statement) ?? -1;
  if (statements === undefined || at <= 0) return [];
  let known = earlierChecks.get(list);
  if (known === undefined) {
    earlierChecks.set(list, []); // a check that depends on itself proves nothing
    known = statements.map((statement) => checksOfStatement(flow, statement, depth));
    earlierChecks.set(list, known);
  }
  return known.slice(0, at).flat();
}

function checksOfStatement(flow: Flow, statement: ts.Statement, depth: number): readonly Check[] {
  if (ts.isIfStatement(statement)) {
    const { thenStatement, elseStatement, expression } = statement;
    if (alwaysExits(thenStatement)) return checksOf(flow, expression, false, depth);
    const replaced = keysOfReplaced(flow, thenStatement);
    if (replaced.length > 0) {
      const checks = checksOf(flow, expression, false, depth);
      return checks.map(({ keys, bits }) => ({ keys: keys.filter((key) => replaced.includes(key)), bits }));
    }
    return elseStatement !== undefined && alwaysExits(elseStatement) ? checksOf(flow, expression, true, depth) : [];
  }
  if (ts.isExpressionStatement(statement)) {
    const call = unwrap(statement.expression);
    return ts.isCallExpression(call) ? checksOfCall(flow, call, true, depth, true) : [];
  }
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ initializer }) => {
      const call = initializer && unwrap(initializer);
      return call !== undefined && ts.isCallExpression(call) ? checksOfCall(flow, call, true, depth, true) : [];
    });
  }
  // Checks inside `try` also apply after it if `catch` always exits.
  if (ts.isTryStatement(statement) && statement.catchClause && alwaysExits(statement.catchClause.block)) {
    return statement.tryBlock.statements.flatMap((each) => checksOfStatement(flow, each, depth));
  }
  return [];
}

/**
 * After `if (!isAllowed(name)) name = 'id'`, the name is either the constant or allowed. Empty for any other branch.
 */
function keysOfReplaced(flow: Flow, statement: ts.Statement): readonly string[] {
  const inner = ts.isBlock(statement) ? statement.statements : [statement];
  const keys = inner.map((each) => {
    const assignment = ts.isExpressionStatement(each) ? unwrap(each.expression) : undefined;
    if (assignment === undefined || !ts.isBinaryExpression(assignment)) return undefined;
    if (assignment.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return undefined;
    return flow.originsOf(assignment.right).length === 0 ? keysOf(flow.program, assignment.left)[0] : undefined;
  });
  return keys.every((key) => key !== undefined) ? keys : [];
}

/** The checks that apply if a condition is met (or, with false, not met). */
function checksOf(flow: Flow, condition: ts.Expression, isMet: boolean, depth: number): readonly Check[] {
  if (depth > maxDepth) return [];
  const node = unwrap(condition);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    return checksOf(flow, node.operand, !isMet, depth);
  }
  if (ts.isBinaryExpression(node)) return checksOfBinary(flow, node, isMet, depth);
  if (ts.isCallExpression(node)) return checksOfCall(flow, node, isMet, depth, false);
  if (ts.isIdentifier(node)) {
    const empty = isMet ? [] : checksOfEmpty(flow, node);
    const [only, ...more] = declarationOf(flow.program, node)?.definitions ?? [];
    if (only === undefined || more.length > 0 || only.path.length > 0) return empty;
    return [...empty, ...checksOf(flow, only.value, isMet, depth + 1)];
  }
  return isMet ? [] : checksOfEmpty(flow, node);
}

/** In `if (!origin)`, the value is empty and therefore harmless. */
function checksOfEmpty(flow: Flow, node: ts.Expression): readonly Check[] {
  const path: string[] = [];
  let at = node;
  for (; ts.isPropertyAccessExpression(at); at = unwrap(at.expression)) path.unshift(at.name.text);
  const declaration = ts.isIdentifier(at) ? declarationOf(flow.program, at) : undefined;
  return declaration === undefined ? [] : [{ keys: [keyOf(declaration, path)], bits: allUses }];
}

function checksOfBinary(flow: Flow, node: ts.BinaryExpression, isMet: boolean, depth: number): readonly Check[] {
  const { kind } = node.operatorToken;
  const isAnd = kind === ts.SyntaxKind.AmpersandAmpersandToken;
  if (isAnd || kind === ts.SyntaxKind.BarBarToken) {
    const left = checksOf(flow, node.left, isMet, depth);
    const right = checksOf(flow, node.right, isMet, depth);
    return isAnd === isMet ? [...left, ...right, ...bothSlashes(flow, node)] : shared(left, right);
  }
  const isEqual = kind === ts.SyntaxKind.EqualsEqualsEqualsToken || kind === ts.SyntaxKind.EqualsEqualsToken;
  const isUnequal =
    kind === ts.SyntaxKind.ExclamationEqualsEqualsToken || kind === ts.SyntaxKind.ExclamationEqualsToken;
  if (kind === ts.SyntaxKind.InKeyword && isMet) return [{ keys: keysOf(flow.program, node.left), bits: allUses }];
  if (isEqual || isUnequal) return checksOfComparison(flow, node, isEqual === isMet, depth);
  return checksOfPosition(flow, node, isMet);
}

/** Checks made by both operands. For example, `a === 'x' || a === 'y'` checks `a`. */
function shared(left: readonly Check[], right: readonly Check[]): readonly Check[] {
  return left.flatMap(({ keys, bits }) => {
    const both = right.filter((other) => other.keys.some((key) => keys.includes(key)));
    const common = both.reduce((all, other) => all | other.bits, 0) & bits;
    return common === 0 ? [] : [{ keys, bits: common }];
  });
}

/** Checks such as `list.indexOf(name) !== -1` and `list.indexOf(name) >= 0`. */
function checksOfPosition(flow: Flow, node: ts.BinaryExpression, isMet: boolean): readonly Check[] {
  const call = unwrap(node.left);
  if (!ts.isCallExpression(call) || methodName(call) !== 'indexOf') return [];
  const { kind } = node.operatorToken;
  const isFound = kind === ts.SyntaxKind.GreaterThanEqualsToken || kind === ts.SyntaxKind.GreaterThanToken;
  const isMissing = kind === ts.SyntaxKind.LessThanToken;
  if ((isFound && isMet) || (isMissing && !isMet)) return checksOfList(flow, call);
  return [];
}

function checksOfComparison(flow: Flow, node: ts.BinaryExpression, isEqual: boolean, depth: number): readonly Check[] {
  const sides = [unwrap(node.left), unwrap(node.right)] as const;
  for (const [side, other] of [sides, [sides[1], sides[0]] as const]) {
    const literal = other.kind;
    if (literal === ts.SyntaxKind.TrueKeyword) return checksOf(flow, side, isEqual, depth);
    if (literal === ts.SyntaxKind.FalseKeyword) return checksOf(flow, side, !isEqual, depth);
    if (ts.isTypeOfExpression(side)) {
      const type = textOf(other);
      const bits = type === 'string' ? uses.nosql : type === 'number' || type === 'boolean' ? allUses : 0;
      return isEqual && bits !== 0 ? [{ keys: keysOf(flow.program, side.expression), bits }] : [];
    }
    if (ts.isCallExpression(side) && methodName(side) === 'indexOf' && other.getText() === '-1') {
      return isEqual ? [] : checksOfList(flow, side);
    }
    if (ts.isCallExpression(side) && methodName(side) === 'match' && literal === ts.SyntaxKind.NullKeyword) {
      return checksOf(flow, side, !isEqual, depth);
    }
    if (
      ts.isCallExpression(side) &&
      /(^|\.)(basename|normalize|resolve)$/.test(dottedName(side.expression)) &&
      isEqual
    ) {
      return [{ keys: keysOf(flow.program, side), bits: uses.path }];
    }
  }
  if (!isEqual) return [];
  const [left, right] = sides;
  // `target.origin === base.origin` means that both belong to the same site.
  if (isSite(left) && isSite(right)) {
    const bits = uses.redirect | uses.address | uses.cors | uses.html;
    return [left, right].map((side) => ({ keys: keysOf(flow.program, side), bits }));
  }
  // The other side is a value that no caller can set.
  const empty = /^(undefined|null|''|"")$/;
  if (empty.test(left.getText()) || empty.test(right.getText())) return [];
  const checks: Check[] = [];
  if (flow.originsOf(right).every(({ label }) => label === 'secret')) checks.push(comparedWith(flow, left, right));
  if (flow.originsOf(left).every(({ label }) => label === 'secret')) checks.push(comparedWith(flow, right, left));
  return checks;
}

const isSite = (node: ts.Expression): boolean =>
  ts.isPropertyAccessExpression(node) && /^(origin|host|hostname)$/.test(node.name.text);

function comparedWith(flow: Flow, checked: ts.Expression, other: ts.Expression): Check {
  const keys = keysOf(flow.program, checked);
  // `url.protocol === 'https:'` does not restrict the host, but it excludes `javascript:`.
  const bare = unwrap(checked);
  const part = ts.isPropertyAccessExpression(bare) ? bare.name.text : '';
  if (part === 'protocol') return { keys, bits: uses.html };
  if (part === 'pathname' || part === 'length') return { keys, bits: 0 };
  return { keys, bits: textOf(other) === '' ? 0 : allUses };
}

const checksOfList = (flow: Flow, call: ts.CallExpression): readonly Check[] => {
  const [value] = call.arguments;
  const receiver = receiverOf(call);
  if (value === undefined || receiver === undefined) return [];
  // The list must belong to the app, because `name.includes('x')` only searches the sent value.
  const isOwnList = flow.originsOf(receiver).every(({ label }) => label === 'secret' || label === 'stored');
  if (!isOwnList || textOf(value) !== undefined) return [];
  const bare = unwrap(value);
  const isProtocol = ts.isPropertyAccessExpression(bare) && bare.name.text === 'protocol';
  const isEnding = /(^|\.)extname$|\.(pop|at)$/.test(ts.isCallExpression(bare) ? dottedName(bare.expression) : '');
  if (isEnding) return [];
  return [{ keys: keysOf(flow.program, value), bits: isProtocol ? uses.html : allUses }];
};

function checksOfCall(
  flow: Flow,
  call: ts.CallExpression,
  isMet: boolean,
  depth: number,
  isStatement: boolean,
): readonly Check[] {
  const method = methodName(call);
  const receiver = receiverOf(call);
  const [first] = call.arguments;
  if (first === undefined) return [];
  const callees = findCallees(flow.program, call);
  if (callees.length > 0) return checksOfOwnFunction({ flow, call, callees, isMet, depth, isStatement });
  const name = dottedName(call.expression);
  if (isMet && checkNames.test(name)) return [{ keys: keysOf(flow.program, first), bits: allUses }];
  if (isStatement) return [];
  if (isMet && /^(Number\.)?(isInteger|isSafeInteger|isFinite)$/.test(name)) {
    return [{ keys: keysOf(flow.program, first), bits: allUses }];
  }
  if (!isMet && /^(Number\.)?isNaN$/.test(name)) return [{ keys: keysOf(flow.program, first), bits: allUses }];
  if (method === undefined || receiver === undefined) return [];
  if (isMet && /^(hasOwn|hasOwnProperty|call)$/.test(method)) {
    return call.arguments.slice(-1).map((key) => ({ keys: keysOf(flow.program, key), bits: allUses }));
  }
  if (method === 'test') return checksOfExpression(flow, receiver, first, isMet);
  if (method === 'match') return checksOfExpression(flow, first, receiver, isMet);
  if (method === 'includes' || method === 'has') {
    if (isMet) return checksOfList(flow, call);
    return checksOfSearch(flow, receiver, textOf(first) ?? '');
  }
  if (method === 'some' && isMet) return checksOfSome(flow, first, depth);
  if (method === 'startsWith') return checksOfStart(flow, receiver, first, isMet);
  if (method === 'endsWith' && isMet) return checksOfEnd(flow, receiver, first);
  return [];
}

/** After `if (name.includes('..')) return`, the name contains no `..`. */
function checksOfSearch(flow: Flow, receiver: ts.Expression, searched: string): readonly Check[] {
  const bits = searched === '..' || searched === '/' ? uses.path : searched === '<' ? uses.html : 0;
  return bits === 0 ? [] : [{ keys: keysOf(flow.program, receiver), bits }];
}

function checksOfExpression(flow: Flow, node: ts.Expression, value: ts.Expression, isMet: boolean): readonly Check[] {
  const bare = unwrap(node);
  const [only] = ts.isIdentifier(bare) ? (declarationOf(flow.program, bare)?.definitions ?? []) : [];
  const expression = readRegExp(only === undefined ? bare : unwrap(only.value));
  if (expression === undefined) return [];
  const isHost = /(host|hostname|origin)$/i.test(value.getText());
  const bits = usesSafeAfterMatch(expression, isMet, isHost);
  return bits === 0 ? [] : [{ keys: keysOf(flow.program, value), bits }];
}

/** Checks such as `hosts.some((host) => url.hostname === host)`. */
function checksOfSome(flow: Flow, callback: ts.Expression, depth: number): readonly Check[] {
  const fn = unwrap(callback);
  if (!isFunction(fn)) return [];
  const own = fn.parameters.flatMap(({ name }) => (ts.isIdentifier(name) ? keysOf(flow.program, name) : []));
  return acceptedBy(flow, fn, true, depth + 1).map(({ keys, bits }) => ({
    keys: keys.filter((key) => !own.includes(key)),
    bits,
  }));
}

function checksOfStart(flow: Flow, receiver: ts.Expression, prefix: ts.Expression, isMet: boolean): readonly Check[] {
  const keys = keysOf(flow.program, receiver);
  const text = textOf(prefix) ?? textOf(constantInitialiserOf(flow.program, prefix));
  if (!isMet) return text === '..' ? [{ keys, bits: uses.path }] : [];
  if (text !== undefined) {
    const hasHost = /^[a-z]+:\/\/[^/]+\//i.test(text);
    const bits = (hasHost ? uses.address | uses.redirect | uses.html : 0) | (/^https?:/.test(text) ? uses.html : 0);
    return bits === 0 && !isResolvedPath(flow, receiver) ? [] : [{ keys, bits: bits | uses.path }];
  }
  // In `resolved.startsWith(root)`, only a resolved path is guaranteed to have no `..` left.
  if (flow.originsOf(prefix).some(({ label }) => label === 'request')) return [];
  const isOwnAddress = /origin|base|host|site|url/i.test(prefix.getText());
  if (isResolvedPath(flow, receiver)) return [{ keys, bits: uses.path }];
  return isOwnAddress ? [{ keys, bits: uses.redirect | uses.address }] : [];
}

function isResolvedPath(flow: Flow, node: ts.Expression): boolean {
  const bare = unwrap(constantInitialiserOf(flow.program, node) ?? node);
  return /(^|\.)(resolve|normalize|join|realpath|realpathSync|relative|realPath|realPathSync)\(/.test(bare.getText());
}

/** In `url.hostname.endsWith('.example.com')`, the dot excludes `evil-example.com`. */
function checksOfEnd(flow: Flow, receiver: ts.Expression, suffix: ts.Expression): readonly Check[] {
  const text = textOf(suffix) ?? '';
  const isHost = /\.?(host|hostname|origin)$/i.test(receiver.getText());
  const isDotted = text.startsWith('.') || /^[`'"]?\$?\{?\.|`\.\$\{/.test(suffix.getText());
  if (!isHost || !isDotted) return [];
  return [{ keys: keysOf(flow.program, receiver), bits: uses.address | uses.redirect | uses.cors }];
}

/** `next.startsWith('/') && !next.startsWith('//')` means that the path is on this site. */
function bothSlashes(flow: Flow, node: ts.BinaryExpression): readonly Check[] {
  const text = node.getText();
  if (!/startsWith\(['"`]\/['"`]\)|\[0\]|charAt\(0\)/.test(text) || !/['"`]\/\/['"`]|\[1\]|\\\/\\\//.test(text))
    return [];
  const call = unwrap(node.left);
  const inner = ts.isPrefixUnaryExpression(call) ? unwrap(call.operand) : call;
  const receiver = ts.isCallExpression(inner) ? receiverOf(inner) : undefined;
  const other = unwrap(node.right);
  const otherInner = ts.isPrefixUnaryExpression(other) ? unwrap(other.operand) : other;
  const checked = receiver ?? (ts.isCallExpression(otherInner) ? receiverOf(otherInner) : undefined);
  return checked === undefined ? [] : [{ keys: keysOf(flow.program, checked), bits: uses.redirect | uses.html }];
}

/** The checks that one of the app's own functions must have made on its arguments if it accepts them. */
function checksOfOwnFunction({
  flow,
  call,
  callees,
  isMet,
  depth,
  isStatement,
}: {
  readonly flow: Flow;
  readonly call: ts.CallExpression;
  readonly callees: readonly FunctionNode[];
  readonly isMet: boolean;
  readonly depth: number;
  readonly isStatement: boolean;
}): readonly Check[] {
  if (depth > maxDepth) return [];
  return callees.slice(0, 2).flatMap((fn) => {
    const inner = isStatement ? checksOfThrowing(flow, fn, depth + 1) : acceptedBy(flow, fn, isMet, depth + 1);
    return fn.parameters.flatMap((parameter, index) => {
      const passed = call.arguments[index];
      if (passed === undefined || !ts.isIdentifier(parameter.name)) return [];
      const declaration = declarationOf(flow.program, parameter.name);
      if (declaration === undefined) return [];
      const key = keyOf(declaration, []);
      const bits = inner.reduce((all, check) => (check.keys.includes(key) ? all | check.bits : all), 0);
      return bits === 0 ? [] : [{ keys: keysOf(flow.program, passed), bits }];
    });
  });
}

/** The checks that apply on every path to a truthy return (or, with false, a falsy return). */
function acceptedBy(flow: Flow, fn: FunctionNode, isMet: boolean, depth: number): readonly Check[] {
  if (depth > maxDepth) return [];
  if (!ts.isBlock(fn.body)) return checksOf(flow, fn.body, isMet, depth);
  const ways: (readonly Check[])[] = [];
  walkOwn(fn, (node) => {
    if (!ts.isReturnStatement(node)) return true;
    const value = node.expression && unwrap(node.expression);
    const literal = value === undefined ? 'undefined' : value.getText();
    const isFalse = /^(false|null|undefined)$/.test(literal);
    const isTrue = literal === 'true';
    if (isMet ? isFalse : isTrue) return false;
    const own = value === undefined || isFalse || isTrue ? [] : checksOf(flow, value, isMet, depth);
    ways.push([...own, ...checksBefore(flow, node, depth)]);
    return false;
  });
  const [first, ...more] = ways;
  return first === undefined ? [] : more.reduce((all, way) => shared(all, way), first);
}

/** The checks that apply after a call to a function that throws if a check fails. */
function checksOfThrowing(flow: Flow, fn: FunctionNode, depth: number): readonly Check[] {
  if (!ts.isBlock(fn.body)) return [];
  return fn.body.statements.flatMap((statement) => {
    const leaves = ts.isIfStatement(statement) && throwsAlways(statement.thenStatement);
    const isCall = ts.isExpressionStatement(statement) || ts.isVariableStatement(statement);
    return leaves || isCall || ts.isTryStatement(statement) ? checksOfStatement(flow, statement, depth) : [];
  });
}

const throwsAlways = (node: ts.Statement): boolean =>
  ts.isThrowStatement(node) || (ts.isBlock(node) && node.statements.some(throwsAlways));
