// Owns where the value of an expression comes from: it is followed back through variables, destructuring, templates,
// objects, calls of the app's own functions and the functions that are known, up to a source or a parameter.
import ts from 'typescript';
import { checksAt } from './checks.ts';
import type { Flow } from './flow.ts';
import { keyOf, methodKey } from './keys.ts';
import {
  fixedHost,
  harmlessMethods,
  hostOnly,
  passesOn,
  returnsHarmless,
  sanitiserBits,
  strictSchema,
} from './known.ts';
import { allUses, asParts, makeSafe, mergeOrigins, type Origin, originOf, uses, withKey } from './origins.ts';
import {
  constantInitialiserOf,
  declarationOf,
  findCallees,
  findFunctions,
  importedNode,
  type Program,
} from './program.ts';
import { readRegExp, usesSafeAfterReplace } from './samples.ts';
import type { Declaration, Definition } from './scopes.ts';
import { labelOfGlobal, labelOfSecret, originOfParameter } from './sources.ts';
import {
  dottedName,
  enclosingFunction,
  type FunctionNode,
  isFunction,
  isInside,
  isTemplatePiece,
  methodName,
  partsOf,
  propertyName,
  propertyOf,
  receiverOf,
  returnsOf,
  statementsOf,
  textOf,
  unwrap,
} from './syntax.ts';

type Path = readonly string[];

export const maxSteps = 150_000;

export function createFlow(program: Program): Flow {
  const flow: Flow = {
    program,
    handlers: new Map(),
    memo: new Map(),
    budget: { left: maxSteps },
    originsOf: (node, path) => originsOf(flow, node, path),
  };
  return flow;
}

/** Where the value of an expression, or a part of it, comes from. Empty: it is constant, harmless or of the app itself. */
function originsOf(flow: Flow, node: ts.Expression, path: Path = []): readonly Origin[] {
  const expression = unwrap(node);
  if (isTemplatePiece(expression) || ts.isLiteralExpression(expression) || isFunction(expression)) return [];
  const key = path.join('\0');
  const memo = flow.memo.get(expression) ?? new Map<string, readonly Origin[]>();
  flow.memo.set(expression, memo);
  const known = memo.get(key);
  if (known !== undefined) return known;
  if (flow.budget.left <= 0 || path.length > 12) return [];
  flow.budget.left -= 1;
  memo.set(key, []); // a value that depends on itself adds nothing to itself
  const origins = mergeOrigins(follow(flow, expression, path));
  memo.set(key, origins);
  return origins;
}

function follow(flow: Flow, node: ts.Expression, path: Path): readonly Origin[] {
  if (ts.isIdentifier(node)) return followName(flow, node, path);
  if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) return followAccess(flow, node, path);
  const parts = partsOf(node);
  if (parts !== undefined) return followParts(flow, parts);
  if (ts.isCallExpression(node)) return followCall(flow, node, path);
  if (ts.isNewExpression(node)) return followNew(flow, node, path);
  if (ts.isTaggedTemplateExpression(node)) return followTagged(flow, node);
  if (ts.isObjectLiteralExpression(node)) return followObject(flow, node, path);
  if (ts.isArrayLiteralExpression(node)) return followArray(flow, node, path);
  if (ts.isConditionalExpression(node)) {
    return [...originsOf(flow, node.whenTrue, path), ...originsOf(flow, node.whenFalse, path)];
  }
  if (ts.isBinaryExpression(node)) return followBinary(flow, node, path);
  if (ts.isSpreadElement(node)) return originsOf(flow, node.expression, path);
  if (ts.isJsxExpression(node) && node.expression !== undefined) return originsOf(flow, node.expression, path);
  return [];
}

function followBinary(flow: Flow, node: ts.BinaryExpression, path: Path): readonly Origin[] {
  const { kind } = node.operatorToken;
  if (kind === ts.SyntaxKind.EqualsToken || kind === ts.SyntaxKind.CommaToken) return originsOf(flow, node.right, path);
  if (kind === ts.SyntaxKind.AmpersandAmpersandToken) return originsOf(flow, node.right, path);
  if (kind === ts.SyntaxKind.BarBarToken || kind === ts.SyntaxKind.QuestionQuestionToken) {
    return [...originsOf(flow, node.left, path), ...originsOf(flow, node.right, path)];
  }
  return [];
}

/** The parts of a text. What follows a host in it can't change where an address leads to. */
function followParts(flow: Flow, parts: readonly ts.Expression[]): readonly Origin[] {
  let before: string | undefined = '';
  const origins: Origin[] = [];
  for (const part of parts) {
    const text = isTemplatePiece(part) ? part.text : (textOf(part) ?? constantText(flow, part));
    const found = text === undefined ? originsOf(flow, part) : [];
    const isHostFixed =
      before === undefined || fixedHost.test(before) || (hostOnly.test(before) && beginsWithSlash(part));
    const fixed = isHostFixed ? uses.address | uses.redirect | uses.cors : 0;
    origins.push(...makeSafe(asParts(found), fixed));
    // An unknown beginning that no caller can set is a base address.
    if (before !== undefined) before = text !== undefined ? before + text : found.length === 0 ? undefined : before;
    if (text === undefined && before === '' && found.length > 0) before = '\n';
  }
  return origins;
}

/** The path of an address begins with a slash, so that it can't be a part of the host before it. */
function beginsWithSlash(node: ts.Expression): boolean {
  const bare = unwrap(node);
  if (!ts.isPropertyAccessExpression(bare)) return false;
  if (/^(pathname|search|hash|originalUrl)$/.test(bare.name.text)) return true;
  return /^(path|url)$/.test(bare.name.text) && /(^|\.)(req|request)$/.test(dottedName(bare.expression));
}

/** The text of a constant: of a literal, or of a name that has no other value. */
function constantText(flow: Flow, node: ts.Expression, depth = 0): string | undefined {
  const bare = unwrap(node);
  const text = textOf(bare);
  if (text !== undefined || depth > 4) return text;
  if (ts.isIdentifier(bare)) {
    const declaration = declarationOf(flow.program, bare);
    const [only, ...more] = declaration?.definitions ?? [];
    if (only !== undefined && more.length === 0 && only.path.length === 0 && only.kind === 'set') {
      return constantText(flow, only.value, depth + 1);
    }
    const exported = declaration === undefined ? undefined : importedNode(flow.program, declaration);
    return exported !== undefined && ts.isExpression(exported) ? constantText(flow, exported, depth + 1) : undefined;
  }
  const parts = partsOf(bare);
  if (parts === undefined) return undefined;
  const texts = parts.map((part) => (isTemplatePiece(part) ? part.text : constantText(flow, part, depth + 1)));
  return texts.every((each) => each !== undefined) ? texts.join('') : undefined;
}

function followName(flow: Flow, node: ts.Identifier, path: Path): readonly Origin[] {
  const declaration = declarationOf(flow.program, node);
  if (declaration === undefined) {
    const label = labelOfGlobal([node.text, ...path]);
    if (label === undefined) return [];
    // The whole address of a page leads to that page.
    const isWhole =
      label === 'location' && /^((window|document|self)\.)*location(\.href)?$/.test([node.text, ...path].join('.'));
    return makeSafe([originOf(label, node)], isWhole ? uses.redirect | uses.address : 0);
  }
  const key = keyOf(declaration, path);
  const found = mergeOrigins(followDeclaration(flow, declaration, node, path));
  return found.length === 0 ? found : checksAt(flow, node, withKey(found, key));
}

function followDeclaration(flow: Flow, declaration: Declaration, use: ts.Identifier, path: Path): readonly Origin[] {
  if (declaration.imported !== undefined) {
    const exported = importedNode(flow.program, declaration);
    return exported !== undefined && ts.isExpression(exported) ? originsOf(flow, exported, path) : [];
  }
  const { parameter } = declaration;
  const state = stateOrigins(flow, declaration, path);
  if (state !== undefined) return state;
  const found: Origin[] = [];
  const definitions = reachingDefinitions(declaration, use);
  const isReplaced = definitions.some(({ kind, target }) => kind === 'set' && target.length === 0);
  if (parameter !== undefined && !(isReplaced && definitions.length < declaration.definitions.length + 1)) {
    found.push(...originOfParameter(flow, { ...parameter, path: [...parameter.path, ...path] }, use));
  }
  for (const definition of definitions.slice(-12)) found.push(...followDefinition(flow, definition, path));
  return found;
}

function followDefinition(flow: Flow, { value, path: taken, target, kind }: Definition, path: Path): readonly Origin[] {
  if (target.length === 0) {
    const inner =
      kind === 'each' ? ['*', ...taken, ...path] : kind === 'add' && taken.length === 0 ? [] : [...taken, ...path];
    const origins = originsOf(flow, value, inner);
    return kind === 'add' ? makeSafe(asParts(origins), uses.address | uses.redirect) : origins;
  }
  // `options.url = value`, and what is asked for is all of `options`, or `options.url`, or a part of it.
  const shared = Math.min(target.length, path.length);
  if (target.slice(0, shared).join('\0') !== path.slice(0, shared).join('\0')) return [];
  const origins = originsOf(flow, value, [...taken, ...path.slice(shared)]);
  // `address.pathname = value` does not change where the address leads to.
  const isAfterHost = path.length === 0 && /^(pathname|search|hash|port)$/.test(target[0] ?? '');
  return isAfterHost ? makeSafe(origins, uses.address | uses.redirect) : origins;
}

/** The definitions that a use can see: not those that are replaced before it, nor those that come after it. */
function reachingDefinitions({ definitions, scope }: Declaration, use: ts.Node): readonly Definition[] {
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

/** Whether the statement of `before` always runs before `after`: its block contains `after`. */
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

/** `const [value, setValue] = useState(first)`: everything that `setValue` is called with. */
function stateOrigins(flow: Flow, { definitions, node }: Declaration, path: Path): readonly Origin[] | undefined {
  const [definition] = definitions;
  const call = definition && unwrap(definition.value);
  if (definition === undefined || call === undefined || !ts.isCallExpression(call)) return undefined;
  if (definition.path[0] !== '0' || !/(^|\.)useState$/.test(dottedName(call.expression))) return undefined;
  const pattern = node.parent;
  const setter = ts.isArrayBindingPattern(pattern) ? pattern.elements[1] : undefined;
  const first = call.arguments[0];
  const origins = first === undefined ? [] : [...originsOfValueOrFunction(flow, first, path)];
  if (setter === undefined || !ts.isBindingElement(setter) || !ts.isIdentifier(setter.name)) return origins;
  const name = setter.name.text;
  for (const use of callsOf(setter.name.getSourceFile(), `passed ${name}`)) {
    // `load().then(setValue)`
    const receiver = receiverOf(use);
    if (receiver !== undefined && methodName(use) === 'then') origins.push(...originsOf(flow, receiver, path));
  }
  for (const use of callsOf(setter.name.getSourceFile(), name)) {
    const value = use.arguments[0];
    if (value !== undefined && origins.length < 24) origins.push(...originsOfValueOrFunction(flow, value, path));
  }
  return origins;
}

const callsByName = new WeakMap<ts.SourceFile, Map<string, ts.CallExpression[]>>();

function callsOf(source: ts.SourceFile, name: string): readonly ts.CallExpression[] {
  let byName = callsByName.get(source);
  if (byName === undefined) {
    byName = new Map();
    const pending: ts.Node[] = [source];
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (ts.isCallExpression(node)) {
        const names = node.arguments.filter(ts.isIdentifier).map(({ text }) => `passed ${text}`);
        if (ts.isIdentifier(node.expression)) names.push(node.expression.text);
        for (const each of names) {
          const listed = byName.get(each) ?? [];
          byName.set(each, listed);
          if (listed.length < 20) listed.push(node);
        }
      }
      ts.forEachChild(node, (child) => {
        pending.push(child);
      });
    }
    callsByName.set(source, byName);
  }
  return byName.get(name) ?? [];
}

/** For what accepts a value or a function that returns it. */
function originsOfValueOrFunction(flow: Flow, node: ts.Expression, path: Path): readonly Origin[] {
  const bare = unwrap(node);
  return isFunction(bare) ? originsOfReturn(flow, bare, path) : originsOf(flow, bare, path);
}

const originsOfReturn = (flow: Flow, fn: FunctionNode, path: Path): readonly Origin[] =>
  mergeOrigins(returnsOf(fn).flatMap((returned) => originsOf(flow, returned, path)));

type Access = ts.PropertyAccessExpression | ts.ElementAccessExpression;

function followAccess(flow: Flow, node: Access, path: Path): readonly Origin[] {
  const name = ts.isPropertyAccessExpression(node) ? node.name.text : textOf(node.argumentExpression);
  if (name === 'length' || name === 'size' || name === 'lastIndex') return [];
  const secret = labelOfSecret(node);
  if (secret !== undefined) return secret === 'none' ? [] : [originOf('secret', node)];
  if (
    name === 'value' &&
    /(^|\.)(target|currentTarget|current)$|Element|querySelector/.test(node.expression.getText())
  ) {
    return [originOf('stored', node)];
  }
  // What is found in the app's own list under a name that somebody sent is still the app's own.
  if (name === undefined) {
    const element = ts.isElementAccessExpression(node) ? node.argumentExpression : undefined;
    const isNumber = element !== undefined && ts.isNumericLiteral(element);
    return originsOf(flow, node.expression, [isNumber ? element.text : '*', ...path]);
  }
  return originsOf(flow, node.expression, [name, ...path]);
}

function followObject(flow: Flow, node: ts.ObjectLiteralExpression, path: Path): readonly Origin[] {
  const [name, ...rest] = path;
  const isAny = name === undefined || name === '*';
  const origins: Origin[] = [];
  let isFound = false;
  for (const property of node.properties) {
    if (ts.isSpreadAssignment(property)) {
      if (!isFound) origins.push(...originsOf(flow, property.expression, path));
    } else if (isAny || propertyName(property.name) === name) {
      isFound ||= !isAny;
      if (!isAny) origins.length = 0;
      if (ts.isPropertyAssignment(property)) origins.push(...originsOf(flow, property.initializer, rest));
      if (ts.isShorthandPropertyAssignment(property)) origins.push(...originsOf(flow, property.name, rest));
    }
  }
  return origins;
}

function followArray(flow: Flow, node: ts.ArrayLiteralExpression, path: Path): readonly Origin[] {
  const [name, ...rest] = path;
  const one = name !== undefined && /^\d+$/.test(name) ? node.elements[Number(name)] : undefined;
  if (one !== undefined && !ts.isSpreadElement(one)) return originsOf(flow, one, rest);
  return node.elements.flatMap((element) =>
    ts.isSpreadElement(element) ? originsOf(flow, element.expression, path) : originsOf(flow, element, rest),
  );
}

function followTagged(flow: Flow, node: ts.TaggedTemplateExpression): readonly Origin[] {
  // Other tags, such as sql`…` and html`…`, receive values apart from the text and make them safe.
  if (!/^(String\.raw|css|raw|dedent|outdent)$/.test(dottedName(node.tag))) return [];
  const parts = partsOf(node.template);
  return parts === undefined ? [] : followParts(flow, parts);
}

function followNew(flow: Flow, node: ts.NewExpression, path: Path): readonly Origin[] {
  const name = dottedName(node.expression);
  const args = node.arguments ?? [];
  const first = args[0];
  if (first === undefined) return [];
  if (/^(URL|Request)$/.test(name)) return followAddress(flow, node, first, path);
  if (/^(URLSearchParams|Set|Map|Array|String|Blob|File|Headers|FormData|TextEncoder)$/.test(name)) {
    return args.flatMap((arg) => originsOf(flow, arg));
  }
  return [];
}

const wholeAddress = /^(href|origin|host|hostname|protocol|toString\(\)|url)$/;

/** The host of an address is decided by what it begins with, and by its base if it begins with a path. */
function followAddress(flow: Flow, node: ts.NewExpression, first: ts.Expression, path: Path): readonly Origin[] {
  const [part] = path;
  const base = node.arguments?.[1];
  // A request to this app has the app's own address as its base.
  const isOwnBase = base === undefined || /(\.|^)(url|href|origin|baseURI)$/.test(base.getText());
  const origins = [...originsOf(flow, first), ...(isOwnBase ? [] : originsOf(flow, base))];
  if (part === undefined || wholeAddress.test(part)) return origins;
  const freed = ~(uses.address | uses.redirect | uses.cors);
  return origins.map((origin) => ({ ...origin, safeFor: origin.safeFor & freed }));
}

function followCall(flow: Flow, node: ts.CallExpression, path: Path): readonly Origin[] {
  const secret = labelOfSecret(node);
  if (secret !== undefined) return secret === 'none' ? [] : [originOf('secret', node)];
  const callees = findCallees(flow.program, node);
  if (callees.length > 0) return followOwnFunctions(flow, node, callees, path);
  const name = dottedName(node.expression);
  if (returnsHarmless.test(name)) return [];
  const hook = labelOfGlobal([`${name}()`, ...path]);
  if (hook !== undefined) return [originOf(hook, node)];
  const bits = sanitiserBits(name);
  const method = methodName(node);
  if (bits !== 0 && !(method !== undefined && node.arguments.length === 0)) {
    return makeSafe(mergeOrigins(node.arguments.flatMap((arg) => originsOf(flow, arg))), bits);
  }
  if (/^(useMemo|useCallback|untrack|startTransition|computed)$/.test(name) && node.arguments[0] !== undefined) {
    return originsOfValueOrFunction(flow, node.arguments[0], path);
  }
  if (passesOn.test(name)) return followPassedOn(flow, node, name, path);
  if (name === 'fetch' && ownFile.test(textOf(node.arguments[0]) ?? '')) return [];
  if (method !== undefined) return followMethod(flow, node, method, path);
  return [originOf('stored', node)];
}

/** A part of the app itself, such as a header of every page. */
const ownFile = /^\.{0,2}\/[\w/.-]+\.(html|svg|md|json|css)$/;

function followPassedOn(flow: Flow, node: ts.CallExpression, name: string, path: Path): readonly Origin[] {
  const args = [...node.arguments];
  if (name === 'JSON.stringify') return originsOf(flow, args[0] ?? node, []);
  if (/^(path\.(posix\.)?)?(join|resolve)$/.test(name)) return args.flatMap((arg) => asParts(originsOf(flow, arg)));
  const isObject = /^(Object\.(assign|freeze|values|entries)|structuredClone|cloneDeep|merge|Array\.|Promise\.)/.test(
    name,
  );
  return args.flatMap((arg) => {
    const inner = isObject ? path : [];
    return originsOf(flow, arg, inner);
  });
}

/** What the app's own function returns, with the arguments in place of its parameters. */
function followOwnFunctions(
  flow: Flow,
  call: ts.CallExpression,
  callees: readonly FunctionNode[],
  path: Path,
): readonly Origin[] {
  return callees
    .slice(0, 4)
    .flatMap((fn) =>
      originsOfReturn(flow, fn, path).flatMap((origin) => replaceParameter(flow, origin, fn, call.arguments)),
    );
}

/** An origin that is a parameter of the called function becomes what was passed. */
export function replaceParameter(
  flow: Flow,
  origin: Origin,
  fn: FunctionNode,
  args: readonly ts.Expression[],
): readonly Origin[] {
  const { parameter } = origin;
  if (parameter === undefined || parameter.fn !== fn) return [origin];
  const passed = argumentOf(fn, args, parameter.index);
  if (passed === undefined) return [];
  const origins = originsOf(flow, passed, parameter.path);
  const safe = makeSafe(origins, origin.safeFor);
  return origin.isPart ? asParts(safe) : safe;
}

function argumentOf(fn: FunctionNode, args: readonly ts.Expression[], index: number): ts.Expression | undefined {
  const isRest = fn.parameters[index]?.dotDotDotToken !== undefined;
  const spread = args.findIndex(ts.isSpreadElement);
  if (spread >= 0 && spread <= index) return args[spread];
  return isRest ? args.slice(index)[0] : args[index];
}

const callbackMethods = /^(map|flatMap|then|reduce|replace)$/;

function followMethod(flow: Flow, node: ts.CallExpression, method: string, path: Path): readonly Origin[] {
  const receiver = receiverOf(node);
  if (receiver === undefined) return [];
  if (harmlessMethods.test(method)) return [];
  const callback = node.arguments.find((arg) => isFunction(unwrap(arg)));
  if (callbackMethods.test(method) && method !== 'replace') {
    const functions = node.arguments.slice(0, 1).flatMap((arg) => findFunctions(flow.program, arg));
    const [fn] = functions;
    if (fn !== undefined) {
      const inner = method === 'map' || method === 'flatMap' ? path.slice(1) : path;
      const returned = originsOfReturn(flow, fn, inner);
      // A function that is named gets its parameter from the receiver here; one that is written here knows it already.
      return callback !== undefined
        ? returned
        : returned.flatMap((origin) => replaceParameter(flow, origin, fn, [receiver]));
    }
  }
  if (method === 'filter' && callback !== undefined) return followFilter(flow, receiver, callback, path);
  if (method === 'replace' || method === 'replaceAll') return followReplace(flow, node, receiver, method);
  if (method === 'join') return followJoin(flow, node, receiver);
  if (method === 'concat') return asParts([receiver, ...node.arguments].flatMap((each) => originsOf(flow, each)));
  if (/^(slice|substring|substr|at|charAt)$/.test(method)) return followSlice(flow, node, receiver, path);
  if (/^(parse|safeParse|parseAsync|validate|validateSync|check)$/.test(method))
    return followSchema(flow, node, receiver, path);
  if (/^(catch|finally)$/.test(method)) return originsOf(flow, receiver, path);
  const origins = originsOf(flow, receiver, [methodKey(node, method), ...path]);
  // `unified().use(rehypeSanitize).process(text)`
  if (/sanitize/i.test(node.expression.getText())) return makeSafe(origins, uses.html);
  if (origins.length > 0) return origins;
  return isOwnValue(flow, receiver) ? [] : [originOf('stored', node)];
}

/** Whether a receiver is a constant list, map or text of the app, so that what its methods return is too. */
function isOwnValue(flow: Flow, node: ts.Expression): boolean {
  const bare = unwrap(node);
  if (ts.isLiteralExpression(bare) || ts.isArrayLiteralExpression(bare) || ts.isTemplateExpression(bare)) return true;
  if (ts.isObjectLiteralExpression(bare) || ts.isNewExpression(bare) || ts.isConditionalExpression(bare)) return true;
  if (ts.isBinaryExpression(bare)) return true;
  if (ts.isCallExpression(bare)) {
    const receiver = receiverOf(bare);
    if (returnsHarmless.test(dottedName(bare.expression)) || passesOn.test(dottedName(bare.expression))) return true;
    if (findCallees(flow.program, bare).length > 0) return true;
    return receiver !== undefined && (harmlessMethods.test(methodName(bare) ?? '') || isOwnValue(flow, receiver));
  }
  if (ts.isPropertyAccessExpression(bare) || ts.isElementAccessExpression(bare))
    return isOwnValue(flow, bare.expression);
  if (!ts.isIdentifier(bare)) return false;
  const declaration = declarationOf(flow.program, bare);
  if (declaration === undefined) return false;
  if (declaration.parameter !== undefined) return true;
  const exported = importedNode(flow.program, declaration);
  if (exported !== undefined) return true;
  return (
    declaration.definitions.length > 0 &&
    declaration.definitions.every(({ value }) => {
      const inner = unwrap(value);
      return inner !== bare && !ts.isIdentifier(inner) ? isOwnValue(flow, inner) : originsOf(flow, inner).length === 0;
    })
  );
}

function followFilter(flow: Flow, receiver: ts.Expression, callback: ts.Expression, path: Path): readonly Origin[] {
  const fn = unwrap(callback);
  const origins = originsOf(flow, receiver, path);
  if (!isFunction(fn) || origins.length === 0) return origins;
  // `filter((name) => allowed.includes(name))` leaves only what is allowed.
  const text = fn.body.getText();
  return /\.(includes|has)\(|\bin\b/.test(text) && !/^\s*!/.test(text) ? makeSafe(origins, allUses) : origins;
}

function followReplace(
  flow: Flow,
  node: ts.CallExpression,
  receiver: ts.Expression,
  method: string,
): readonly Origin[] {
  const [pattern, replacement] = node.arguments;
  const origins = originsOf(flow, receiver);
  if (pattern === undefined || replacement === undefined) return origins;
  const replaced = originsOf(flow, replacement);
  const by = unwrap(replacement);
  const text = textOf(by);
  const bare = unwrap(
    ts.isIdentifier(unwrap(pattern)) ? (constantInitialiserOf(flow.program, pattern) ?? pattern) : pattern,
  );
  const all = method === 'replaceAll';
  let bits = 0;
  if (text !== undefined) bits = usesSafeAfterReplace(bare, text, all);
  // A function or a table of entities replaces each match by something harmless.
  else if (replaced.length === 0) bits = usesSafeAfterReplace(bare, '_', all);
  const isMasked = text !== undefined && /^[*•x]+$/i.test(text) && readRegExp(bare) !== undefined;
  const kept = isMasked ? origins.filter(({ label }) => label !== 'secret') : origins;
  const inserted = replaced.filter(({ label }) => label !== 'stored' || text === undefined);
  return [...makeSafe(kept, bits), ...(isFunction(by) || text !== undefined ? [] : asParts(inserted))];
}

/** An array that is joined is a text of its elements. */
function followJoin(flow: Flow, node: ts.CallExpression, receiver: ts.Expression): readonly Origin[] {
  const elements = unwrap(receiver);
  if (ts.isArrayLiteralExpression(elements) && textOf(node.arguments[0]) === '') {
    return followParts(flow, elements.elements);
  }
  if (ts.isArrayLiteralExpression(elements) && textOf(node.arguments[0]) === '/') {
    return elements.elements.flatMap((element, at) =>
      makeSafe(asParts(originsOf(flow, element)), at > 0 ? uses.address | uses.redirect : 0),
    );
  }
  return asParts(originsOf(flow, receiver, ['*']));
}

function followSlice(flow: Flow, node: ts.CallExpression, receiver: ts.Expression, path: Path): readonly Origin[] {
  const origins = originsOf(flow, receiver, path);
  // A few characters of a secret, to recognise it by, are not the secret.
  const text = node.arguments.map((arg) => arg.getText()).join(',');
  const isShort = /^-[1-8]$|^0,\s*[1-9]$|^-\d,/.test(text);
  return isShort ? origins.filter(({ label }) => label !== 'secret') : origins;
}

/** `schema.parse(body)`: parts that the schema limits to numbers, ids or a list of words are safe. */
function followSchema(flow: Flow, node: ts.CallExpression, receiver: ts.Expression, path: Path): readonly Origin[] {
  const [value] = node.arguments;
  if (value === undefined) return [];
  const inner = path[0] === 'data' || path[0] === 'value' ? path.slice(1) : path;
  const origins = originsOf(flow, value, inner);
  const schema = constantInitialiserOf(flow.program, receiver) ?? unwrap(receiver);
  const part = inner.reduce<ts.Expression | undefined>((at, name) => schemaPart(at, name), schema);
  const text = part === undefined || part === schema ? '' : part.getText();
  if (strictSchema.test(text) && !/\.object\(/.test(text)) return makeSafe(origins, allUses);
  return /\.string\(/.test(text) ? makeSafe(origins, uses.nosql) : origins;
}

function schemaPart(node: ts.Expression | undefined, name: string): ts.Expression | undefined {
  let at = node && unwrap(node);
  for (let depth = 0; at !== undefined && depth < 6; depth += 1) {
    if (!ts.isCallExpression(at)) return undefined;
    const found = propertyOf(at.arguments[0], name);
    if (found !== undefined) return found;
    at = receiverOf(at);
  }
  return undefined;
}
