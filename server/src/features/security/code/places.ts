// The rules that examine a single place in the code, without tracing values to a source.
import ts from 'typescript';
import type { Hit } from './analysis.ts';
import type { Flow } from './flow.ts';
import type { Module } from './program.ts';
import { isMessageListener } from './sources.ts';
import { dottedName, findNode, isFunction, methodName, nodesOf, propertyName, textOf, unwrap } from './syntax.ts';

/**
 * `others` are this module's findings from tracing values. Listeners that contain one of them are not reported again.
 */
export function checkPlaces(flow: Flow, module: Module, others: readonly Hit[]): readonly Hit[] {
  const hits: Hit[] = [];
  for (const node of nodesOf(module.source)) {
    const rule = ruleAt(flow, module, node, others);
    if (rule !== undefined) hits.push({ rule, at: node, label: 'stored', source: node });
    if (hits.length >= 100) break;
  }
  return hits;
}

function ruleAt(flow: Flow, module: Module, node: ts.Node, others: readonly Hit[]): Hit['rule'] | undefined {
  if (ts.isCallExpression(node)) {
    if (isWeakSecret(node)) return 'code.weak-randomness';
    if (isWeakPasswordHash(node)) return 'code.weak-crypto';
    if (isMessageListener(node) && isUncheckedListener(node, others)) return 'code.message-origin';
    if (isUnverifiedToken(flow, module, node)) return 'code.jwt-unverified';
  }
  return isTlsSwitchedOff(node) ? 'code.tls-disabled' : undefined;
}

const secretName =
  /(^|_|[a-z])(token|secret|password|passwd|otp|nonce|apikey|api_key|sessionid|session_id|resetcode|reset_code|verificationcode|invitecode|csrf)/i;

/** Whether a secret comes from `Math.random()`, as in `const resetToken = Math.random()…`. */
function isWeakSecret(call: ts.CallExpression): boolean {
  if (dottedName(call.expression) !== 'Math.random') return false;
  for (let at: ts.Node = call; at.parent !== undefined && !ts.isBlock(at) && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) {
      return secretName.test(propertyName(parent.name) ?? '');
    }
    if (ts.isBinaryExpression(parent) && parent.right === at) return secretName.test(dottedName(parent.left));
    if (ts.isReturnStatement(parent) || ts.isArrowFunction(parent)) return isInSecretFunction(parent);
    if (ts.isStatement(parent)) return false;
  }
  return false;
}

function isInSecretFunction(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) {
    if (ts.isFunctionDeclaration(at) || ts.isMethodDeclaration(at) || ts.isVariableDeclaration(at)) {
      return secretName.test(propertyName(at.name) ?? '');
    }
  }
  return false;
}

/** Whether a password is hashed with a fast hash, as in `createHash('md5').update(password)`. */
function isWeakPasswordHash(call: ts.CallExpression): boolean {
  if (methodName(call) !== 'update') return false;
  const hashed = call.arguments[0]?.getText() ?? '';
  if (!/passw|passwd|pwd/i.test(hashed)) return false;
  return /createHash\(\s*['"`](md5|sha1|sha-?256|sha-?512)/i.test(call.expression.getText());
}

function isTlsSwitchedOff(node: ts.Node): boolean {
  if (ts.isPropertyAssignment(node)) {
    return propertyName(node.name) === 'rejectUnauthorized' && node.initializer.kind === ts.SyntaxKind.FalseKeyword;
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
  return /NODE_TLS_REJECT_UNAUTHORIZED/.test(node.left.getText()) && /^['"`]?0['"`]?$/.test(node.right.getText());
}

/** A listener that uses `event.data` without checking the event's origin or source. */
function isUncheckedListener(call: ts.CallExpression, others: readonly Hit[]): boolean {
  const listener = call.arguments[1] && unwrap(call.arguments[1]);
  if (listener === undefined || !isFunction(listener)) return false;
  const text = listener.getText();
  if (!/\bdata\b/.test(text) || /\b(origin|source|isTrusted)\b/.test(text)) return false;
  return !others.some(({ at }) => at.pos >= call.pos && at.end <= call.end);
}

/** A token that is decoded in a server module that never verifies tokens. */
function isUnverifiedToken(flow: Flow, module: Module, call: ts.CallExpression): boolean {
  const name = dottedName(call.expression);
  const isDecoded = /^(jwtDecode|jwt_decode|decodeJwt|jwt\.decode|jose\.decodeJwt)$/.test(name);
  const isTaken = name === 'atob' && /split\(\s*['"`]\.['"`]\s*\)/.test(call.arguments[0]?.getText() ?? '');
  if (!isDecoded && !isTaken) return false;
  if (/verify|getUser\(|auth\.me\(/i.test(module.source.text)) return false;
  const token = call.arguments[0];
  const isSent = token !== undefined && flow.originsOf(token).some(({ label }) => label === 'request');
  return isSent && findNode(module.source, ts.isIfStatement) !== undefined && textOf(token) === undefined;
}
