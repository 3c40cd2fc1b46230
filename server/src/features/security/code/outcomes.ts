// Defines how a function uses a check's outcome: whether it controls what runs next, or is dropped, logged or caught.
import ts from 'typescript';
import {
  alwaysExits,
  dottedName,
  isFunction,
  isInside,
  methodName,
  statementOf,
  statementsOf,
  unwrap,
  walk,
} from './syntax.ts';

/** Whether a check decides if a node is reached, by throwing or through a condition that tests its result first. */
export function decides(check: ts.Expression, node: ts.Node): boolean {
  if (check === node) return true; // the call's effect depends on its credential
  const condition = ifStatementOf(check);
  if (condition !== undefined) {
    const flags = flagsIn(condition.thenStatement);
    if (isInBranch(node, condition) || leavesBranch(condition)) return true;
    return flags.length > 0 && isLeftByCondition(flags, check, node);
  }
  if (isChoosing(check)) return true;
  const isHandled = isErrorHandled(check, node);
  const names = [...assignedNames(check), ...(isHandled ? flagsIn(enclosingTry(check)?.tryBlock) : [])];
  if (names.length === 0) return !isHandled && !isDropped(check);
  const owner = enclosing(check);
  const derived = [...names, ...derivedNames(owner, names)];
  if (isHandled && hasOtherValue(owner, names, check)) return false;
  if (isLeftByCondition(derived, check, node)) return true;
  return !isHandled && !onlyCompares(check) && (throwsItself(check) || isUsedWithoutDoubt(owner, names));
}

/** After `let event = JSON.parse(text); try { event = verify(text) } catch {}`, the event may be unverified. */
function hasOtherValue(owner: ts.Node, names: readonly string[], check: ts.Node): boolean {
  let isFound = false;
  walk(owner, (node) => {
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined && !isInside(check, node)) {
      const isEmpty = /^(null|undefined|false|''|"")$/.test(node.initializer.getText());
      isFound ||= !isEmpty && namesIn(node.name).some((name) => names.includes(name));
    }
    return !isFound;
  });
  return isFound;
}

/** The `if` statement whose condition contains a check. */
function ifStatementOf(check: ts.Node): ts.IfStatement | undefined {
  for (let at = check; at.parent !== undefined && !isFunction(at.parent); at = at.parent) {
    if (ts.isIfStatement(at.parent) && at.parent.expression === at) return at.parent;
    if (ts.isStatement(at.parent) || ts.isConditionalExpression(at.parent)) return undefined;
  }
  return undefined;
}

/** Recognises `check ? a : b`, `check && a` and `return check`. */
function isChoosing(check: ts.Node): boolean {
  for (let at = check; at.parent !== undefined && !isFunction(at.parent); at = at.parent) {
    const { parent } = at;
    if (ts.isConditionalExpression(parent) && parent.condition === at) return true;
    if (ts.isWhileStatement(parent) && parent.expression === at) return true;
    if (ts.isStatement(parent)) return ts.isReturnStatement(parent);
  }
  return false;
}

/**
 * Names that are set to true or false, as in `isValid = true`, so a later condition can test whether a check passed.
 */
export function flagsIn(block: ts.Node | undefined): readonly string[] {
  const flags: string[] = [];
  if (block === undefined) return flags;
  walk(block, (node) => {
    const isSet = ts.isBinaryExpression(node) && /^(true|false)$/.test(node.right.getText());
    if (isSet && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) flags.push(dottedName(node.left));
    return true;
  });
  return flags;
}

function enclosingTry(node: ts.Node): ts.TryStatement | undefined {
  for (let at = node; at.parent !== undefined && !isFunction(at); at = at.parent) {
    if (ts.isTryStatement(at.parent) && at.parent.tryBlock === at) return at.parent;
  }
  return undefined;
}

const isInBranch = (node: ts.Node, { thenStatement, elseStatement }: ts.IfStatement): boolean =>
  isInside(node, thenStatement) || (elseStatement !== undefined && isInside(node, elseStatement));

const leavesBranch = ({ thenStatement, elseStatement }: ts.IfStatement): boolean =>
  alwaysExits(thenStatement) || (elseStatement !== undefined && alwaysExits(elseStatement));

/** Comparisons that only return whether two values are equal or valid. They have no effect if the result is ignored. */
const onlyCompares = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) ||
  (ts.isCallExpression(node) &&
    (/^(timingSafeEqual|safeEqual|safeCompare|secureCompare|constantTimeEqual|tsscmp|compare|compareSync|validateRequest|validateRequestWithBody|is[A-Z]\w*)$/.test(
      methodName(node) ?? dottedName(node.expression),
    ) ||
      /(^|\.)(subtle|crypto)\.verify$/.test(dottedName(node.expression))));

/** Whether the result is ignored, or the promise is not awaited. */
function isDropped(check: ts.Expression): boolean {
  const statement = statementOf(check);
  if (!ts.isExpressionStatement(statement)) return false;
  const chained = check.parent.parent;
  const isLeftRunning =
    chained === statement.expression && ts.isCallExpression(chained) && methodName(chained) === 'then';
  if (isLeftRunning) return true;
  for (let at: ts.Node = check; at !== statement; at = at.parent) if (onlyCompares(at)) return true;
  return false;
}

/** Functions that throw if verification fails, so their result may be ignored. */
const throwsItself = (node: ts.Expression): boolean =>
  ts.isCallExpression(node) &&
  /^(jwtVerify|verify|verifyIdToken|verifySessionCookie|constructEvent|constructEventAsync|require\w+|assert\w+|ensure\w+|authenticate\w*|authorize\w*|unwrapWebhook)$/.test(
    methodName(node) ?? dottedName(node.expression),
  ) &&
  !/subtle/.test(node.expression.getText());

/** Names derived from the given names, as in `const isAdmin = me?.role === 'admin'`. */
function derivedNames(owner: ts.Node, names: readonly string[]): readonly string[] {
  const derived: string[] = [];
  walk(owner, (node) => {
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined && derived.length < 20) {
      if (mentions(node.initializer.getText(), [...names, ...derived])) derived.push(...namesIn(node.name));
    }
    return true;
  });
  return derived;
}

/** Whether a condition on one of the names encloses the node, or exits before it. */
function isLeftByCondition(names: readonly string[], after: ts.Node, node: ts.Node): boolean {
  for (let at = node; at.parent !== undefined; at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && parent.expression !== at && mentions(parent.expression.getText(), names))
      return true;
    if (ts.isConditionalExpression(parent) && parent.condition !== at && mentions(parent.condition.getText(), names))
      return true;
    if (ts.isBinaryExpression(parent) && parent.right === at && mentions(parent.left.getText(), names)) return true;
    const earlier = (statementsOf(parent) ?? []).filter((each) => each.pos >= after.pos || isInside(after, each));
    for (const statement of earlier) {
      if (statement === at) break;
      if (isLeaving(statement, names)) return true;
    }
  }
  return false;
}

function isLeaving(statement: ts.Statement, names: readonly string[]): boolean {
  if (ts.isIfStatement(statement)) {
    if (!mentions(statement.expression.getText(), names)) return false;
    return leavesBranch(statement) && !letsNobodyThrough(statement, names);
  }
  if (!ts.isExpressionStatement(statement)) return false;
  const call = unwrap(statement.expression);
  return (
    ts.isCallExpression(call) &&
    /^(assert|invariant|ok|must|assert\w+|require\w+|ensure\w+)$/.test(
      dottedName(call.expression).split('.').at(-1) ?? '',
    ) &&
    mentions(call.getText(), names)
  );
}

/** `if (user && user.role !== 'admin') return` lets callers without a user through. */
function letsNobodyThrough({ expression, elseStatement }: ts.IfStatement, names: readonly string[]): boolean {
  if (elseStatement !== undefined) return false;
  return evaluate(expression, names, false) === false && evaluate(expression, names, true) === undefined;
}

/** A condition's outcome if the names have a value (or, with false, have none). `undefined` if unknown. */
function evaluate(condition: ts.Expression, names: readonly string[], isSet: boolean): boolean | undefined {
  const node = unwrap(condition);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    const inner = evaluate(node.operand, names, isSet);
    return inner === undefined ? undefined : !inner;
  }
  if (ts.isIdentifier(node) && names.includes(node.text)) return isSet;
  if (ts.isPropertyAccessExpression(node) && names.includes(dottedName(node).split('.')[0] ?? '')) {
    return isSet ? undefined : false;
  }
  if (!ts.isBinaryExpression(node)) return undefined;
  const [left, right] = [evaluate(node.left, names, isSet), evaluate(node.right, names, isSet)];
  const { kind } = node.operatorToken;
  if (kind === ts.SyntaxKind.AmpersandAmpersandToken) {
    return left === false || right === false ? false : left === undefined || right === undefined ? undefined : true;
  }
  if (kind !== ts.SyntaxKind.BarBarToken) return undefined;
  return left === true || right === true ? true : left === undefined || right === undefined ? undefined : false;
}

/** Whether a check's outcome has any effect: either the check throws, or its result is used. */
export function isResultUsed(node: ts.Expression): boolean {
  const condition = ifStatementOf(node);
  if (condition !== undefined) return !onlyLogs(condition);
  if (isChoosing(node)) return true;
  const handled = isErrorHandled(node);
  const statement = statementOf(node);
  if (ts.isReturnStatement(statement) || !ts.isStatement(statement)) return true;
  const names = assignedNames(node);
  if (names.length === 0) return !handled && !isDropped(node);
  const owner = enclosing(statement);
  if (isTested(owner, [...names, ...derivedNames(owner, names)], statement)) return true;
  return !handled && !onlyCompares(node) && (throwsItself(node) || isUsedWithoutDoubt(owner, names));
}

/** Whether both branches only write to the log. */
function onlyLogs({ thenStatement, elseStatement }: ts.IfStatement): boolean {
  const isLog = (node: ts.Statement): boolean =>
    ts.isBlock(node)
      ? node.statements.every(isLog)
      : ts.isExpressionStatement(node) && isLogCall(unwrap(node.expression));
  return isLog(thenStatement) && (elseStatement === undefined || isLog(elseStatement));
}

const isLogCall = (node: ts.Node): boolean =>
  ts.isCallExpression(node) && /(^|\.)(console|log|logger)(\.\w+)?$/.test(dottedName(node.expression));

/** True for `.catch(() => null)` and for a `catch` block that continues. False if `reached` is in the same `try`. */
function isErrorHandled(node: ts.Expression, reached?: ts.Node): boolean {
  for (let at: ts.Node = node; at.parent !== undefined && !ts.isStatement(at); at = at.parent) {
    const call = at.parent.parent;
    if (ts.isPropertyAccessExpression(at.parent) && at.parent.name.text === 'catch' && ts.isCallExpression(call))
      return true;
  }
  for (let at: ts.Node = node; at.parent !== undefined && !isFunction(at); at = at.parent) {
    const { parent } = at;
    if (ts.isTryStatement(parent) && parent.tryBlock === at && parent.catchClause !== undefined) {
      if (reached !== undefined && isInside(reached, at)) return false;
      return !leavesBlock(parent.catchClause.block);
    }
  }
  return false;
}

/** A block that exits, or responds with an error status, does not continue with the request. */
const leavesBlock = (block: ts.Block): boolean =>
  alwaysExits(block) ||
  /\b(status|sendStatus|writeHead)\(\s*(4\d\d|5\d\d)|\bnext\(|=\s*(null|undefined|false)\b/.test(block.getText());

export function isInCondition(node: ts.Node): boolean {
  for (let at = node; at.parent !== undefined && !isFunction(at.parent); at = at.parent) {
    const { parent } = at;
    if ((ts.isIfStatement(parent) || ts.isWhileStatement(parent)) && parent.expression === at) return true;
    if (ts.isConditionalExpression(parent) && parent.condition === at) return true;
    if (ts.isPrefixUnaryExpression(parent) && parent.operator === ts.SyntaxKind.ExclamationToken) return true;
    if (ts.isStatement(parent)) return ts.isReturnStatement(parent);
  }
  return false;
}

function assignedNames(node: ts.Node): readonly string[] {
  for (let at = node; at.parent !== undefined && !ts.isStatement(at); at = at.parent) {
    const { parent } = at;
    if (ts.isVariableDeclaration(parent) && parent.initializer === at) return namesIn(parent.name);
    if (ts.isBinaryExpression(parent) && parent.right === at && /^(\?\?|\|\|)?=$/.test(parent.operatorToken.getText()))
      return [dottedName(parent.left)];
  }
  return [];
}

function namesIn(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? namesIn(element.name) : []));
}

function enclosing(node: ts.Node): ts.Node {
  for (let at = node.parent; at !== undefined; at = at.parent) if (isFunction(at)) return at;
  return node.getSourceFile();
}

const mentions = (text: string, names: readonly string[]): boolean =>
  names.some((name) => new RegExp(`(?<![\\w$.])${name.replace(/[.$]/g, '\\$&')}(?![\\w$])`).test(text));

/** Whether a condition after the check mentions its result. */
function isTested(owner: ts.Node, names: readonly string[], after: ts.Node): boolean {
  let isFound = false;
  walk(owner, (node) => {
    if (isFound || node.getEnd() < after.getStart()) return !isFound;
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      isFound = mentions(condition.getText(), names) && !(ts.isIfStatement(node) && onlyLogs(node));
    } else if (ts.isBinaryExpression(node) && /^(&&|\|\|)$/.test(node.operatorToken.getText())) {
      isFound = mentions(node.left.getText(), names);
    } else if (ts.isSwitchStatement(node)) isFound = mentions(node.expression.getText(), names);
    else if (ts.isCallExpression(node) && /^(assert|invariant|ok|must)$/.test(dottedName(node.expression))) {
      isFound = mentions(node.getText(), names);
    }
    return !isFound;
  });
  return isFound;
}

/** `user.id` throws if there is no user, but `user?.id` does not. Conditions and log calls do not count as uses. */
function isUsedWithoutDoubt(owner: ts.Node, names: readonly string[]): boolean {
  let isFound = false;
  walk(owner, (node) => {
    if (isFound || isLogCall(node) || isCondition(node)) return false;
    if (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) {
      isFound = names.includes(dottedName(node)) && isUse(node);
    }
    return !isFound;
  });
  return isFound;
}

const isCondition = (node: ts.Node): boolean =>
  (ts.isIfStatement(node.parent) && node.parent.expression === node) ||
  (ts.isConditionalExpression(node.parent) && node.parent.condition === node);

function isUse(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node && parent.questionDotToken === undefined;
  if (ts.isVariableDeclaration(parent) || ts.isBindingElement(parent) || ts.isParameter(parent)) return false;
  if (ts.isBinaryExpression(parent) && parent.left === node) return false;
  if (ts.isIfStatement(parent) || ts.isPrefixUnaryExpression(parent)) return false;
  return !(ts.isPropertyAssignment(parent) && parent.name === node);
}
