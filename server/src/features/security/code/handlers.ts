// Finds the functions that handle requests. They are recognised by where they are passed or exported, never by
// their parameter names.
import ts from 'typescript';
import type { HandlerStyle } from './flow.ts';
import {
  constantInitialiserOf,
  declarationOf,
  findFunctions,
  importedNode,
  type Module,
  type Program,
} from './program.ts';
import {
  dottedName,
  type FunctionNode,
  isFunction,
  methodName,
  nodesOf,
  propertyName,
  propertyOf,
  receiverOf,
  textOf,
  unwrap,
} from './syntax.ts';

export interface Handler {
  readonly fn: FunctionNode;
  readonly style: HandlerStyle;
  /** The steps that run before the handler: functions that wrap it, and functions on its route and router. */
  readonly before: readonly ts.Expression[];
  /** The route's path, or empty if there is no route. */
  readonly route: string;
  /** True if the function runs before other handlers and passes requests on to them. */
  readonly isMiddleware?: boolean;
}

const backendPath = /(^|\/)(functions|api|netlify|edge-functions)\//;
const methods = /^(GET|POST|PUT|PATCH|DELETE|HEAD|handler|onRequest\w*|loader|action|fetch|main|lambdaHandler)$/;

export const isBackendPath = (path: string): boolean =>
  backendPath.test(path) ||
  /(^|\/)(server|backend|worker)\/|(^|\/)(route|\+?server|worker|middleware)\.[cm]?[jt]s$/.test(path);

export function findHandlers(program: Program, module: Module): readonly Handler[] {
  const handlers: Handler[] = [];
  const seen = new Set<FunctionNode>();
  const routerSteps = [...findRouterSteps(module.source), ...findMountSteps(program, module)];
  const add: Add = (expression, style, before = [], route = '', isMiddleware = false) => {
    for (const found of unfold(program, expression, before)) {
      if (seen.has(found.fn) || isTriggered.test(found.fn.body.getText())) continue;
      seen.add(found.fn);
      handlers.push({ ...found, style: styleOf(found.fn, style), route, ...(isMiddleware && { isMiddleware }) });
    }
  };
  for (const node of nodesOf(module.source)) {
    if (ts.isCallExpression(node)) addCall(program, node, routerSteps, add);
    if (ts.isBinaryExpression(node) && /^(module\.)?exports\.handler$/.test(node.left.getText()))
      add(node.right, 'web');
  }
  if (isBackendPath(module.path)) addExports(program, module, add);
  if (/^\s*['"]use server['"]/.test(module.source.text)) {
    // Pages call the functions in a "use server" module directly, with any arguments.
    for (const [, node] of module.exports) if (!('specifier' in node)) add(node, 'action');
  }
  return handlers;
}

type Add = (
  expression: ts.Node,
  style: HandlerStyle,
  before?: readonly ts.Expression[],
  route?: string,
  isMiddleware?: boolean,
) => void;

function addCall(program: Program, call: ts.CallExpression, steps: readonly RouterStep[], add: Add): void {
  const name = dottedName(call.expression);
  const last = call.arguments.at(-1);
  if (last === undefined) return;
  if (/^(Deno|Bun)\.serve$|^serve$/.test(name)) {
    const inner = call.arguments.map((arg) => propertyOf(arg, 'handler') ?? propertyOf(arg, 'fetch') ?? arg);
    for (const each of [...inner, ...methodsOfObject(last)]) add(each, 'web');
  } else if (/(^|\.)createServer$/.test(name)) add(last, 'node');
  else if (/(^|\.)(https\.onRequest|onRequest)$/.test(name)) add(last, 'node');
  else if (/(^|\.)(https\.onCall|onCall)$/.test(name)) add(last, 'web');
  else if (name === 'addEventListener' && textOf(call.arguments[0]) === 'fetch') add(last, 'event');
  else if (/procedure.*\.(mutation|query)$/i.test(name)) add(last, 'procedure', [call.expression]);
  else addRoute(program, call, steps, add);
}

/** The methods of an object passed as in `Deno.serve({ async fetch(request) { … } })`. */
function methodsOfObject(node: ts.Expression): readonly ts.Node[] {
  const object = unwrap(node);
  if (!ts.isObjectLiteralExpression(object)) return [];
  return object.properties.filter((each) => isFunction(each) && methods.test(propertyName(each.name) ?? ''));
}

const routeMethods = /^(get|post|put|patch|delete|del|all|options|head|use|on|route)$/i;

/** Adds routes such as `app.post('/path', …, handler)`, as in Express, Hono, Fastify, Koa, oak and others. */
function addRoute(program: Program, call: ts.CallExpression, steps: readonly RouterStep[], add: Add): void {
  const method = methodName(call);
  const receiver = receiverOf(call);
  if (method === undefined || receiver === undefined || !routeMethods.test(method)) return;
  const args = [...call.arguments];
  const style = /Hono|Koa|Elysia|oak|Application|itty|AutoRouter/.test(declarationText(program, receiver))
    ? 'context'
    : 'node';
  if (method === 'use') {
    for (const step of args) if (isFunction(unwrap(step))) add(step, style, [], '', true);
    return;
  }
  const options = args.length === 1 && args[0] !== undefined ? propertyOf(args[0], 'handler') : undefined;
  if (method === 'route' && options !== undefined && args[0] !== undefined) {
    const hooks = ['preHandler', 'onRequest', 'preValidation'].flatMap((name) => propertyOf(args[0], name) ?? []);
    add(
      options,
      'node',
      [...hooks, ...stepsBefore(steps, receiver, call, '')],
      textOf(propertyOf(args[0], 'url')) ?? '',
    );
    return;
  }
  const route = textOf(args[0]) ?? chainedRoute(receiver);
  const handler = args.findLast((arg) => isFunctionLike(program, arg)); // options may follow the handler
  if (route === undefined || handler === undefined || !/^[/*:]|^$/.test(route)) return;
  const inRoute = args.filter((arg) => arg !== handler && textOf(arg) === undefined);
  add(handler, style, [...inRoute, ...stepsBefore(steps, receiver, call, route)], route);
}

/** The path in `router.route('/path').post(handler)`. */
function chainedRoute(receiver: ts.Expression): string | undefined {
  const call = unwrap(receiver);
  return ts.isCallExpression(call) && methodName(call) === 'route' ? textOf(call.arguments[0]) : undefined;
}

const isFunctionLike = (program: Program, node: ts.Expression): boolean =>
  findFunctions(program, node).length > 0 || ts.isCallExpression(unwrap(node));

function declarationText(program: Program, receiver: ts.Expression): string {
  const initialiser = constantInitialiserOf(program, receiver);
  return (initialiser ?? receiver).getText().slice(0, 200);
}

interface RouterStep {
  readonly router: string;
  readonly path: string;
  readonly at: number;
  readonly steps: readonly ts.Expression[];
}

/** Finds calls such as `app.use(authenticate)`, which run before the routes declared after them. */
function findRouterSteps(source: ts.SourceFile): readonly RouterStep[] {
  const steps: RouterStep[] = [];
  for (const node of nodesOf(source)) {
    if (!ts.isCallExpression(node)) continue;
    const method = methodName(node);
    const receiver = receiverOf(node);
    if (receiver === undefined || !/^(use|addHook|onBeforeHandle|all|guard)$/.test(method ?? '')) continue;
    const path = method === 'addHook' ? '' : (textOf(node.arguments[0]) ?? '');
    const args = node.arguments.filter((arg) => textOf(arg) === undefined);
    steps.push({ router: dottedName(receiver), path, at: node.pos, steps: args });
  }
  return steps;
}

/**
 * Finds calls such as `app.use('/admin', authenticate, router)`, in this module or in one that imports the router. They
 * run before all of the router's routes.
 */
function findMountSteps(program: Program, module: Module): readonly RouterStep[] {
  if (!/\.(use|route|register)\(|Router|Hono|Fastify/.test(module.source.text)) return [];
  const modules = [module, ...program.importersOf(module.path).flatMap((path) => program.open(path) ?? [])];
  return modules.slice(0, maxImporters).flatMap((each) => findMountStepsIn(program, each, module));
}

const maxImporters = 5;

function findMountStepsIn(program: Program, mounting: Module, module: Module): readonly RouterStep[] {
  const found: RouterStep[] = [];
  const own = findRouterSteps(mounting.source);
  for (const node of nodesOf(mounting.source)) {
    if (!ts.isCallExpression(node) || !/^(use|route|register)$/.test(methodName(node) ?? '')) continue;
    const receiver = receiverOf(node);
    const mounted = node.arguments.map((arg) => routerName(program, arg, module)).find((name) => name !== undefined);
    if (receiver === undefined || mounted === undefined || mounted === dottedName(receiver)) continue;
    const path = textOf(node.arguments[0]) ?? '';
    const inCall = node.arguments.filter((arg) => textOf(arg) === undefined && !ts.isIdentifier(arg));
    const named = node.arguments.filter((arg) => ts.isIdentifier(arg) && routerName(program, arg, module) !== mounted);
    const steps = [...inCall, ...named, ...stepsBefore(own, receiver, node, path)];
    found.push({ router: mounted, path: '', at: -1, steps });
  }
  return found;
}

/** A router's name in its own module, or `undefined` if it is not one of this module's routers. */
function routerName(program: Program, node: ts.Expression, module: Module): string | undefined {
  const bare = unwrap(node);
  if (!ts.isIdentifier(bare)) return undefined;
  const declaration = declarationOf(program, bare);
  if (declaration === undefined) return undefined;
  const exported = importedNode(program, declaration) ?? bare;
  if (!ts.isIdentifier(exported) || exported.getSourceFile() !== module.source) return undefined;
  const value = constantInitialiserOf(program, exported);
  return value !== undefined && /Router|Hono|Fastify|express|Elysia|Koa/.test(value.getText().slice(0, 200))
    ? exported.text
    : undefined;
}

function stepsBefore(steps: readonly RouterStep[], receiver: ts.Expression, call: ts.Node, route: string) {
  const router = dottedName(receiver).replace(/\(\).*$/, '');
  return steps
    .filter((step) => step.router.replace(/\(\).*$/, '') === router && step.at < call.getEnd())
    .filter(({ path }) => {
      const prefix = path.replace(/\/?\*.*$/, '').replace(/\/$/, '');
      return prefix === '' || route.startsWith(prefix);
    })
    .flatMap((step) => step.steps);
}

function addExports(program: Program, module: Module, add: Add): void {
  if (/export const config\b[^;]{0,200}\bschedule\s*:/.test(module.source.text)) return;
  for (const [name, node] of module.exports) {
    if ('specifier' in node) continue;
    if (name !== 'default' && !methods.test(name)) continue;
    const value = ts.isExpression(node) ? unwrap(node) : node;
    const object = ts.isIdentifier(value) ? constantInitialiserOf(program, value) : value;
    if (object !== undefined && ts.isObjectLiteralExpression(object)) {
      for (const property of object.properties) {
        if (!methods.test(propertyName(property.name) ?? '')) continue;
        add(ts.isPropertyAssignment(property) ? property.initializer : property, 'web');
      }
    } else add(value, 'web');
  }
}

/** Functions that are triggered by a schedule or a queue have no caller. */
const isScheduled = /(^|\.)(schedule|onSchedule|scheduled|cron)$/;
const isTriggered = /\b\w+\.(Records|triggerSource)\b|\bconst\s*\{[^}]*\bRecords\b/;

interface Unfolded {
  readonly fn: FunctionNode;
  readonly before: readonly ts.Expression[];
}

/** The functions in an expression. For example, `withUser(cors(handler))` has one handler and two steps before it. */
function unfold(program: Program, node: ts.Node, before: readonly ts.Expression[], depth = 0): readonly Unfolded[] {
  if (depth > 5) return [];
  const at = ts.isExpression(node) ? unwrap(node) : node;
  const functions = findFunctions(program, at);
  if (functions.length > 0) return functions.map((fn) => ({ fn, before }));
  const value = ts.isIdentifier(at) ? constantInitialiserOf(program, at) : at;
  if (value === undefined || !ts.isCallExpression(value)) return [];
  if (isScheduled.test(dottedName(value.expression))) return [];
  const around = [...before, value];
  const inner = value.arguments.flatMap((arg) => unfold(program, arg, around, depth + 1));
  if (inner.length > 0) return inner;
  // If one of the app's own functions returns the handler, the returned function handles requests.
  return findFunctions(program, value.expression).flatMap((maker) =>
    returnedFunctions(program, maker).map((fn) => ({ fn, before })),
  );
}

function returnedFunctions(program: Program, fn: FunctionNode): readonly FunctionNode[] {
  if (!ts.isBlock(fn.body)) return findFunctions(program, fn.body);
  return fn.body.statements.flatMap((statement) =>
    ts.isReturnStatement(statement) && statement.expression ? findFunctions(program, statement.expression) : [],
  );
}

/** A handler has the `node` style if its second parameter is used like a response. */
function styleOf(fn: FunctionNode, style: HandlerStyle): HandlerStyle {
  const second = fn.parameters[1]?.name;
  if (style !== 'web' || second === undefined || !ts.isIdentifier(second)) return style;
  const used = new RegExp(
    `\\b${second.text.replace(/\$/g, '\\$')}\\s*\\.\\s*(status|json|send|end|redirect|setHeader|writeHead|set|type|sendStatus)\\b`,
  );
  return used.test(fn.body.getText()) ? 'node' : 'web';
}
