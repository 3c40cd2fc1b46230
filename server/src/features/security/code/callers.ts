// Owns whether a function checks who calls it: what counts as a check, and what only looks like one.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import type { Handler } from './handlers.ts';
import { constantInitialiserOf, declarationOf, findCallees, findFunctions } from './program.ts';
import {
  alwaysExits,
  dottedName,
  type FunctionNode,
  isFunction,
  isInside,
  methodName,
  propertyOf,
  receiverOf,
  returnsOf,
  statementOf,
  statementsOf,
  textOf,
  unwrap,
  walk,
} from './syntax.ts';

/** Whether the caller is known at a node of a handler: what runs before the handler checks it, or a check comes before the node. */
export function isCallerChecked(flow: Flow, handler: Handler, at: ts.Node): boolean {
  if (handler.before.some((step) => isCheckingStep(flow, step)) || isSignIn(handler.fn)) return true;
  return isCheckedAt(flow, handler.fn, at);
}

const isCheckedAt = (flow: Flow, fn: FunctionNode, at: ts.Node): boolean =>
  checksIn(flow, fn).some((check) => precedes(check, at) && decides(check, at));

const passwordCalls =
  /^(compare|compareSync|verifyPassword|checkPassword|comparePassword|signInWithPassword|signUp|hashPassword|hash|hashSync)$/;

/** Signing in and signing up are for callers who are not known yet: the password decides. */
function isSignIn(fn: FunctionNode): boolean {
  let isFound = false;
  walk(fn, (node) => {
    if (!ts.isCallExpression(node)) return !isFound;
    const name = methodName(node) ?? dottedName(node.expression);
    isFound ||= passwordCalls.test(name) && /passw|pwd/i.test(node.getText()) && isResultUsed(node);
    return !isFound;
  });
  return isFound;
}

/** The places in a function, and in functions inside it, that check the caller. */
function checksIn(flow: Flow, fn: FunctionNode): readonly ts.Expression[] {
  const checks: ts.Expression[] = [];
  walk(fn, (node) => {
    if (isCheck(flow, node, new Set([fn]), 0)) checks.push(node as ts.Expression);
    return checks.length < 50;
  });
  return checks;
}

/** Whether a check always runs before a node: no branch that the node is not in leads to it. */
function precedes(check: ts.Node, node: ts.Node): boolean {
  if (isInside(check, node)) return isArgumentOf(check, node);
  if (check.getEnd() > node.getStart() && !isInside(node, check)) return false;
  let at: ts.Node = check;
  for (; at.parent !== undefined && !isInside(node, at.parent); at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && parent.expression !== at) {
      const other = parent.thenStatement === at ? parent.elseStatement : parent.thenStatement;
      if (other === undefined || !alwaysExits(other)) return false;
    } else if (ts.isIfStatement(parent)) {
      if (!isAlwaysEvaluated(parent.expression, check, !alwaysExits(parent.thenStatement))) return false;
    } else if (ts.isConditionalExpression(parent) && parent.condition !== at) return false;
    else if (ts.isCaseOrDefaultClause(parent) || ts.isCatchClause(parent)) return false;
    else if (ts.isIterationStatement(parent, false) && flagsIn(parent).length === 0) return false;
    else if (isFunction(parent) && !isCalledHere(parent)) return false;
  }
  // Both are in one branching statement: the condition comes before its branches.
  return !(ts.isIfStatement(at.parent ?? at) && !isConditionOf(at)) || isInside(node, at);
}

/** What is passed to a call runs before it, but not what is in a function that is passed. */
function isArgumentOf(check: ts.Node, node: ts.Node): boolean {
  for (let at = check; at !== node; at = at.parent) if (isFunction(at)) return false;
  return true;
}

const isConditionOf = (node: ts.Node): boolean => ts.isIfStatement(node.parent) && node.parent.expression === node;

/** A function that is passed to a call, such as `run(async () => …)`, runs there. */
const isCalledHere = (fn: ts.Node): boolean =>
  ts.isCallExpression(fn.parent) || ts.isParenthesizedExpression(fn.parent);

/**
 * Whether a part of a condition was evaluated if the condition is met (or, with false, is not): `b` in `a || b` if it is not met, but
 * not `b` in `a && b`.
 */
function isAlwaysEvaluated(condition: ts.Expression, part: ts.Node, isMet: boolean): boolean {
  const node = unwrap(condition);
  if (!isInside(part, node)) return true;
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    return isAlwaysEvaluated(node.operand, part, !isMet);
  }
  if (!ts.isBinaryExpression(node)) return true;
  const { kind } = node.operatorToken;
  const isAnd = kind === ts.SyntaxKind.AmpersandAmpersandToken;
  if (!isAnd && kind !== ts.SyntaxKind.BarBarToken) return true;
  const isRight = isInside(part, node.right);
  if (isRight && isAnd !== isMet) return false;
  return isAlwaysEvaluated(isRight ? node.right : node.left, part, isMet);
}

/** Whether the outcome of a check decides if a node is reached: it throws, or a condition before the node looks at its result. */
function decides(check: ts.Expression, node: ts.Node): boolean {
  if (check === node) return true; // what it does depends on the credential that it is passed
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

/** `let event = JSON.parse(text); try { event = verify(text) } catch {}`: what was not verified is used instead. */
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

/** The `if` whose condition a check is part of. */
function ifStatementOf(check: ts.Node): ts.IfStatement | undefined {
  for (let at = check; at.parent !== undefined && !isFunction(at.parent); at = at.parent) {
    if (ts.isIfStatement(at.parent) && at.parent.expression === at) return at.parent;
    if (ts.isStatement(at.parent) || ts.isConditionalExpression(at.parent)) return undefined;
  }
  return undefined;
}

/** `check ? a : b`, `check && a`, `return check` */
function isChoosing(check: ts.Node): boolean {
  for (let at = check; at.parent !== undefined && !isFunction(at.parent); at = at.parent) {
    const { parent } = at;
    if (ts.isConditionalExpression(parent) && parent.condition === at) return true;
    if (ts.isWhileStatement(parent) && parent.expression === at) return true;
    if (ts.isStatement(parent)) return ts.isReturnStatement(parent);
  }
  return false;
}

/** `isValid = true`: names by which a later condition knows that a check was passed. */
function flagsIn(block: ts.Node | undefined): readonly string[] {
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

/** Functions that return whether two values are equal, or valid: nothing happens if nobody looks at the result. */
const onlyCompares = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) ||
  (ts.isCallExpression(node) &&
    (/^(timingSafeEqual|safeEqual|safeCompare|secureCompare|constantTimeEqual|tsscmp|compare|compareSync|validateRequest|validateRequestWithBody|is[A-Z]\w*)$/.test(
      methodName(node) ?? dottedName(node.expression),
    ) ||
      /(^|\.)(subtle|crypto)\.verify$/.test(dottedName(node.expression))));

/** A result that nobody looks at, or a promise that nobody waits for. */
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

/** Functions that throw if what they verify is wrong, so that nobody needs to look at their result. */
const throwsItself = (node: ts.Expression): boolean =>
  ts.isCallExpression(node) &&
  /^(jwtVerify|verify|verifyIdToken|verifySessionCookie|constructEvent|constructEventAsync|require\w+|assert\w+|ensure\w+|authenticate\w*|authorize\w*|unwrapWebhook)$/.test(
    methodName(node) ?? dottedName(node.expression),
  ) &&
  !/subtle/.test(node.expression.getText());

/** `const isAdmin = me?.role === 'admin'` */
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

/** A condition on one of the names that the node is in, or that leaves before it. */
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

/** `if (user && user.role !== 'admin') return`: without a user it is not met. */
function letsNobodyThrough({ expression, elseStatement }: ts.IfStatement, names: readonly string[]): boolean {
  if (elseStatement !== undefined) return false;
  return evaluate(expression, names, false) === false && evaluate(expression, names, true) === undefined;
}

/** The outcome of a condition if the names have a value (or, with false, have none). Undefined: it depends on more. */
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

const checkingNames =
  /auth(?!or)|jwt|session|user|admin|guard|protect|signed|signature|verif|secret|passport|clerk|login|token|apikey|api_key|owner|staff|role|permission|member|caller|identity/i;

/** A function of a route or router, or one around the handler. Those of packages are known by their names only. */
function isCheckingStep(flow: Flow, step: ts.Expression): boolean {
  const node = unwrap(step);
  if (ts.isArrayLiteralExpression(node)) return node.elements.some((each) => isCheckingStep(flow, each));
  if (ts.isObjectLiteralExpression(node)) {
    const hooks = ['preHandler', 'onRequest', 'preValidation', 'beforeHandle', 'middleware'];
    return hooks.some((name) => {
      const hook = propertyOf(node, name);
      return hook !== undefined && isCheckingStep(flow, hook);
    });
  }
  const own = findFunctions(flow.program, ts.isCallExpression(node) ? node.expression : node);
  if (own.length > 0) return own.some((fn) => isCheckingFunction(flow, fn));
  const initialiser = constantInitialiserOf(flow.program, node);
  if (initialiser !== undefined && ts.isCallExpression(initialiser)) return isCheckingStep(flow, initialiser);
  return checkingNames.test(dottedName(ts.isCallExpression(node) ? node.expression : node));
}

/** A function that goes on with the request, by `next()` or by a function that it was passed, must check the caller before. */
function isCheckingFunction(flow: Flow, fn: FunctionNode): boolean {
  const onward = onwardCalls(fn);
  if (onward.length === 0) return hasCheck(flow, fn, new Set(), 0);
  return onward.some((call) => isCheckedAt(flow, fn, call));
}

function onwardCalls(fn: FunctionNode): readonly ts.CallExpression[] {
  const passed = new Set(fn.parameters.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : [])));
  const calls: ts.CallExpression[] = [];
  walk(fn, (node) => {
    if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return true;
    const { text } = node.expression;
    if ((text === 'next' && node.arguments.length === 0) || (text !== 'next' && passed.has(text))) calls.push(node);
    return true;
  });
  return calls;
}

const maxDepth = 5;

/** Whether a function, or one that it calls, checks who sent the request. */
function hasCheck(flow: Flow, fn: FunctionNode, seen: Set<FunctionNode>, depth: number): boolean {
  if (seen.has(fn) || depth > maxDepth) return false;
  seen.add(fn);
  let isFound = false;
  walk(fn, (node) => {
    isFound ||= isCheck(flow, node, seen, depth) && isResultUsed(node as ts.Expression);
    return !isFound;
  });
  return isFound;
}

function isCheck(flow: Flow, node: ts.Node, seen: Set<FunctionNode>, depth: number): boolean {
  if (ts.isCallExpression(node)) return !isPromiseAsResult(flow, node) && isCheckingCall(flow, node, seen, depth);
  if (ts.isBinaryExpression(node)) return isComparedSecret(flow, node);
  if (ts.isTaggedTemplateExpression(node)) return isLookup(flow, node);
  return ts.isPropertyAccessExpression(node) && isGivenUser(node);
}

/** `if (!isSigned(text))` with an async function: a promise is always true. */
function isPromiseAsResult(flow: Flow, call: ts.CallExpression): boolean {
  let at: ts.Node = call;
  while (ts.isParenthesizedExpression(at.parent)) at = at.parent;
  const { parent } = at;
  const isTruth =
    (ts.isPrefixUnaryExpression(parent) && parent.operator === ts.SyntaxKind.ExclamationToken) ||
    (ts.isIfStatement(parent) && parent.expression === at) ||
    (ts.isConditionalExpression(parent) && parent.condition === at);
  if (!isTruth) return false;
  if (/(^|\.)(subtle\.verify|bcrypt\.compare)$/.test(dottedName(call.expression))) return true;
  const callees = findCallees(flow.program, call);
  return callees.length > 0 && callees.every(isAsync);
}

const isAsync = (fn: FunctionNode): boolean =>
  ts.canHaveModifiers(fn) && ts.getModifiers(fn)?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true;

const checkingCalls =
  /^(me|getUser|getSession|getServerSession|currentUser|getCurrentUser|jwtVerify|verifyIdToken|verifySessionCookie|verify\w*|authenticate\w*|authorize\w*|require(Auth|User|Admin|Session|Role|SignedIn|Login|Caller|Owner|Member|Agent)\w*|ensure(Auth|User|Admin|Session|Role|SignedIn)\w*|assert(Auth|User|Admin|Session|Role|SignedIn|Caller)\w*|check(Auth|User|Admin|Session|Role|Token|Api|Key|Signature|Secret)\w*|is(Auth|Admin|SignedIn|Valid(Token|Signature|Request|Session))\w*|validate(Session|Token|Api|Request|Signature|Key|Webhook|User|Event)\w*|getAuth|auth|timingSafeEqual|safeEqual|secureCompare|constantTimeEqual|construct(Webhook)?Event\w*|signInWithPassword|signInWithIdToken|compare|compareSync|unsealData|getIronSession|introspect\w*|getToken|protect|exchangeCodeForSession|unwrapWebhook|unmarshal|tsscmp|safeCompare)$/;
const notChecking = /^(verifyEmailAddress|verifyEmail|authorizeUrl|verifyDomain|authorizationUrl)$/;

function isCheckingCall(flow: Flow, call: ts.CallExpression, seen: Set<FunctionNode>, depth: number): boolean {
  const callees = findCallees(flow.program, call);
  if (callees.length > 0) {
    // A function that only returns whether the caller may, and whose answer nobody looks at, checks nothing.
    const isUnread = ts.isExpressionStatement(statementOf(call)) && !isInCondition(call);
    const isChecking = callees.some((fn) => hasCheck(flow, fn, seen, depth + 1) && (!isUnread || leaves(fn)));
    return isChecking || (isLookup(flow, call) && callees.some(looksUp));
  }
  const name = methodName(call) ?? dottedName(call.expression);
  if (name === 'retrieve' && call.arguments.length > 0) return true;
  if (checkingCalls.test(name) && !notChecking.test(name) && !isOfResponse(call)) return true;
  if (asksAboutCaller.test(name) && call.arguments.some((arg) => isRequest(flow, arg))) return true;
  // The provider is asked whether the event is its own.
  if (/(^|\.)fetch$|^axios/.test(dottedName(call.expression)) && /['"`][^'"`]*verify[^'"`]*['"`]/.test(call.getText()))
    return true;
  if (/mollie/i.test(dottedName(call.expression)) && name === 'get') return true;
  return isLookup(flow, call);
}

/** Names of functions whose code is not part of the app: `sessionOf(request)`, `mayEdit(request)`. */
const asksAboutCaller =
  /auth(?!or)|session|viewer|identity|caller|signedIn|permission|whoami|^(may|can|has|is)[A-Z]|(current|load|resolve|read|find|fetch|get)User/i;

/** Whether an expression is the request itself, its headers or its cookies. */
function isRequest(flow: Flow, node: ts.Expression): boolean {
  const bare = unwrap(node);
  if (ts.isPropertyAccessExpression(bare)) {
    return /^(headers|cookies|raw|req|request)$/.test(bare.name.text) && isRequest(flow, bare.expression);
  }
  const parameter = ts.isIdentifier(bare) ? declarationOf(flow.program, bare)?.parameter : undefined;
  return parameter?.index === 0 && flow.handlers.has(parameter.fn);
}

/** `assert.equal`, `semver.compare`, `collator.compare` compare other things. */
const isOfResponse = (call: ts.CallExpression): boolean =>
  /(semver|collator|localeCompare|Intl)/i.test(call.expression.getText());

/** Whether a function throws or answers by itself, so that its result need not be looked at. */
function leaves(fn: FunctionNode): boolean {
  let isFound = false;
  walk(fn, (node) => {
    isFound ||=
      ts.isThrowStatement(node) ||
      (ts.isCallExpression(node) &&
        /^(next|status|sendStatus|jwtVerify|me)$/.test(methodName(node) ?? dottedName(node.expression)));
    return !isFound;
  });
  return isFound;
}

/** Whether a function does more with what it is passed than to take it apart. */
function looksUp(fn: FunctionNode): boolean {
  let isFound = false;
  walk(fn, (node) => {
    const isQuery =
      ts.isTaggedTemplateExpression(node) || (ts.isCallExpression(node) && !takesApart(node) && !isDigesting(node));
    isFound ||= isQuery;
    return !isFound;
  });
  return isFound;
}

const isDigesting = (call: ts.CallExpression): boolean =>
  /^(createHmac|createHash|update|digest|sign|hmac|importKey|timingSafeEqual)$/.test(
    methodName(call) ?? dottedName(call.expression),
  );

/** Whether the outcome of a check decides anything: it throws, or its result is looked at. */
function isResultUsed(node: ts.Expression): boolean {
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

/** `.catch(() => null)`, or a `catch` that goes on to what `reached` is: not if that is in the same `try`. */
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

/** A block that leaves, or answers with a status, does not go on with the request. */
const leavesBlock = (block: ts.Block): boolean =>
  alwaysExits(block) ||
  /\b(status|sendStatus|writeHead)\(\s*(4\d\d|5\d\d)|\bnext\(|=\s*(null|undefined|false)\b/.test(block.getText());

function isInCondition(node: ts.Node): boolean {
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

/** `user.id` throws if there is no user; `user?.id` does not. A condition and the log only look at it. */
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

const credentialNames =
  /authorization|digest|hmac|cookie|api-?key|token|secret|session|signature|x-.*-(key|auth|hmac)|password|x-cron|bearer/i;

/** A header or cookie by which callers prove who they are. */
function isCredentialRead(node: ts.Node): boolean {
  if (ts.isCallExpression(node)) {
    const name = methodName(node) ?? dottedName(node.expression);
    const key = node.arguments.map((arg) => textOf(arg)).find((text) => text !== undefined);
    if (/\benv\b|secrets/i.test(node.expression.getText())) return false;
    return /^(get|header|getCookie|getSignedCookie|getHeader|cookie)$/.test(name) && key !== undefined
      ? credentialNames.test(key) || /cookie/i.test(name)
      : false;
  }
  if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) {
    const name = dottedName(node);
    return (
      /(headers?|cookies|signedCookies)\./i.test(name) &&
      (credentialNames.test(name.split('.').at(-1) ?? '') || /cookies/i.test(name))
    );
  }
  return false;
}

/** Whether an expression is, or is made from, such a header or cookie. */
function isCredential(flow: Flow, node: ts.Node, depth = 0): boolean {
  if (depth > 5) return false;
  let isFound = false;
  walk(node, (each) => {
    if (isFound || isFunction(each) || isDecoding(each)) return false;
    if (isCredentialRead(each)) isFound = true;
    else if (ts.isCallExpression(each) && !keepsCredential(flow, each)) return false;
    else if (ts.isIdentifier(each) && !isPropertyName(each)) {
      const declaration = declarationOf(flow.program, each);
      isFound =
        declaration?.definitions.some(({ value }) => !isInside(each, value) && isCredential(flow, value, depth + 1)) ===
        true;
    }
    return !isFound;
  });
  return isFound;
}

/** What a function makes of a credential is another value, unless it takes the credential apart or hashes it. */
const keepsCredential = (flow: Flow, call: ts.CallExpression): boolean =>
  takesApart(call) ||
  isDigesting(call) ||
  /hash|sha\d|digest|sign|cookie|header|token|session|bearer/i.test(dottedName(call.expression)) ||
  findCallees(flow.program, call).length > 0;

/** What a token says of itself is no proof. */
const isDecoding = (node: ts.Node): boolean =>
  ts.isCallExpression(node) &&
  /^(decode\w*|jwtDecode|jwt_decode|decodeJwt|atob|parse)$/.test(methodName(node) ?? dottedName(node.expression));

const isPropertyName = (node: ts.Identifier): boolean =>
  ts.isPropertyAccessExpression(node.parent) && node.parent.name === node;

/** Functions that only take a credential apart, pass it on or write it down. */
const apart =
  /^(split|replace|replaceAll|slice|substring|startsWith|endsWith|includes|trim|match|exec|test|toLowerCase|parse|atob|from|decode\w*|jwtDecode|jwt_decode|decodeJwt|createClient\w*|createServerClient|log|info|warn|error|debug|String|Boolean|encode|set|append|indexOf|at|json|push|stringify|find|get|has|JSON|toString|send|status|text|header|getCookie|map|filter|some|Headers|next|then|catch|\w+To(Bytes|Buffer|ArrayBuffer|Uint8Array)|to(Bytes|Buffer)|from(Hex|Base64)|alloc)$/;

const takesApart = (call: ts.CallExpression): boolean =>
  apart.test(methodName(call) ?? dottedName(call.expression)) || /^console\./.test(dottedName(call.expression));

/** Whether a credential is looked up or verified: `sessions.find({ token })`, sql`… where id = ${token}`. */
function isLookup(flow: Flow, node: ts.CallExpression | ts.TaggedTemplateExpression): boolean {
  if (ts.isTaggedTemplateExpression(node)) {
    const spans = ts.isTemplateExpression(node.template) ? node.template.templateSpans : [];
    return spans.some(({ expression }) => isCredential(flow, expression));
  }
  if (isCredentialRead(node)) return false;
  const receiver = receiverOf(node);
  if (receiver !== undefined && isDigest(flow, receiver)) return false; // a part of a signature is no signature
  const isQuery = /^(get|find|has|includes)$/.test(methodName(node) ?? '') && !isOfRequest(node);
  if (takesApart(node) && !isQuery) return false;
  return node.arguments.some((arg) => !isFunction(unwrap(arg)) && isCredential(flow, arg));
}

const isOfRequest = (call: ts.CallExpression): boolean =>
  /headers|cookies|\breq\b|request/i.test(receiverOf(call)?.getText() ?? '');

/** `header !== Deno.env.get('KEY')`, `digest === signature` */
function isComparedSecret(flow: Flow, node: ts.BinaryExpression): boolean {
  if (!/^[!=]==?$/.test(node.operatorToken.getText())) return false;
  const isOwnSecret = (side: ts.Expression) =>
    flow.originsOf(side).some(({ label }) => label === 'secret') || isDigest(flow, side);
  const isSent = (side: ts.Expression) =>
    isCredential(flow, side) || flow.originsOf(side).some(({ label }) => label === 'request' || label === 'parameter');
  const { left, right } = node;
  return (isOwnSecret(left) && isSent(right)) || (isOwnSecret(right) && isSent(left));
}

/** A signature that the app computes itself. */
function isDigest(flow: Flow, node: ts.Node, depth = 0): boolean {
  if (depth > 5) return false;
  let isFound = false;
  walk(node, (each) => {
    if (isFound || isLength(each) || isCredentialRead(each)) return false;
    if (ts.isCallExpression(each)) {
      isFound =
        /hmac|(^|\.)sign$/i.test(dottedName(each.expression)) ||
        findCallees(flow.program, each).some((fn) => returnsOf(fn).some((value) => isDigest(flow, value, depth + 1)));
    } else if (ts.isIdentifier(each) && !isPropertyName(each)) {
      const { definitions = [], parameter } = declarationOf(flow.program, each) ?? {};
      const list = parameter?.index === 0 ? listOf(parameter.fn) : undefined;
      const values = [...definitions.map(({ value }) => value), ...(list === undefined ? [] : [list])];
      isFound = values.some((value) => !isInside(each, value) && isDigest(flow, value, depth + 1));
    }
    return !isFound;
  });
  return isFound;
}

/** `list` of `list.some((one) => …)` */
const listOf = ({ parent }: FunctionNode): ts.Expression | undefined =>
  ts.isCallExpression(parent) && /^(some|every|find|filter)$/.test(methodName(parent) ?? '')
    ? receiverOf(parent)
    : undefined;

const isLength = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) && /^(length|byteLength)$/.test(node.name.text);

/** A user that the platform or an earlier step has put into the request. */
function isGivenUser(node: ts.PropertyAccessExpression): boolean {
  const isUser =
    /(^|\.)(req|request|ctx|context|event|c|locals|state|clientContext|requestContext)\.(user|auth|session|userId|authorizer|identity)$/.test(
      dottedName(node),
    );
  if (!isUser) return false;
  const { parent } = node;
  // `authorizer.claims` throws if the platform has put none there.
  const isRequired =
    ts.isPropertyAccessExpression(parent) && parent.expression === node && parent.questionDotToken === undefined;
  return isRequired || isInCondition(node);
}
