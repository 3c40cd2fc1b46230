// Recognises credentials (headers, cookies, signatures), and whether they are looked up or compared with a
// secret.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import { isInCondition } from './outcomes.ts';
import { declarationOf, findCallees } from './program.ts';
import {
  dottedName,
  type FunctionNode,
  isFunction,
  isInside,
  methodName,
  receiverOf,
  returnsOf,
  textOf,
  unwrap,
  walk,
} from './syntax.ts';

export const isDigesting = (call: ts.CallExpression): boolean =>
  /^(createHmac|createHash|update|digest|sign|hmac|importKey|timingSafeEqual)$/.test(
    methodName(call) ?? dottedName(call.expression),
  );

const credentialNames =
  /authorization|digest|hmac|cookie|api-?key|token|secret|session|signature|x-.*-(key|auth|hmac)|password|x-cron|bearer/i;

/** Whether a node reads a header or cookie that authenticates the caller. */
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

/** Whether an expression is a header or cookie that authenticates the caller, or is derived from one. */
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

/**
 * A call's result no longer counts as the credential, unless the call splits or hashes the credential or may return it.
 */
const keepsCredential = (flow: Flow, call: ts.CallExpression): boolean =>
  takesApart(call) ||
  isDigesting(call) ||
  /hash|sha\d|digest|sign|cookie|header|token|session|bearer/i.test(dottedName(call.expression)) ||
  findCallees(flow.program, call).length > 0;

/** Decoding a token does not verify it. */
const isDecoding = (node: ts.Node): boolean =>
  ts.isCallExpression(node) &&
  /^(decode\w*|jwtDecode|jwt_decode|decodeJwt|atob|parse)$/.test(methodName(node) ?? dottedName(node.expression));

const isPropertyName = (node: ts.Identifier): boolean =>
  ts.isPropertyAccessExpression(node.parent) && node.parent.name === node;

/** Functions that only split a credential, pass it on or log it. */
const apart =
  /^(split|replace|replaceAll|slice|substring|startsWith|endsWith|includes|trim|match|exec|test|toLowerCase|parse|atob|from|decode\w*|jwtDecode|jwt_decode|decodeJwt|createClient\w*|createServerClient|log|info|warn|error|debug|String|Boolean|encode|set|append|indexOf|at|json|push|stringify|find|get|has|JSON|toString|send|status|text|header|getCookie|map|filter|some|Headers|next|then|catch|\w+To(Bytes|Buffer|ArrayBuffer|Uint8Array)|to(Bytes|Buffer)|from(Hex|Base64)|alloc)$/;

export const takesApart = (call: ts.CallExpression): boolean =>
  apart.test(methodName(call) ?? dottedName(call.expression)) || /^console\./.test(dottedName(call.expression));

/** Whether a credential is looked up or verified, as in `sessions.find({ token })` or sql`… where id = ${token}`. */
export function isLookup(flow: Flow, node: ts.CallExpression | ts.TaggedTemplateExpression): boolean {
  if (ts.isTaggedTemplateExpression(node)) {
    const spans = ts.isTemplateExpression(node.template) ? node.template.templateSpans : [];
    return spans.some(({ expression }) => isCredential(flow, expression));
  }
  if (isCredentialRead(node)) return false;
  const receiver = receiverOf(node);
  if (receiver !== undefined && isDigest(flow, receiver)) return false; // part of a signature proves nothing
  const isQuery = /^(get|find|has|includes)$/.test(methodName(node) ?? '') && !isOfRequest(node);
  if (takesApart(node) && !isQuery) return false;
  return node.arguments.some((arg) => !isFunction(unwrap(arg)) && isCredential(flow, arg));
}

const isOfRequest = (call: ts.CallExpression): boolean =>
  /headers|cookies|\breq\b|request/i.test(receiverOf(call)?.getText() ?? '');

/** Comparisons such as `header !== Deno.env.get('KEY')` and `digest === signature`. */
export function isComparedSecret(flow: Flow, node: ts.BinaryExpression): boolean {
  if (!/^[!=]==?$/.test(node.operatorToken.getText())) return false;
  const isOwnSecret = (side: ts.Expression) =>
    flow.originsOf(side).some(({ label }) => label === 'secret') || isDigest(flow, side);
  const isSent = (side: ts.Expression) =>
    isCredential(flow, side) || flow.originsOf(side).some(({ label }) => label === 'request' || label === 'parameter');
  const { left, right } = node;
  return (isOwnSecret(left) && isSent(right)) || (isOwnSecret(right) && isSent(left));
}

/** Whether an expression is a signature that the app computes itself. */
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

/** Returns `list` for the callback in `list.some((one) => …)`. */
const listOf = ({ parent }: FunctionNode): ts.Expression | undefined =>
  ts.isCallExpression(parent) && /^(some|every|find|filter)$/.test(methodName(parent) ?? '')
    ? receiverOf(parent)
    : undefined;

const isLength = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) && /^(length|byteLength)$/.test(node.name.text);

/** A user whom the platform or an earlier step has added to the request. */
export function isGivenUser(node: ts.PropertyAccessExpression): boolean {
  const isUser =
    /(^|\.)(req|request|ctx|context|event|c|locals|state|clientContext|requestContext)\.(user|auth|session|userId|authorizer|identity)$/.test(
      dottedName(node),
    );
  if (!isUser) return false;
  const { parent } = node;
  // `authorizer.claims` throws if the platform has not added an authorizer.
  const isRequired =
    ts.isPropertyAccessExpression(parent) && parent.expression === node && parent.questionDotToken === undefined;
  return isRequired || isInCondition(node);
}
