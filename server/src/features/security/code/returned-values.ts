// The origins of call results: for the app's own functions, known functions, and methods of strings and lists.
import ts from 'typescript';
import type { Flow, Path } from './flow.ts';
import { methodKey } from './keys.ts';
import { harmlessMethods, passesOn, returnsHarmless, sanitiserBits, strictSchema } from './known.ts';
import { allUses, asParts, makeSafe, mergeOrigins, type Origin, originOf, uses } from './origins.ts';
import { constantInitialiserOf, declarationOf, findCallees, findFunctions, importedNode } from './program.ts';
import { readRegExp, usesSafeAfterReplace } from './samples.ts';
import { labelOfGlobal, labelOfSecret } from './sources.ts';
import {
  dottedName,
  type FunctionNode,
  isFunction,
  methodName,
  propertyOf,
  receiverOf,
  returnsOf,
  textOf,
  unwrap,
} from './syntax.ts';
import { followParts } from './texts.ts';

export function followCall(flow: Flow, node: ts.CallExpression, path: Path): readonly Origin[] {
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
    return makeSafe(mergeOrigins(node.arguments.flatMap((arg) => flow.originsOf(arg))), bits);
  }
  if (/^(useMemo|useCallback|untrack|startTransition|computed)$/.test(name) && node.arguments[0] !== undefined) {
    return originsOfValueOrFunction(flow, node.arguments[0], path);
  }
  if (passesOn.test(name)) return followPassedOn(flow, node, name, path);
  if (name === 'fetch' && ownFile.test(textOf(node.arguments[0]) ?? '')) return [];
  if (method !== undefined) return followMethod(flow, node, method, path);
  return [originOf('stored', node)];
}

/** One of the app's own files, such as a header that every page includes. */
const ownFile = /^\.{0,2}\/[\w/.-]+\.(html|svg|md|json|css)$/;

function followPassedOn(flow: Flow, node: ts.CallExpression, name: string, path: Path): readonly Origin[] {
  const args = [...node.arguments];
  if (name === 'JSON.stringify') return flow.originsOf(args[0] ?? node, []);
  if (/^(path\.(posix\.)?)?(join|resolve)$/.test(name)) return args.flatMap((arg) => asParts(flow.originsOf(arg)));
  const isObject = /^(Object\.(assign|freeze|values|entries)|structuredClone|cloneDeep|merge|Array\.|Promise\.)/.test(
    name,
  );
  return args.flatMap((arg) => {
    const inner = isObject ? path : [];
    return flow.originsOf(arg, inner);
  });
}

/**
 * The origins of the value that one of the app's own functions returns, with its parameters replaced by the arguments.
 */
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

/** If an origin is a parameter of the called function, replaces it with the argument's origins. */
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
  const origins = flow.originsOf(passed, parameter.path);
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
      // A named function gets its parameter from the receiver here. An inline function is already resolved.
      return callback !== undefined
        ? returned
        : returned.flatMap((origin) => replaceParameter(flow, origin, fn, [receiver]));
    }
  }
  if (method === 'filter' && callback !== undefined) return followFilter(flow, receiver, callback, path);
  if (method === 'replace' || method === 'replaceAll') return followReplace(flow, node, receiver, method);
  if (method === 'join') return followJoin(flow, node, receiver);
  if (method === 'concat') return asParts([receiver, ...node.arguments].flatMap((each) => flow.originsOf(each)));
  if (/^(slice|substring|substr|at|charAt)$/.test(method)) return followSlice(flow, node, receiver, path);
  if (/^(parse|safeParse|parseAsync|validate|validateSync|check)$/.test(method))
    return followSchema(flow, node, receiver, path);
  if (/^(catch|finally)$/.test(method)) return flow.originsOf(receiver, path);
  const origins = flow.originsOf(receiver, [methodKey(node, method), ...path]);
  // The value is sanitised, as in `unified().use(rehypeSanitize).process(text)`.
  if (/sanitize/i.test(node.expression.getText())) return makeSafe(origins, uses.html);
  if (origins.length > 0) return origins;
  return isOwnValue(flow, receiver) ? [] : [originOf('stored', node)];
}

/** Whether a receiver is one of the app's constant lists, maps or strings, so its methods return constants as well. */
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
      return inner !== bare && !ts.isIdentifier(inner) ? isOwnValue(flow, inner) : flow.originsOf(inner).length === 0;
    })
  );
}

function followFilter(flow: Flow, receiver: ts.Expression, callback: ts.Expression, path: Path): readonly Origin[] {
  const fn = unwrap(callback);
  const origins = flow.originsOf(receiver, path);
  if (!isFunction(fn) || origins.length === 0) return origins;
  // `filter((name) => allowed.includes(name))` keeps only allowed values.
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
  const origins = flow.originsOf(receiver);
  if (pattern === undefined || replacement === undefined) return origins;
  const replaced = flow.originsOf(replacement);
  const by = unwrap(replacement);
  const text = textOf(by);
  const bare = unwrap(
    ts.isIdentifier(unwrap(pattern)) ? (constantInitialiserOf(flow.program, pattern) ?? pattern) : pattern,
  );
  const all = method === 'replaceAll';
  let bits = 0;
  if (text !== undefined) bits = usesSafeAfterReplace(bare, text, all);
  // A function or a table of entities replaces each match with a harmless string.
  else if (replaced.length === 0) bits = usesSafeAfterReplace(bare, '_', all);
  const isMasked = text !== undefined && /^[*•x]+$/i.test(text) && readRegExp(bare) !== undefined;
  const kept = isMasked ? origins.filter(({ label }) => label !== 'secret') : origins;
  const inserted = replaced.filter(({ label }) => label !== 'stored' || text === undefined);
  return [...makeSafe(kept, bits), ...(isFunction(by) || text !== undefined ? [] : asParts(inserted))];
}

/** A joined array becomes a string of its elements. */
function followJoin(flow: Flow, node: ts.CallExpression, receiver: ts.Expression): readonly Origin[] {
  const elements = unwrap(receiver);
  if (ts.isArrayLiteralExpression(elements) && textOf(node.arguments[0]) === '') {
    return followParts(flow, elements.elements);
  }
  if (ts.isArrayLiteralExpression(elements) && textOf(node.arguments[0]) === '/') {
    return elements.elements.flatMap((element, at) =>
      makeSafe(asParts(flow.originsOf(element)), at > 0 ? uses.address | uses.redirect : 0),
    );
  }
  return asParts(flow.originsOf(receiver, ['*']));
}

function followSlice(flow: Flow, node: ts.CallExpression, receiver: ts.Expression, path: Path): readonly Origin[] {
  const origins = flow.originsOf(receiver, path);
  // A few characters that help to identify a secret do not reveal it.
  const text = node.arguments.map((arg) => arg.getText()).join(',');
  const isShort = /^-[1-8]$|^0,\s*[1-9]$|^-\d,/.test(text);
  return isShort ? origins.filter(({ label }) => label !== 'secret') : origins;
}

/** In the result of `schema.parse(body)`, parts that the schema limits to numbers, ids or a list of words are safe. */
function followSchema(flow: Flow, node: ts.CallExpression, receiver: ts.Expression, path: Path): readonly Origin[] {
  const [value] = node.arguments;
  if (value === undefined) return [];
  const inner = path[0] === 'data' || path[0] === 'value' ? path.slice(1) : path;
  const origins = flow.originsOf(value, inner);
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

/** For parameters that accept either a value or a function that returns it. */
export function originsOfValueOrFunction(flow: Flow, node: ts.Expression, path: Path): readonly Origin[] {
  const bare = unwrap(node);
  return isFunction(bare) ? originsOfReturn(flow, bare, path) : flow.originsOf(bare, path);
}

const originsOfReturn = (flow: Flow, fn: FunctionNode, path: Path): readonly Origin[] =>
  mergeOrigins(returnsOf(fn).flatMap((returned) => flow.originsOf(returned, path)));
