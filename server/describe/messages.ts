// Extracts all messages that callers can see from the source, and writes docs/generated/messages.md.
//
// Errors other than 422 come from `new Problem(kind, code, message)`, and from calls of functions that pass on their
// parameters as the code or message. Example:
//
//   const unauthenticated = (code, message) => new Problem('unauthenticated', code, message);
//   unauthenticated('credentials_expired', 'The credential has expired. …')      ← code and message
//
// 422 messages are all texts that begin with "must" or "is", as STYLE.md requires, in the modules that check requests,
// and the texts appended to them, as in `${msg}. To allow …`.
//
// After the tests, server/test/support/observed.ts compares these messages with those that the tests received.
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Route } from '../src/core/auth/route.ts';
import { notFound } from '../src/kit/problem.ts';
import { errorCodes } from './errors.ts';

/** Strings, and the names of the values between them. Example: `['At most ', { name: 'quota' }, ' requests …']`. */
export type Message = readonly (string | { readonly name: string })[];

export interface Messages {
  /** The messages, keyed by error code. */
  readonly problems: ReadonlyMap<string, readonly Message[]>;
  /** The messages of 422 responses. */
  readonly faults: readonly Message[];
}

const root = fileURLToPath(new URL('../src/', import.meta.url));
/** These files check settings and archives, not requests. */
const otherChecks =
  /^(config\.ts|config\/|commands\/|kit\/archive\/|kit\/outbound\/address\.ts|.*\/(archive-rows|import)\.ts)/;

export function collectMessages(routes: readonly Route[]): Messages {
  const program = createProgram();
  const files = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(root));
  const reader = createReader(program.getTypeChecker());
  const checks = files.filter(({ fileName }) => !otherChecks.test(fileName.slice(root.length)));
  return { problems: collectProblems(files, routes, reader), faults: collectFaults(checks, reader) };
}

/**
 * Resolves names across our own files. Packages and libraries are not read, because reading them would take seconds.
 */
function createProgram(): ts.Program {
  const names = globSync('**/*.ts', { cwd: root }).filter((name) => !name.endsWith('.test.ts'));
  const options: ts.CompilerOptions = { noLib: true, types: [], allowImportingTsExtensions: true };
  const host = ts.createCompilerHost(options, true);
  host.resolveModuleNameLiterals = (literals, importer) =>
    literals.map(({ text }) => {
      if (!text.startsWith('.')) return { resolvedModule: undefined };
      const resolvedFileName = fileURLToPath(new URL(text, `file://${importer}`));
      return { resolvedModule: { resolvedFileName, extension: ts.Extension.Ts } };
    });
  return ts.createProgram(
    names.map((name) => root + name),
    options,
    host,
  );
}

// ---- errors with a code

type Call = ts.CallExpression | ts.NewExpression;

/**
 * The positions of the code and the message among a function's or constructor's arguments. A fixed code is a string.
 */
interface Emitter {
  readonly code: number | string;
  readonly message: number;
}

function collectProblems(
  files: readonly ts.SourceFile[],
  routes: readonly Route[],
  reader: Reader,
): Map<string, Message[]> {
  const problems = new Map<string, Message[]>();
  const calls = files.flatMap((file) => listNodes(file, isCall));
  // Resolving a symbol may load many types, so only calls with a matching name are resolved.
  const callsByName = Map.groupBy(calls, ({ expression }) => nameOfCalled(expression));
  const emitters = new Map<ts.Symbol, Emitter>();
  const problemClass = files
    .flatMap((file) => listNodes(file, ts.isClassDeclaration))
    .find((each) => each.name?.text === 'Problem');
  const pending = [{ symbol: reader.findSymbol(problemClass?.name), emitter: { code: 1, message: 2 } as Emitter }];
  for (const { symbol, emitter } of pending) {
    if (symbol === undefined || emitters.has(symbol)) continue;
    emitters.set(symbol, emitter);
    for (const call of callsByName.get(symbol.name) ?? []) {
      if (reader.findSymbol(call.expression) !== symbol) continue;
      const outer = readCall(call, emitter, reader, problems);
      if (outer !== undefined) pending.push(outer);
    }
  }
  addNotFound(calls, routes, problems);
  return problems;
}

const nameOfCalled = (expression: ts.Expression): string | undefined =>
  ts.isIdentifier(expression)
    ? expression.text
    : ts.isPropertyAccessExpression(expression)
      ? expression.name.text
      : undefined;

/** Adds the `_not_found` codes. Guards build them from resource names, so they are read from the routes. */
function addNotFound(calls: readonly Call[], routes: readonly Route[], problems: Map<string, Message[]>): void {
  const literal = calls
    .filter(({ expression }) => expression.getText() === 'notFound')
    .flatMap(({ arguments: [code] = [] }) => (code && ts.isStringLiteralLike(code) ? [code.text] : []));
  const byGuards = routes
    .flatMap(({ access }) => access.refusals.map(({ code }) => code))
    .filter((code) => code.endsWith('_not_found'));
  for (const code of new Set([...literal, ...byGuards]))
    problems.set(code, [[notFound(code).message], ...(problems.get(code) ?? [])]);
}

/** Adds the call's messages. If the message is a parameter of the enclosing function, returns that function instead. */
function readCall(call: Call, emitter: Emitter, reader: Reader, problems: Map<string, Message[]>) {
  const argument = (index: number) => call.arguments?.[index] ?? fail(call, 'has too few arguments');
  const message = argument(emitter.message);
  const code = typeof emitter.code === 'string' ? emitter.code : argument(emitter.code);
  const messageParameter = reader.findParameter(message);
  const codeParameter = typeof code === 'string' ? undefined : reader.findParameter(code);
  const codeText = typeof code === 'string' ? code : ts.isStringLiteralLike(code) ? code.text : undefined;
  if (messageParameter !== undefined) {
    const inner = {
      code: codeText ?? codeParameter?.index ?? fail(call, 'has no code'),
      message: messageParameter.index,
    };
    return { symbol: messageParameter.owner, emitter: inner };
  }
  if (codeParameter?.owner?.name === 'notFound') return undefined; // see addNotFound
  if (codeText === undefined) return fail(call, 'has a code that is not a literal');
  const texts = reader.read(message) ?? fail(call, "has a message that can't be read");
  problems.set(codeText, uniqueMessages([...(problems.get(codeText) ?? []), ...texts]));
  return undefined;
}

function fail(node: ts.Node, why: string): never {
  const file = node.getSourceFile();
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  throw new Error(`${file.fileName}:${line + 1}: the call ${why}, so docs/generated/messages.md would be incomplete`);
}

// ---- 422

function collectFaults(files: readonly ts.SourceFile[], reader: Reader): Message[] {
  const texts = files
    .flatMap((file) => listNodes(file, isText))
    .filter((node) => /^.(must [a-z]+ |is (?!not.$|distinct from)\w+|\$\{msg\})/.test(node.getText()));
  return uniqueMessages(texts.flatMap((node) => reader.read(node) ?? []));
}

const isText = (node: ts.Node): node is ts.StringLiteralLike | ts.TemplateExpression =>
  ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

// ---- reading texts

interface Reader {
  findSymbol(node: ts.Node | undefined): ts.Symbol | undefined;
  /** Finds the parameter that an expression refers to, and its function. */
  findParameter(node: ts.Expression): { readonly owner: ts.Symbol | undefined; readonly index: number } | undefined;
  /** Returns all texts that an expression may evaluate to. Undefined if the expression can't be read. */
  read(node: ts.Expression): Message[] | undefined;
}

function createReader(checker: ts.TypeChecker): Reader {
  const findSymbol = (node: ts.Node | undefined): ts.Symbol | undefined => {
    const symbol = node && checker.getSymbolAtLocation(node);
    return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  };
  const findDeclaration = (node: ts.Expression) => findSymbol(node)?.valueDeclaration;

  const findParameter: Reader['findParameter'] = (node) => {
    const declaration = findDeclaration(node);
    if (declaration === undefined || !ts.isParameter(declaration)) return undefined;
    const { parent } = declaration;
    const name = ts.isFunctionDeclaration(parent) ? parent.name : (parent.parent as ts.VariableDeclaration).name;
    return { owner: findSymbol(name), index: parent.parameters.indexOf(declaration) };
  };

  /** Finds a constant's initialiser. */
  const findValue = (node: ts.Expression): ts.Expression | undefined => {
    const declaration = findDeclaration(node);
    return declaration && ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  };

  const read = (node: ts.Expression): Message[] | undefined => {
    if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return [[node.text]];
    if (ts.isParenthesizedExpression(node)) return read(node.expression);
    if (ts.isConditionalExpression(node)) return readAll([node.whenTrue, node.whenFalse]);
    if (ts.isTemplateExpression(node)) return readTemplate(node);
    if (ts.isElementAccessExpression(node)) {
      const table = findValue(node.expression);
      if (table === undefined || !ts.isObjectLiteralExpression(table)) return undefined;
      return readAll(table.properties.filter(ts.isPropertyAssignment).map((property) => property.initializer));
    }
    if (ts.isCallExpression(node)) {
      const called = findValue(node.expression);
      return called && ts.isArrowFunction(called) && !ts.isBlock(called.body) ? read(called.body) : undefined;
    }
    const value = ts.isIdentifier(node) ? findValue(node) : undefined;
    return value && read(value);
  };

  const readAll = (nodes: readonly ts.Expression[]): Message[] | undefined => {
    const texts = nodes.map(read);
    return texts.every((each) => each !== undefined) ? texts.flat() : undefined;
  };

  const readTemplate = (node: ts.TemplateExpression): Message[] =>
    node.templateSpans.reduce<Message[]>(
      (before, { expression, literal }) => {
        const inner: Message[] = read(expression) ?? [[{ name: nameOf(expression) }]];
        return before.flatMap((start) => inner.map((middle) => [...start, ...middle, literal.text]));
      },
      [[node.head.text]],
    );

  return { findSymbol, findParameter, read };
}

/**
 * Names a placeholder. `limit.windowSeconds` becomes "window seconds", and `listAcceptedKinds(accepted)` becomes
 * "accepted kinds".
 */
function nameOf(node: ts.Expression): string {
  if (ts.isCallExpression(node)) {
    const [first] = node.arguments;
    if (first !== undefined && node.expression.getText() === 'Object.keys') return nameOf(first);
    return nameOf(node.expression).replace(/^(list|describe) /, '');
  }
  if (ts.isPropertyAccessExpression(node))
    return ['join', 'keys'].includes(node.name.text) ? nameOf(node.expression) : toWords(node.name.text);
  if (ts.isElementAccessExpression(node) || ts.isSpreadElement(node)) return nameOf(node.expression);
  if (ts.isArrayLiteralExpression(node) && node.elements[0] !== undefined) return nameOf(node.elements[0]);
  return ts.isIdentifier(node) ? toWords(node.text) : '…';
}

const toWords = (name: string): string =>
  name.replace(/_|[A-Z]/g, (letter) => (letter === '_' ? ' ' : ` ${letter.toLowerCase()}`));

const isCall = (node: ts.Node): node is Call => ts.isCallExpression(node) || ts.isNewExpression(node);

function listNodes<Node extends ts.Node>(file: ts.SourceFile, is: (node: ts.Node) => node is Node): Node[] {
  const found: Node[] = [];
  const visit = (node: ts.Node): void => {
    if (is(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

// ---- writing

/** Writes the message in readable form. Example: `At most {quota} requests …`. */
const toText = (message: Message): string =>
  message.map((part) => (typeof part === 'string' ? part : `{${part.name}}`)).join('');

const uniqueMessages = (messages: readonly Message[]): Message[] => [
  ...new Map(messages.map((message) => [toText(message), message])).values(),
];

/** Returns a pattern that matches every text sent for this message. */
export function toPattern(message: Message): RegExp {
  const source = message.map((part) =>
    typeof part === 'string' ? part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') : '.*',
  );
  return new RegExp(`^${source.join('')}$`, 's');
}

export function describeMessages({ problems, faults }: Messages): string {
  const byStatus = Map.groupBy(Object.entries(errorCodes), ([, { status }]) => status);
  const toCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  const rowsOf = (code: string) =>
    (problems.get(code) ?? [])
      .map(toText)
      .sort()
      .map((text) => `| \`${code}\` | ${toCell(text)} |`);
  return [
    '# Messages',
    '',
    'Generated by `npm run describe` from the source. Do not edit.',
    '',
    'Every message that a caller can see. What stands in braces is filled in. Messages are for people and may change;',
    'programs decide by the code. [errors.md](errors.md) says what each code means and what to do.',
    ...[...byStatus]
      .sort(([a], [b]) => a - b)
      .flatMap(([status, codes]) => [
        '',
        `## ${status}`,
        '',
        '| Code | Message |',
        '|---|---|',
        ...codes.flatMap(([code]) => rowsOf(code)),
      ]),
    '',
    '## 422',
    '',
    'The `msg` of a [validation error](../api/conventions.md#validation-errors) follows the name of the field.',
    '',
    ...faults.map((fault) => `- ${toCell(toText(fault))}`).sort(),
    '',
  ].join('\n');
}
