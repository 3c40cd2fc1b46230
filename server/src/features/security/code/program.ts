// An app's modules, which are parsed on demand, cached while there is room, and found through imports.
import ts from 'typescript';
import { type Declaration, readScopes, type Scopes } from './scopes.ts';
import { type FunctionNode, isFunction, methodName, propertyName, receiverOf, textOf, unwrap, walk } from './syntax.ts';

export interface Module {
  readonly path: string;
  readonly source: ts.SourceFile;
  readonly scopes: Scopes;
  /** The exports, keyed by name: an expression, a function or class, or a re-export from another module. */
  readonly exports: ReadonlyMap<string, ts.Node | ReExport>;
  readonly reExportsAllOf: readonly string[];
  readonly hasSyntaxErrors: boolean;
  /** The app modules that this module imports. */
  readonly imports: readonly string[];
}

interface ReExport {
  readonly specifier: string;
  readonly name: string;
}

export interface Program {
  readonly paths: readonly string[];
  add(path: string, text: string): void;
  remove(path: string): void;
  /** Returns `undefined` if the file does not exist or is nested too deeply to be parsed. */
  open(path: string): Module | undefined;
  moduleOf(node: ts.Node): Module;
  /** Finds a module's export, following re-exports. */
  findExport(path: string, name: string): ts.Node | undefined;
  resolve(from: string, specifier: string): string | undefined;
  importersOf(path: string): readonly string[];
}

/** A syntax tree needs about forty times the memory of its source. */
const maxOpenBytes = 1.5 * 1024 * 1024;

export function createProgram(): Program {
  const texts = new Map<string, string>();
  const open = new Map<string, Module>();
  const bySource = new WeakMap<ts.SourceFile, Module>();
  let openBytes = 0;
  let importers: Map<string, string[]> | undefined;

  function close(path: string): void {
    openBytes -= open.get(path)?.source.text.length ?? 0;
    open.delete(path);
  }

  function openModule(path: string): Module | undefined {
    const known = open.get(path);
    const text = texts.get(path);
    if (text === undefined) return undefined;
    close(path);
    const module = known ?? tryToRead(path, text);
    if (module === undefined) return undefined;
    open.set(path, module); // marks it as most recently used
    bySource.set(module.source, module);
    openBytes += text.length;
    for (const oldest of open.keys()) {
      if (openBytes <= maxOpenBytes || oldest === path) break;
      close(oldest);
    }
    return module;
  }

  /** A file that can't be parsed is removed, so files that import it can still be read. */
  function tryToRead(path: string, text: string): Module | undefined {
    try {
      return readModule(path, text, resolve);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      texts.delete(path);
      return undefined;
    }
  }

  function resolve(from: string, specifier: string): string | undefined {
    const base = basePath(from, specifier);
    if (base === undefined) return undefined;
    return candidates(base).find((path) => texts.has(path));
  }

  function findExport(path: string, name: string, depth = 0): ts.Node | undefined {
    const module = depth > 8 ? undefined : openModule(path);
    if (module === undefined) return undefined;
    const follow = (specifier: string, next: string) => {
      const target = resolve(path, specifier);
      return target === undefined ? undefined : findExport(target, next, depth + 1);
    };
    const found = module.exports.get(name);
    if (found !== undefined) return 'specifier' in found ? follow(found.specifier, found.name) : (found as ts.Node);
    for (const specifier of module.reExportsAllOf) {
      const node = follow(specifier, name);
      if (node !== undefined) return node;
    }
    return undefined;
  }

  /** Searches the unparsed sources, because parsing all files to find one file's importers would take too long. */
  function readImporters(): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const [from, text] of texts) {
      for (const [, specifier = ''] of text.matchAll(
        /(?:\bfrom|\brequire\(|\bimport)\s{0,9}['"]([^'"\n]{1,200})['"]/g,
      )) {
        const path = resolve(from, specifier);
        if (path === undefined) continue;
        const listed = found.get(path) ?? [];
        found.set(path, listed);
        if (!listed.includes(from) && listed.length < 50) listed.push(from);
      }
    }
    return found;
  }

  return {
    get paths() {
      return [...texts.keys()];
    },
    add: (path, text) => {
      texts.set(path, text);
      importers = undefined;
    },
    remove: (path) => {
      close(path);
      texts.delete(path);
      importers = undefined;
    },
    importersOf: (path) => {
      importers ??= readImporters();
      return importers.get(path) ?? [];
    },
    open: openModule,
    moduleOf: (node) => {
      const source = node.getSourceFile();
      const module = bySource.get(source);
      if (module === undefined) throw new Error(`no module: ${source.fileName}`);
      return module;
    },
    findExport,
    resolve,
  };
}

function readModule(path: string, text: string, resolve: Program['resolve']): Module {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, scriptKind(path));
  const exports = new Map<string, ts.Node | ReExport>();
  const reExportsAllOf: string[] = [];
  const scopes = readScopes(source);
  for (const statement of source.statements) readExports(statement, exports, reExportsAllOf);
  readAssignedExports(source, exports);
  // The parser stores the diagnostics on the file but does not declare them. Without a type checker, there is no other
  // way to get them.
  const { parseDiagnostics = [] } = source as ts.SourceFile & { readonly parseDiagnostics?: readonly unknown[] };
  const specifiers = scopes.declarations.flatMap(({ imported }) => imported?.specifier ?? []);
  const imports = [...new Set(specifiers)].flatMap((specifier) => resolve(path, specifier) ?? []);
  return { path, source, scopes, exports, reExportsAllOf, hasSyntaxErrors: parseDiagnostics.length > 0, imports };
}

function scriptKind(path: string): ts.ScriptKind {
  if (/\.[mc]?ts$/.test(path)) return ts.ScriptKind.TS;
  if (/\.tsx$/.test(path)) return ts.ScriptKind.TSX;
  return ts.ScriptKind.JSX;
}

type Exports = Map<string, ts.Node | ReExport>;

function readExports(statement: ts.Statement, exports: Exports, all: string[]): void {
  if (ts.isExportAssignment(statement)) exports.set('default', statement.expression);
  else if (ts.isExportDeclaration(statement)) readExportList(statement, exports, all);
  else if (!hasExportKeyword(statement)) return;
  else if (ts.isVariableStatement(statement)) {
    for (const { name } of statement.declarationList.declarations) {
      if (ts.isIdentifier(name)) exports.set(name.text, name);
    }
  } else if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) {
    const isDefault = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) === true;
    exports.set(isDefault ? 'default' : (statement.name?.text ?? 'default'), statement);
  }
}

const hasExportKeyword = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;

function readExportList(node: ts.ExportDeclaration, exports: Exports, all: string[]): void {
  const specifier = textOf(node.moduleSpecifier);
  if (node.exportClause === undefined) {
    if (specifier !== undefined) all.push(specifier);
    return;
  }
  if (!ts.isNamedExports(node.exportClause)) return;
  for (const { name, propertyName: original } of node.exportClause.elements) {
    const inner = original ?? name;
    if (specifier !== undefined) exports.set(name.text, { specifier, name: inner.text });
    else if (ts.isIdentifier(inner)) exports.set(name.text, inner);
  }
}

/** Reads exports such as `module.exports = …` and `exports.name = …`. */
function readAssignedExports(source: ts.SourceFile, exports: Exports): void {
  for (const statement of source.statements) {
    if (!ts.isExpressionStatement(statement)) continue;
    const node = unwrap(statement.expression);
    if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) continue;
    const [, name] = /^(?:module\.)?exports(?:\.(\w+))?$/.exec(node.left.getText(source)) ?? [undefined, null];
    if (name === null) continue;
    exports.set(name ?? 'default', node.right);
    const value = unwrap(node.right);
    if (name !== undefined || !ts.isObjectLiteralExpression(value)) continue;
    for (const property of value.properties) {
      const key = propertyName(property.name);
      if (key !== undefined) exports.set(key, ts.isPropertyAssignment(property) ? property.initializer : property);
    }
  }
}

function basePath(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    const parts = from.split('/').slice(0, -1);
    for (const part of specifier.split('/')) {
      if (part === '..') parts.pop();
      else if (part !== '.') parts.push(part);
    }
    return parts.join('/');
  }
  if (/^[@~]\//.test(specifier)) return `src/${specifier.slice(2)}`;
  return specifier.startsWith('src/') ? specifier : undefined;
}

const endings = ['ts', 'tsx', 'js', 'jsx', 'mjs', 'mts', 'cjs'];

function candidates(base: string): string[] {
  const bare = base.replace(/\.[mc]?jsx?$/, '');
  return [base, ...[base, bare, `${base}/index`].flatMap((stem) => endings.map((ending) => `${stem}.${ending}`))];
}

/** The app's own functions that a call may invoke, as far as they can be resolved by name. */
export function findCallees(program: Program, call: ts.CallExpression | ts.NewExpression): readonly FunctionNode[] {
  return findFunctions(program, call.expression, 0);
}

/** The functions that an expression may refer to. */
export function findFunctions(program: Program, node: ts.Node, depth = 0): readonly FunctionNode[] {
  if (depth > 8) return [];
  const at = ts.isExpression(node) ? unwrap(node) : node;
  if (isFunction(at)) return [at];
  if (ts.isIdentifier(at)) return functionsOfName(program, at, depth);
  if (ts.isClassLike(at))
    return at.members.flatMap((member: ts.Node) =>
      ts.isConstructorDeclaration(member) && isFunction(member) ? [member] : [],
    );
  if (ts.isShorthandPropertyAssignment(at)) return functionsOfName(program, at.name, depth);
  if (ts.isPropertyAccessExpression(at)) return membersOf(program, at.expression, at.name.text, depth);
  if (ts.isElementAccessExpression(at)) {
    return membersOf(program, at.expression, textOf(at.argumentExpression), depth);
  }
  if (ts.isConditionalExpression(at)) {
    return [at.whenTrue, at.whenFalse].flatMap((each) => findFunctions(program, each, depth + 1));
  }
  if (ts.isCallExpression(at)) return functionsOfCall(program, at, depth);
  return [];
}

const passesItsFunctionOn = /^(useCallback|useMemo|bind|memo|forwardRef|debounce|throttle|wrap|promisify)$/;

function functionsOfCall(program: Program, call: ts.CallExpression, depth: number): readonly FunctionNode[] {
  const callee = unwrap(call.expression);
  const name = ts.isIdentifier(callee) ? callee.text : (methodName(call) ?? '');
  if (!passesItsFunctionOn.test(name)) return [];
  const from = name === 'bind' ? receiverOf(call) : call.arguments[0];
  return from === undefined ? [] : findFunctions(program, from, depth + 1);
}

export function declarationOf(program: Program, name: ts.Identifier): Declaration | undefined {
  return program.moduleOf(name).scopes.find(name);
}

/** The node that an imported name refers to, in the module that exports it. */
export function importedNode(program: Program, declaration: Declaration): ts.Node | undefined {
  const { imported, node } = declaration;
  if (imported === undefined || imported.name === '*') return undefined;
  const path = program.resolve(node.getSourceFile().fileName, imported.specifier);
  return path === undefined ? undefined : program.findExport(path, imported.name);
}

function functionsOfName(program: Program, name: ts.Identifier, depth: number): readonly FunctionNode[] {
  const declaration = declarationOf(program, name);
  if (declaration === undefined) return [];
  if (declaration.value !== undefined) return findFunctions(program, declaration.value, depth + 1);
  const exported = importedNode(program, declaration);
  if (exported !== undefined) return findFunctions(program, exported, depth + 1);
  return declaration.definitions
    .filter(({ path, target }) => path.length === 0 && target.length === 0)
    .slice(0, 8)
    .flatMap(({ value }) => findFunctions(program, value, depth + 1));
}

/**
 * Functions that are properties of an object, methods of a class, or exports of a module. For an object literal, an
 * undefined `name` matches every property.
 */
function membersOf(
  program: Program,
  node: ts.Expression,
  name: string | undefined,
  depth: number,
): readonly FunctionNode[] {
  const object = unwrap(node);
  if (depth > 8) return [];
  if (object.kind === ts.SyntaxKind.ThisKeyword) return methodsOf(program, enclosingClass(object), name, depth);
  if (ts.isObjectLiteralExpression(object)) return propertiesOf(program, object, name, depth);
  if (ts.isNewExpression(object)) return methodsOf(program, classOf(program, object.expression), name, depth);
  if (ts.isPropertyAccessExpression(object)) return membersOfProperty(program, object, name, depth);
  if (!ts.isIdentifier(object)) return [];
  const declaration = declarationOf(program, object);
  if (declaration === undefined) return [];
  const { imported, value } = declaration;
  if (imported?.name === '*' && name !== undefined) {
    const path = program.resolve(object.getSourceFile().fileName, imported.specifier);
    const exported = path === undefined ? undefined : program.findExport(path, name);
    return exported === undefined ? [] : findFunctions(program, exported, depth + 1);
  }
  if (value !== undefined && ts.isClassLike(value)) return methodsOf(program, value, name, depth);
  const exported = importedNode(program, declaration);
  if (exported !== undefined) {
    if (ts.isClassLike(exported)) return methodsOf(program, exported, name, depth);
    return ts.isExpression(exported) ? membersOf(program, exported, name, depth + 1) : [];
  }
  return declaration.definitions
    .filter(({ path, target }) => path.length === 0 && target.length === 0)
    .slice(0, 8)
    .flatMap((definition) => membersOf(program, definition.value, name, depth + 1));
}

/** Resolves `this.repository.find` from the property's initialiser, or from assignments to it in the class. */
function membersOfProperty(
  program: Program,
  object: ts.PropertyAccessExpression,
  name: string | undefined,
  depth: number,
): readonly FunctionNode[] {
  if (unwrap(object.expression).kind !== ts.SyntaxKind.ThisKeyword) return [];
  const owner = enclosingClass(object);
  if (owner === undefined) return [];
  const values: ts.Expression[] = [];
  walk(owner, (node) => {
    if (ts.isPropertyDeclaration(node) && propertyName(node.name) === object.name.text && node.initializer) {
      values.push(node.initializer);
    }
    if (ts.isBinaryExpression(node) && node.left.getText() === `this.${object.name.text}`) values.push(node.right);
    return values.length < 4;
  });
  return values.flatMap((value) => membersOf(program, value, name, depth + 1));
}

function propertiesOf(
  program: Program,
  object: ts.ObjectLiteralExpression,
  name: string | undefined,
  depth: number,
): readonly FunctionNode[] {
  return object.properties
    .filter((property) => name === undefined || propertyName(property.name) === name)
    .slice(0, 50)
    .flatMap((property) => {
      if (ts.isPropertyAssignment(property)) return findFunctions(program, property.initializer, depth + 1);
      return findFunctions(program, property, depth + 1);
    });
}

function methodsOf(
  program: Program,
  owner: ts.ClassLikeDeclaration | undefined,
  name: string | undefined,
  depth: number,
): readonly FunctionNode[] {
  const found = (owner?.members ?? []).flatMap((member): readonly FunctionNode[] => {
    if (name === undefined || propertyName(member.name) !== name) return [];
    if (isFunction(member)) return [member];
    const isField = ts.isPropertyDeclaration(member) && member.initializer !== undefined;
    return isField && member.initializer ? findFunctions(program, member.initializer, depth + 1) : [];
  });
  const parent = owner?.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types[0];
  if (found.length > 0 || parent === undefined || depth > 8) return found;
  return methodsOf(program, classOf(program, parent.expression), name, depth + 1);
}

function classOf(program: Program, node: ts.Expression): ts.ClassLikeDeclaration | undefined {
  const at = unwrap(node);
  if (ts.isClassLike(at)) return at;
  if (!ts.isIdentifier(at)) return undefined;
  const declaration = declarationOf(program, at);
  if (declaration === undefined) return undefined;
  const value = declaration.value ?? importedNode(program, declaration);
  return value !== undefined && ts.isClassLike(value) ? value : undefined;
}

function enclosingClass(node: ts.Node): ts.ClassLikeDeclaration | undefined {
  for (let at = node.parent; at !== undefined; at = at.parent) if (ts.isClassLike(at)) return at;
  return undefined;
}

/** The value of a name that is assigned only once. */
export function constantInitialiserOf(program: Program, node: ts.Expression): ts.Expression | undefined {
  const bare = unwrap(node);
  if (!ts.isIdentifier(bare)) return undefined;
  const declaration = declarationOf(program, bare);
  const exported = declaration && importedNode(program, declaration);
  if (exported !== undefined && ts.isIdentifier(exported) && exported !== bare) {
    return constantInitialiserOf(program, exported);
  }
  const [only, ...more] = declaration?.definitions ?? [];
  return only !== undefined && more.length === 0 && only.path.length === 0 ? unwrap(only.value) : undefined;
}
