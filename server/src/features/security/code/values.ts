// The origins of an expression's value. The value is traced back to a source or a parameter, through variables,
// destructuring, templates, objects, and calls to the app's own functions and to known functions.
import ts from 'typescript';
import { checksAt } from './checks.ts';
import { reachingDefinitions } from './definitions.ts';
import type { Flow, Path } from './flow.ts';
import { keyOf } from './keys.ts';
import { asParts, makeSafe, mergeOrigins, type Origin, originOf, uses, withKey } from './origins.ts';
import { declarationOf, importedNode, type Program } from './program.ts';
import { followCall, originsOfValueOrFunction } from './returned-values.ts';
import type { Declaration, Definition } from './scopes.ts';
import { labelOfGlobal, labelOfSecret, originOfParameter } from './sources.ts';
import {
  dottedName,
  isFunction,
  isTemplatePiece,
  methodName,
  partsOf,
  propertyName,
  receiverOf,
  textOf,
  unwrap,
} from './syntax.ts';
import { followParts } from './texts.ts';

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

/** The origins of an expression's value, or of a part of it. Empty if it is constant, harmless or the app's own. */
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
  memo.set(key, []); // a value that depends on itself adds no origins
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

function followName(flow: Flow, node: ts.Identifier, path: Path): readonly Origin[] {
  const declaration = declarationOf(flow.program, node);
  if (declaration === undefined) {
    const label = labelOfGlobal([node.text, ...path]);
    if (label === undefined) return [];
    // A page's full URL points to that page.
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
  // After `options.url = value`, a read of `options`, `options.url` or a part of it sees the value.
  const shared = Math.min(target.length, path.length);
  if (target.slice(0, shared).join('\0') !== path.slice(0, shared).join('\0')) return [];
  const origins = originsOf(flow, value, [...taken, ...path.slice(shared)]);
  // `address.pathname = value` does not change where the URL points.
  const isAfterHost = path.length === 0 && /^(pathname|search|hash|port)$/.test(target[0] ?? '');
  return isAfterHost ? makeSafe(origins, uses.address | uses.redirect) : origins;
}

/** For `const [value, setValue] = useState(first)`, the origins of all values passed to `setValue`. */
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
    // The setter is passed as a callback, as in `load().then(setValue)`.
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
  // An entry from the app's own list is still the app's own, even if the caller chose the key.
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
  // Other tags, such as sql`…` and html`…`, receive values separately from the text and make them safe.
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

/** The beginning of a URL determines its host. If the URL starts with a path, its base determines the host. */
function followAddress(flow: Flow, node: ts.NewExpression, first: ts.Expression, path: Path): readonly Origin[] {
  const [part] = path;
  const base = node.arguments?.[1];
  // A base such as `request.url` is the app's own URL.
  const isOwnBase = base === undefined || /(\.|^)(url|href|origin|baseURI)$/.test(base.getText());
  const origins = [...originsOf(flow, first), ...(isOwnBase ? [] : originsOf(flow, base))];
  if (part === undefined || wholeAddress.test(part)) return origins;
  const freed = ~(uses.address | uses.redirect | uses.cors);
  return origins.map((origin) => ({ ...origin, safeFor: origin.safeFor & freed }));
}
