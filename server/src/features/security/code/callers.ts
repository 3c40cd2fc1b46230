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
  receiverOf,
  statementOf,
  statementsOf,
  textOf,
  unwrap,
  walk,
} from './syntax.ts';

/** Whether the caller is known at a node of a handler: what runs before the handler checks it, or a check comes before the node. */
export function isCallerChecked(flow: Flow, handler: Handler, at: ts.Node): boolean {
  if (handler.before.some((step) => isCheckingStep(flow, step)) || isSignIn(handler.fn)) return true;
  return checksIn(flow, handler.fn).some((check) => precedes(check, at) && decides(check, at));
}

const passwordCalls =
  /^(compare|compareSync|verifyPassword|checkPassword|comparePassword|signInWithPassword|signUp|hashPassword|hash|hashSync)$/;

/** Signing in and signing up are for callers who are not known yet: the password decides. */
function isSignIn(fn: FunctionNode): boolean {
  let isFound = false;
  walk(fn, (node) => {
    if (!ts.isCallExpression(node)) return !isFound;
    const name = methodName(node) ?? dottedName(node.expression);
    isFound ||= passwordCalls.test(name) && /passw|pwd/i.test(node.getText());
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
  if (check.getEnd() > node.getStart() && !isInside(node, check)) return false;
  let at: ts.Node = check;
  for (; at.parent !== undefined && !isInside(node, at.parent); at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && parent.expression !== at) return false;
    if (ts.isIfStatement(parent)) {
      if (!isAlwaysEvaluated(parent.expression, check, !alwaysExits(parent.thenStatement))) return false;
    } else if (ts.isConditionalExpression(parent) && parent.condition !== at) return false;
    else if (ts.isCaseOrDefaultClause(parent) || ts.isCatchClause(parent)) return false;
    else if (ts.isIterationStatement(parent, false)) return false;
    else if (isFunction(parent) && !isCalledHere(parent)) return false;
  }
  // Both are in one branching statement: the condition comes before its branches.
  return !(ts.isIfStatement(at.parent ?? at) && !isConditionOf(at)) || isInside(node, at);
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
  if (isInCondition(check)) return true;
  const names = assignedNames(check);
  const isHandled = isErrorHandled(check);
  if (names.length === 0) return !isHandled;
  const owner = enclosing(check);
  const derived = [...names, ...derivedNames(owner, names)];
  if (isLeftByCondition(derived, check, node)) return true;
  return !isHandled && (throwsItself(check) || isUsedWithoutDoubt(owner, names));
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
    const { thenStatement, elseStatement } = statement;
    return leavesStatement(thenStatement) || (elseStatement !== undefined && leavesStatement(elseStatement));
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

const leavesStatement = (node: ts.Statement): boolean => alwaysExits(node) || (ts.isBlock(node) && leavesBlock(node));

const checkingNames =
  /auth(?!or)|jwt|session|user|admin|guard|protect|signed|signature|verif|secret|passport|clerk|login|token|apikey|api_key|owner|staff|role|permission|member|caller|identity/i;

/** A function of a route or router, or one around the handler. Those of packages are known by their names only. */
function isCheckingStep(flow: Flow, step: ts.Expression): boolean {
  const node = unwrap(step);
  if (ts.isArrayLiteralExpression(node)) return node.elements.some((each) => isCheckingStep(flow, each));
  const own = findFunctions(flow.program, ts.isCallExpression(node) ? node.expression : node);
  if (own.length > 0) return own.some((fn) => hasCheck(flow, fn, new Set(), 0));
  const initialiser = constantInitialiserOf(flow.program, node);
  if (initialiser !== undefined && ts.isCallExpression(initialiser)) return isCheckingStep(flow, initialiser);
  return checkingNames.test(dottedName(ts.isCallExpression(node) ? node.expression : node));
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
  if (ts.isCallExpression(node)) return isCheckingCall(flow, node, seen, depth);
  if (ts.isBinaryExpression(node)) return isComparedSecret(flow, node);
  if (ts.isTaggedTemplateExpression(node)) return isLookup(flow, node);
  return ts.isPropertyAccessExpression(node) && isGivenUser(node);
}

const checkingCalls =
  /^(me|getUser|getSession|getServerSession|currentUser|getCurrentUser|jwtVerify|verifyIdToken|verifySessionCookie|verify\w*|authenticate\w*|authorize\w*|require(Auth|User|Admin|Session|Role|SignedIn|Login|Caller|Owner|Member|Agent)\w*|ensure(Auth|User|Admin|Session|Role|SignedIn)\w*|assert(Auth|User|Admin|Session|Role|SignedIn|Caller)\w*|check(Auth|User|Admin|Session|Role|Token|Api|Key|Signature|Secret)\w*|is(Auth|Admin|SignedIn|Valid(Token|Signature|Request|Session))\w*|validate(Session|Token|Api|Request|Signature|Key|Webhook|User)\w*|getAuth|auth|timingSafeEqual|safeEqual|secureCompare|constantTimeEqual|constructEvent|constructEventAsync|signInWithPassword|signInWithIdToken|compare|compareSync|unsealData|getIronSession|introspect\w*|getToken|protect|exchangeCodeForSession|unwrapWebhook|validateRequestWithBody)$/;
const notChecking = /^(verifyEmailAddress|verifyEmail|authorizeUrl|verifyDomain|authorizationUrl)$/;

function isCheckingCall(flow: Flow, call: ts.CallExpression, seen: Set<FunctionNode>, depth: number): boolean {
  const callees = findCallees(flow.program, call);
  if (callees.length > 0) {
    // A function that only returns whether the caller may, and whose answer nobody looks at, checks nothing.
    const isDropped = ts.isExpressionStatement(statementOf(call)) && !isInCondition(call);
    const isChecking = callees.some((fn) => hasCheck(flow, fn, seen, depth + 1) && (!isDropped || leaves(fn)));
    return isChecking || (isLookup(flow, call) && callees.some(looksUp));
  }
  const name = methodName(call) ?? dottedName(call.expression);
  if (name === 'retrieve' && call.arguments.length > 0) return true;
  if (checkingCalls.test(name) && !notChecking.test(name) && !isOfResponse(call)) return true;
  return isLookup(flow, call);
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
    const isQuery = ts.isTaggedTemplateExpression(node) || (ts.isCallExpression(node) && !takesApart(node));
    isFound ||= isQuery;
    return !isFound;
  });
  return isFound;
}

/** Whether the outcome of a check decides anything: it throws, or its result is looked at. */
function isResultUsed(node: ts.Expression): boolean {
  if (isInCondition(node)) return true;
  const handled = isErrorHandled(node);
  const statement = statementOf(node);
  if (ts.isReturnStatement(statement) || !ts.isStatement(statement)) return true;
  const names = assignedNames(node);
  if (names.length === 0) return !handled;
  const owner = enclosing(statement);
  if (isTested(owner, [...names, ...derivedNames(owner, names)], statement)) return true;
  return !handled && (throwsItself(node) || isUsedWithoutDoubt(owner, names));
}

/** `.catch(() => null)`, or a `catch` that goes on. */
function isErrorHandled(node: ts.Expression): boolean {
  for (let at: ts.Node = node; at.parent !== undefined && !ts.isStatement(at); at = at.parent) {
    const call = at.parent.parent;
    if (ts.isPropertyAccessExpression(at.parent) && at.parent.name.text === 'catch' && ts.isCallExpression(call))
      return true;
  }
  for (let at: ts.Node = node; at.parent !== undefined && !isFunction(at); at = at.parent) {
    const { parent } = at;
    if (ts.isTryStatement(parent) && parent.tryBlock === at && parent.catchClause !== undefined) {
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
    if (ts.isBinaryExpression(parent) && parent.right === at) return [dottedName(parent.left)];
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
      isFound = mentions(condition.getText(), names);
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

/** `user.id` throws if there is no user; `user?.id` does not. */
function isUsedWithoutDoubt(owner: ts.Node, names: readonly string[]): boolean {
  const text = owner.getText();
  return names.some((name) => new RegExp(`(?<![\\w$.])${name.replace(/[.$]/g, '\\$&')}\\s*[.!\\[)},;]`).test(text));
}

const credentialNames =
  /authorization|cookie|api-?key|token|secret|session|signature|x-.*-(key|auth|hmac)|password|x-cron|bearer/i;

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

/** What a token says of itself is no proof. */
const isDecoding = (node: ts.Node): boolean =>
  ts.isCallExpression(node) &&
  /^(decode\w*|jwtDecode|jwt_decode|decodeJwt|atob|parse)$/.test(methodName(node) ?? dottedName(node.expression));

const isPropertyName = (node: ts.Identifier): boolean =>
  ts.isPropertyAccessExpression(node.parent) && node.parent.name === node;

/** Functions that only take a credential apart, pass it on or write it down. */
const apart =
  /^(split|replace|replaceAll|slice|substring|startsWith|endsWith|includes|trim|match|exec|test|toLowerCase|parse|atob|from|decode\w*|jwtDecode|jwt_decode|decodeJwt|createClient\w*|createServerClient|log|info|warn|error|debug|String|Boolean|encode|set|append|indexOf|at|json|push|stringify|find|get|has|JSON|toString|send|status|text|header|getCookie|map|filter|some|Headers|next|then|catch)$/;

const takesApart = (call: ts.CallExpression): boolean =>
  apart.test(methodName(call) ?? dottedName(call.expression)) || /^console\./.test(dottedName(call.expression));

/** Whether a credential is looked up or verified: `sessions.find({ token })`, sql`… where id = ${token}`. */
function isLookup(flow: Flow, node: ts.CallExpression | ts.TaggedTemplateExpression): boolean {
  if (ts.isTaggedTemplateExpression(node)) {
    const spans = ts.isTemplateExpression(node.template) ? node.template.templateSpans : [];
    return spans.some(({ expression }) => isCredential(flow, expression));
  }
  if (isCredentialRead(node)) return false;
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

function isDigest(flow: Flow, node: ts.Expression): boolean {
  const value = constantInitialiserOf(flow.program, node) ?? unwrap(node);
  return /createHmac|\.sign\(|hmac/i.test(value.getText());
}

/** A user that the platform or an earlier step has put into the request. */
function isGivenUser(node: ts.PropertyAccessExpression): boolean {
  const isUser =
    /(^|\.)(req|request|ctx|context|event|c|locals|state|clientContext|requestContext)\.(user|auth|session|userId|authorizer|identity)$/.test(
      dottedName(node),
    );
  return isUser && isInCondition(node);
}
