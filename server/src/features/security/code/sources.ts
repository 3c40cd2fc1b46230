// Decides where untrusted values enter (requests, page URLs, window messages, records), and where secrets are read.
import ts from 'typescript';
import type { Flow, HandlerStyle } from './flow.ts';
import { type Label, makeSafe, type Origin, originOf, type Parameter, uses } from './origins.ts';
import {
  dottedName,
  type FunctionNode,
  isFunction,
  methodName,
  propertyName,
  receiverOf,
  textOf,
  unwrap,
} from './syntax.ts';

const windowNames = new Set(['window', 'self', 'globalThis', 'document', 'top', 'parent']);
const ownPartsOfLocation = /^(origin|host|hostname|protocol|port|pathname|reload\(\)|assign\(.*|replace\(.*)$/;
const routeHooks =
  /^(useSearchParams|useParams|useQueryParams?|useLocalSearchParams|useQueryState|getQueryParams?)\(\)$/;

/** The label of a name that the file does not declare, or of a call to a function that it does not contain. */
export function labelOfGlobal(path: readonly string[]): Label | undefined {
  const at = path.findIndex((part) => !windowNames.has(part));
  const [name, ...rest] = at < 0 ? [] : path.slice(at);
  if (name === undefined) return undefined;
  if (name === 'location') return ownPartsOfLocation.test(rest[0] ?? '') ? undefined : 'location';
  if (at > 0 && /^(referrer|URL|documentURI)$/.test(name)) return 'location';
  if (at > 0 && name === 'name') return 'location';
  if (name === 'useLocation()' && !/^(pathname|state|key)$/.test(rest[0] ?? '')) return 'location';
  if (routeHooks.test(name)) return 'location';
  if (name === 'useRouter()' && rest[0] === 'query') return 'location';
  if (/^(localStorage|sessionStorage)$/.test(name) && /^getItem/.test(rest[0] ?? '')) return 'stored';
  return undefined;
}

const environment =
  /^(process\.env|import\.meta\.env|Deno\.env|Bun\.env|env|context\.env|ctx\.env|c\.env|\$secrets)(\.|$)/;
const publicNames =
  /PUBLIC|PUBLISHABLE|ANON|VITE_|CLIENT_ID|SITE_KEY|_URL$|_URI$|REGION|NODE_ENV|VERSION|PORT|HOST|ORIGIN|BUCKET|MODE|DOMAIN|PROJECT/i;
const secretNames =
  /KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASS$|CREDENTIAL|PRIVATE|DSN|DATABASE_URL|DB_URL|REDIS_URL|MONGO|CONNECTION|SERVICE_ROLE|SIGNING|SALT|PEPPER/i;

/** Whether a string is the name of a secret environment variable. */
const isSecretName = (name: string): boolean =>
  secretNames.test(name) && (!publicNames.test(name) || /DATABASE_URL|DB_URL|REDIS_URL|MONGO\w*_UR[IL]/i.test(name));

/** `secret` is one or all of the secret environment variables. `none` is any other environment variable. */
export function labelOfSecret(node: ts.Expression): 'secret' | 'none' | undefined {
  if (ts.isCallExpression(node)) {
    const name = dottedName(node.expression);
    if (name === 'Deno.env.toObject') return 'secret';
    if (
      name !== 'Deno.env.get' &&
      !/^(getSecret|env\.get|requireEnv|getEnv|secrets\.get|base44\.secrets\.get)$/.test(name)
    ) {
      return undefined;
    }
    const key = textOf(node.arguments[0]);
    return key === undefined ? undefined : isSecretName(key) ? 'secret' : 'none';
  }
  const name = dottedName(node);
  if (!environment.test(name)) return undefined;
  const isWhole = /^(process\.env|import\.meta\.env)$/.test(name);
  if (isWhole) {
    const { parent } = node;
    const isRead = ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent);
    return isRead ? undefined : 'secret';
  }
  const key = name.split('.').at(-1) ?? '';
  if (!/^[A-Z][A-Z0-9_]+$/.test(key)) return undefined;
  return isSecretName(key) ? 'secret' : 'none';
}

/** A handler's parameter is the request. A callback's parameter is the value that the callback is called with. */
export function originOfParameter(flow: Flow, parameter: Parameter, use: ts.Node): readonly Origin[] {
  const { fn, index, path } = parameter;
  const style = flow.handlers.get(fn);
  if (style !== undefined) {
    if (!isFromRequest(style, index, path)) return [];
    // A request's full URL points to this app.
    const isWhole = style !== 'node' && /^(request\.|req\.)?url$/.test(path.join('.'));
    return makeSafe([originOf('request', use)], isWhole ? uses.redirect | uses.address : 0);
  }
  const called = callbackOrigins(flow, fn, index, path);
  if (called !== undefined) return called;
  if (isComponent(fn))
    return index === 0 && !/^(children|className|id)$/.test(path[0] ?? '') ? [originOf('stored', use)] : [];
  return [{ ...originOf('parameter', use), parameter }];
}

const ownPartsOfRequest =
  /^(method|user|session|auth|app|log|signal|next|env|state|locals|waitUntil|passThroughOnException|clone|get\((user|userId|auth|session|jwtPayload|db)\)|var|set|executionCtx|cf|log|json\(.+|html|text\(.+|status|ip|protocol|baseUrl|route|rawBody)/;

export function isFromRequest(style: HandlerStyle, index: number, path: readonly string[]): boolean {
  const [first = '', second = ''] = path;
  if (style === 'node') {
    if (index !== 0) return false;
    return !ownPartsOfRequest.test(first);
  }
  if (style === 'action') return true;
  if (style === 'procedure') return index === 0 && first === 'input';
  if (style === 'event') return first === 'request' ? !ownPartsOfRequest.test(second) : false;
  if (style === 'context') {
    if (index !== 0) return false;
    if (/^(req|request)$/.test(first)) return !ownPartsOfRequest.test(second) || /^(json|text)\(/.test(second);
    return /^(query|params|body|headers|url|json\(\)|text\(\)|formData\(\))/.test(first);
  }
  if (index === 0) {
    if (first === 'request') return !ownPartsOfRequest.test(second);
    return !ownPartsOfRequest.test(first) || /^(json|text)\(/.test(first);
  }
  return index === 1 && /^(params|query|searchParams)$/.test(first);
}

const elementCallbacks = /^(map|forEach|flatMap|filter|find|findLast|some|every|then|sort|tap)$/;

/** Returns `undefined` if the function is not passed directly to a call. */
function callbackOrigins(
  flow: Flow,
  fn: FunctionNode,
  index: number,
  path: readonly string[],
): readonly Origin[] | undefined {
  const call = fn.parent;
  if (!ts.isCallExpression(call)) return attributeOrigins(fn, index, path);
  if (!call.arguments.includes(fn as ts.Expression & FunctionNode)) return undefined;
  const method = methodName(call);
  const receiver = receiverOf(call);
  if (isMessageListener(call)) return index === 0 && path[0] === 'data' ? [originOf('message', fn)] : [];
  if (receiver !== undefined && method === 'reduce') {
    return index === 1 ? flow.originsOf(receiver, ['*', ...path]) : index === 0 ? reduceStart(flow, call) : [];
  }
  if (receiver !== undefined && elementCallbacks.test(method ?? '')) {
    const inner = method === 'then' ? path : ['*', ...path];
    return index === 0 ? flow.originsOf(receiver, inner) : [];
  }
  const event = eventOrigins(path, fn);
  if (event !== undefined) return index === 0 ? event : [];
  // Values that libraries pass to a callback, such as an open transaction, are trusted.
  return [];
}

const reduceStart = (flow: Flow, call: ts.CallExpression): readonly Origin[] =>
  call.arguments[1] === undefined ? [] : flow.originsOf(call.arguments[1]);

/** `event.target.value` is text that the page's user has typed. */
const eventOrigins = (path: readonly string[], fn: FunctionNode): readonly Origin[] | undefined =>
  /^(target|currentTarget)$/.test(path[0] ?? '') &&
  /^(value|innerHTML|result|innerText|textContent|dataset)/.test(path[1] ?? '')
    ? [originOf('stored', fn)]
    : undefined;

/** Handles `onmessage = (event) => …` and `<input onChange={(event) => …}>`. */
function attributeOrigins(fn: FunctionNode, index: number, path: readonly string[]): readonly Origin[] | undefined {
  const { parent } = fn;
  if (ts.isBinaryExpression(parent) && parent.right === (fn as ts.Node) && index === 0) {
    if (/(^|\.)onmessage$/.test(parent.left.getText())) return path[0] === 'data' ? [originOf('message', fn)] : [];
  }
  if (ts.isJsxExpression(parent)) return index === 0 ? (eventOrigins(path, fn) ?? []) : [];
  return undefined;
}

/** Matches `window.addEventListener('message', …)`. Workers and sockets have one known sender and are left out. */
export function isMessageListener(call: ts.CallExpression): boolean {
  if (!/^((window|self|globalThis|top|parent)\.)?addEventListener$/.test(dottedName(call.expression))) return false;
  return textOf(call.arguments[0]) === 'message';
}

/** A capitalised function in a .jsx or .tsx file. Its parameter holds the props that the surrounding page passes. */
function isComponent(fn: FunctionNode): boolean {
  const name = functionName(fn);
  return name !== undefined && /^[A-Z]/.test(name) && /\.[jt]sx$/.test(fn.getSourceFile().fileName);
}

export function functionName(fn: FunctionNode): string | undefined {
  if (fn.name !== undefined) return propertyName(fn.name);
  let at: ts.Node = fn.parent;
  while (ts.isCallExpression(at) || ts.isParenthesizedExpression(at) || ts.isAsExpression(at)) at = at.parent;
  if (ts.isVariableDeclaration(at) || ts.isPropertyAssignment(at) || ts.isPropertyDeclaration(at)) {
    return propertyName(at.name);
  }
  if (ts.isBinaryExpression(at) && isFunction(unwrap(at.right))) return dottedName(at.left).split('.').at(-1);
  return ts.isExportAssignment(at) ? 'default' : undefined;
}
