// Decides which declaration a name in a file refers to, and where that declaration gets its values: initialisers, later
// assignments, destructuring, and pushed elements. No type checker is used, because it would need all of the app's
// packages.
import ts from 'typescript';
import {
  type FunctionNode,
  isFunction,
  methodName,
  nodesOf,
  propertyName,
  receiverOf,
  textOf,
  unwrap,
} from './syntax.ts';

/** A place where a variable gets a value. */
export interface Definition {
  readonly at: ts.Node;
  readonly value: ts.Expression;
  /** The part of the value that is used, such as `['body', 'id']` for `const { body: { id } } = value`. */
  readonly path: readonly string[];
  /** The part of the variable that is set, such as `['url']` for `options.url = value`. */
  readonly target: readonly string[];
  /**
   * `add` means that the value is added to the existing value, as with `+=` and `push`. `each` means that the variable
   * is an element of the value.
   */
  readonly kind: 'set' | 'add' | 'each';
}

export interface Declaration {
  readonly id: number;
  readonly name: string;
  readonly node: ts.Node;
  readonly scope: ts.Node;
  readonly definitions: Definition[];
  /** Set for a parameter: its function, its index, and the part of it that is used. */
  readonly parameter?: { readonly fn: FunctionNode; readonly index: number; readonly path: readonly string[] };
  readonly imported?: ImportedName;
  /** Set for the name of a function or class. */
  readonly value?: FunctionNode | ts.ClassLikeDeclaration;
}

export interface ImportedName {
  readonly specifier: string;
  /** `default`, `*` for the whole module, or a name. */
  readonly name: string;
}

export interface Scopes {
  find(identifier: ts.Identifier): Declaration | undefined;
  readonly declarations: readonly Declaration[];
}

export function readScopes(source: ts.SourceFile): Scopes {
  const scopes = new Map<ts.Node, Map<string, Declaration>>();
  const declarations: Declaration[] = [];

  function declare(scope: ts.Node, name: string, node: ts.Node, more: Partial<Declaration> = {}): Declaration {
    const names = scopes.get(scope) ?? new Map<string, Declaration>();
    scopes.set(scope, names);
    const known = names.get(name);
    if (known !== undefined && more.parameter === undefined && more.value === undefined) return known;
    const declaration = { id: declarations.length, name, node, scope, definitions: [], ...more };
    names.set(name, declaration);
    declarations.push(declaration);
    return declaration;
  }

  function find(identifier: ts.Identifier): Declaration | undefined {
    for (let at: ts.Node | undefined = identifier.parent; at !== undefined; at = at.parent) {
      const found = scopes.get(at)?.get(identifier.text);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  declareNames(source, declare);
  readAssignments(source, find);
  return { find, declarations };
}

type Declare = (scope: ts.Node, name: string, node: ts.Node, more?: Partial<Declaration>) => Declaration;

function declareNames(source: ts.SourceFile, declare: Declare): void {
  for (const node of nodesOf(source)) {
    if (ts.isImportDeclaration(node)) declareImports(source, node, declare);
    else if (ts.isVariableDeclaration(node)) declareVariable(node, declare);
    else if (ts.isClassLike(node) && node.name !== undefined) {
      declare(blockOf(node), node.name.text, node, { value: node });
    }
    if (isFunction(node)) declareFunction(node, declare);
  }
}

function declareFunction(fn: FunctionNode, declare: Declare): void {
  if (ts.isFunctionDeclaration(fn) && fn.name !== undefined) declare(blockOf(fn), fn.name.text, fn, { value: fn });
  if (ts.isFunctionExpression(fn) && fn.name !== undefined) declare(fn, fn.name.text, fn, { value: fn });
  fn.parameters.forEach((parameter, index) => {
    eachName(parameter.name, [], (name, node, path, initial) => {
      const declaration = declare(fn, name, node, { parameter: { fn, index, path } });
      for (const value of [initial, path.length === 0 ? parameter.initializer : undefined]) {
        if (value !== undefined) declaration.definitions.push({ at: node, value, path: [], target: [], kind: 'add' });
      }
    });
  });
}

function declareVariable(node: ts.VariableDeclaration, declare: Declare): void {
  const list = node.parent;
  if (ts.isCatchClause(list)) {
    eachName(node.name, [], (name, at) => declare(list, name, at));
    return;
  }
  const isBlockScoped = (list.flags & ts.NodeFlags.BlockScoped) !== 0;
  const scope = isBlockScoped ? blockOf(list) : functionOf(list);
  const imported = requiredModule(node.initializer);
  const loop = list.parent;
  const iterated = ts.isForOfStatement(loop) || ts.isForInStatement(loop) ? loop.expression : undefined;
  eachName(node.name, [], (name, at, path, initial) => {
    const more = imported === undefined ? {} : { imported: { specifier: imported, name: path[0] ?? '*' } };
    const { definitions } = declare(scope, name, at, more);
    if (iterated !== undefined) definitions.push({ at: node, value: iterated, path, target: [], kind: 'each' });
    else if (node.initializer !== undefined) {
      definitions.push({ at: node, value: node.initializer, path, target: [], kind: 'set' });
    }
    if (initial !== undefined) definitions.push({ at: node, value: initial, path: [], target: [], kind: 'add' });
  });
}

function declareImports(source: ts.SourceFile, node: ts.ImportDeclaration, declare: Declare): void {
  const specifier = textOf(node.moduleSpecifier);
  const clause = node.importClause;
  if (specifier === undefined || clause === undefined) return;
  const add = (name: ts.Identifier, imported: string) =>
    declare(source, name.text, name, { imported: { specifier, name: imported } });
  if (clause.name !== undefined) add(clause.name, 'default');
  const bindings = clause.namedBindings;
  if (bindings === undefined) return;
  if (ts.isNamespaceImport(bindings)) add(bindings.name, '*');
  else for (const each of bindings.elements) add(each.name, (each.propertyName ?? each.name).text);
}

/** The module in `require('x')` and `await import('x')`. */
export function requiredModule(node: ts.Expression | undefined): string | undefined {
  const call = node && unwrap(node);
  if (call === undefined || !ts.isCallExpression(call)) return undefined;
  const callee = call.expression;
  const isRequire = ts.isIdentifier(callee) && callee.text === 'require';
  return isRequire || callee.kind === ts.SyntaxKind.ImportKeyword ? textOf(call.arguments[0]) : undefined;
}

type EachName = (name: string, node: ts.Node, path: readonly string[], initial: ts.Expression | undefined) => void;

function eachName(
  name: ts.BindingName,
  path: readonly string[],
  visit: EachName,
  node: ts.Node = name,
  initial?: ts.Expression,
): void {
  if (ts.isIdentifier(name)) {
    visit(name.text, node, path, initial);
    return;
  }
  name.elements.forEach((element, at) => {
    if (!ts.isBindingElement(element)) return;
    const key = ts.isObjectBindingPattern(name) ? propertyName(element.propertyName ?? element.name) : String(at);
    const next = element.dotDotDotToken !== undefined || key === undefined ? path : [...path, key];
    eachName(element.name, next, visit, element, element.initializer);
  });
}

type Find = (identifier: ts.Identifier) => Declaration | undefined;

function readAssignments(source: ts.SourceFile, find: Find): void {
  const add = (target: ts.Expression, definition: Omit<Definition, 'target'>) => {
    const place = placeOf(target);
    if (place === undefined) return;
    find(place.root)?.definitions.push({ ...definition, target: place.path });
  };
  for (const node of nodesOf(source)) {
    if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) {
      const kind = node.operatorToken.kind === ts.SyntaxKind.EqualsToken ? 'set' : 'add';
      eachTarget(node.left, [], (target, path) => add(target, { at: node, value: node.right, path, kind }));
    } else if (ts.isCallExpression(node) && /^(push|unshift|add)$/.test(methodName(node) ?? '')) {
      const receiver = receiverOf(node);
      for (const value of node.arguments) {
        const pushed = ts.isSpreadElement(value) ? value.expression : value;
        if (receiver !== undefined) add(receiver, { at: node, value: pushed, path: [], kind: 'add' });
      }
    } else if (ts.isForOfStatement(node) && ts.isExpression(node.initializer)) {
      add(node.initializer, { at: node, value: node.expression, path: [], kind: 'each' });
    }
  }
}

const isAssignment = (kind: ts.SyntaxKind): boolean =>
  kind === ts.SyntaxKind.EqualsToken ||
  kind === ts.SyntaxKind.PlusEqualsToken ||
  kind === ts.SyntaxKind.BarBarEqualsToken ||
  kind === ts.SyntaxKind.QuestionQuestionEqualsToken ||
  kind === ts.SyntaxKind.AmpersandAmpersandEqualsToken;

/** Visits the targets of an assignment, including destructuring such as `({ a, b: c } = value)`. */
function eachTarget(
  node: ts.Expression,
  path: readonly string[],
  visit: (target: ts.Expression, path: readonly string[]) => void,
): void {
  const target = unwrap(node);
  if (ts.isObjectLiteralExpression(target)) {
    for (const property of target.properties) {
      const key = propertyName(property.name);
      if (key === undefined) continue;
      if (ts.isPropertyAssignment(property)) eachTarget(property.initializer, [...path, key], visit);
      if (ts.isShorthandPropertyAssignment(property)) visit(property.name, [...path, key]);
    }
  } else if (ts.isArrayLiteralExpression(target)) {
    target.elements.forEach((element, at) => {
      eachTarget(element, [...path, String(at)], visit);
    });
  } else visit(target, path);
}

/** Returns `a` and `['b', 'c']` for `a.b.c`, or `undefined` if the expression does not start with a name. */
function placeOf(node: ts.Expression): { readonly root: ts.Identifier; readonly path: readonly string[] } | undefined {
  const path: string[] = [];
  let at = unwrap(node);
  while (ts.isPropertyAccessExpression(at) || ts.isElementAccessExpression(at)) {
    const key = ts.isPropertyAccessExpression(at) ? at.name.text : textOf(at.argumentExpression);
    if (key !== undefined) path.unshift(key);
    else path.length = 0;
    at = unwrap(at.expression);
  }
  return ts.isIdentifier(at) ? { root: at, path } : undefined;
}

function blockOf(node: ts.Node): ts.Node {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isBlock(at) || ts.isSourceFile(at) || ts.isModuleBlock(at) || ts.isCaseBlock(at) || isFunction(at))
      return at;
    if (ts.isForStatement(at) || ts.isForOfStatement(at) || ts.isForInStatement(at)) return at;
  }
  return node.getSourceFile();
}

function functionOf(node: ts.Node): ts.Node {
  for (let at = node.parent; at !== undefined; at = at.parent) if (isFunction(at) || ts.isSourceFile(at)) return at;
  return node.getSourceFile();
}
