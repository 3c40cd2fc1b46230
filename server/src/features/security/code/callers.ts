// Decides whether a function verifies its caller: which code counts as a check, and which code only looks like one.
import ts from 'typescript';
import { isComparedSecret, isDigesting, isGivenUser, isLookup, takesApart } from './credentials.ts';
import type { Flow } from './flow.ts';
import type { Handler } from './handlers.ts';
import { decides, flagsIn, isInCondition, isResultUsed } from './outcomes.ts';
import { constantInitialiserOf, declarationOf, findCallees, findFunctions } from './program.ts';
import {
  alwaysExits,
  dottedName,
  type FunctionNode,
  isFunction,
  isInside,
  methodName,
  propertyOf,
  statementOf,
  unwrap,
  walk,
} from './syntax.ts';

/** Whether the caller is verified at a node, by a step before the handler or by a check before the node. */
export function isCallerChecked(flow: Flow, handler: Handler, at: ts.Node): boolean {
  if (handler.before.some((step) => isCheckingStep(flow, step)) || isSignIn(handler.fn)) return true;
  return isCheckedAt(flow, handler.fn, at);
}

const isCheckedAt = (flow: Flow, fn: FunctionNode, at: ts.Node): boolean =>
  checksIn(flow, fn).some((check) => precedes(check, at) && decides(check, at));

const passwordCalls =
  /^(compare|compareSync|verifyPassword|checkPassword|comparePassword|signInWithPassword|signUp|hashPassword|hash|hashSync)$/;

/** Sign-in and sign-up accept unknown callers, because they verify the password instead. */
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

/** The expressions that check the caller, in a function and in functions nested inside it. */
function checksIn(flow: Flow, fn: FunctionNode): readonly ts.Expression[] {
  const checks: ts.Expression[] = [];
  walk(fn, (node) => {
    if (isCheck(flow, node, new Set([fn]), 0)) checks.push(node as ts.Expression);
    return checks.length < 50;
  });
  return checks;
}

/** Whether a check always runs before a node, on every path that reaches the node. */
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
  // Both are in the same `if` statement, and the condition runs before the branches.
  return !(ts.isIfStatement(at.parent ?? at) && !isConditionOf(at)) || isInside(node, at);
}

/** Arguments are evaluated before the call, but the bodies of functions that are passed as arguments are not. */
function isArgumentOf(check: ts.Node, node: ts.Node): boolean {
  for (let at = check; at !== node; at = at.parent) if (isFunction(at)) return false;
  return true;
}

const isConditionOf = (node: ts.Node): boolean => ts.isIfStatement(node.parent) && node.parent.expression === node;

/** A function that is passed to a call, such as `run(async () => …)`, is assumed to run there. */
const isCalledHere = (fn: ts.Node): boolean =>
  ts.isCallExpression(fn.parent) || ts.isParenthesizedExpression(fn.parent);

/**
 * Whether a part of a condition was evaluated, given that the condition is met (or, with false, not met). In `a || b`,
 * `b` was evaluated if the condition is not met. In `a && b` it may not have been.
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

const checkingNames =
  /auth(?!or)|jwt|session|user|admin|guard|protect|signed|signature|verif|secret|passport|clerk|login|token|apikey|api_key|owner|staff|role|permission|member|caller|identity/i;

/**
 * A step is a function on the route or router, or a function that wraps the handler. Package functions are recognised
 * only by name.
 */
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

/** A function that passes the request on, through `next()` or a function it received, must check the caller first. */
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

/** Whether a function, or one that it calls, checks the request's sender. */
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

/** An async call in `if (!isSigned(text))` checks nothing, because a promise is always truthy. */
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
    // A function that only returns whether the caller is allowed checks nothing if its result is ignored.
    const isUnread = ts.isExpressionStatement(statementOf(call)) && !isInCondition(call);
    const isChecking = callees.some((fn) => hasCheck(flow, fn, seen, depth + 1) && (!isUnread || leaves(fn)));
    return isChecking || (isLookup(flow, call) && callees.some(looksUp));
  }
  const name = methodName(call) ?? dottedName(call.expression);
  if (name === 'retrieve' && call.arguments.length > 0) return true;
  if (checkingCalls.test(name) && !notChecking.test(name) && !isOfResponse(call)) return true;
  if (asksAboutCaller.test(name) && call.arguments.some((arg) => isRequest(flow, arg))) return true;
  // The provider is asked to verify the event.
  if (/(^|\.)fetch$|^axios/.test(dottedName(call.expression)) && /['"`][^'"`]*verify[^'"`]*['"`]/.test(call.getText()))
    return true;
  if (/mollie/i.test(dottedName(call.expression)) && name === 'get') return true;
  return isLookup(flow, call);
}

/**
 * Names of functions outside the app's code that identify or authorise the caller, such as `sessionOf(request)` and
 * `mayEdit(request)`.
 */
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

/** `semver.compare`, `collator.compare` and similar functions do not check the caller. */
const isOfResponse = (call: ts.CallExpression): boolean =>
  /(semver|collator|localeCompare|Intl)/i.test(call.expression.getText());

/** Whether a function throws or responds by itself, so its result may be ignored. */
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

/** Whether a function does more than split or hash its arguments. */
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
