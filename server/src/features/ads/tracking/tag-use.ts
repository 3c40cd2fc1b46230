// Finds the conversion tags in a file by parsing it: the tags that it loads and configures, and the conversions
// that it reports. Nothing is executed. Use it through `tag-use-thread.ts`, because parsing has no time limit here.
//
//   <script async src="https://www.googletagmanager.com/gtag/js?id=AW-1"></script>   loads AW-1
//   gtag('config', 'AW-1')                                                           configures AW-1
//   window.gtag?.('event', 'conversion', { send_to: 'AW-1/abc' })                    reports AW-1/abc
//   const goal = 'AW-1/abc'; … { send_to: goal }                                     reports AW-1/abc
//   { send_to: goals[type] }                                                         reports an unknown target
//   <script src="/app.js">                                                           includes app.js
import { parse as parseScript } from '@babel/parser';
import { parse as parseHtml } from 'parse5';
import { type Element, getAttribute, listElements, listInlineScripts, scriptTypes } from '../../../kit/html.ts';
import { readTagId, tagWords } from './tag.ts';

export interface TagFile {
  readonly path: string;
  readonly text: string;
}

export interface TagCall {
  /** A target such as `AW-1/abc`, or null if the script computes it. */
  readonly sendTo: string | null;
  readonly line: number;
}

export interface TagUse {
  readonly loads: readonly string[];
  readonly configures: readonly string[];
  readonly calls: readonly TagCall[];
  /** The paths of the app's own scripts that a page references. */
  readonly includes: readonly string[];
  /** False if a script could not be parsed or a list was truncated. */
  readonly isComplete: boolean;
}

/**
 * Higher than any number written by hand. A file may contain a million entries, which would block the process that
 * compares them.
 */
const maxListed = 1_000;
const listNames = ['loads', 'configures', 'calls', 'includes'] as const;
const nothing: TagUse = { loads: [], configures: [], calls: [], includes: [], isComplete: true };

export function readTagUse({ path, text }: TagFile): TagUse {
  const use = orIncomplete(() => (isPage(path) ? readPage(path, text) : readScript(text, 1)));
  if (listNames.every((name) => use[name].length <= maxListed)) return use;
  const cut = Object.fromEntries(listNames.map((name) => [name, use[name].slice(0, maxListed)]));
  return { ...use, ...cut, isComplete: false };
}

function orIncomplete(read: () => TagUse): TagUse {
  try {
    return read();
  } catch (error) {
    // The parsers recurse, so deep nesting causes a RangeError.
    if (error instanceof SyntaxError || error instanceof RangeError) return { ...nothing, isComplete: false };
    throw error;
  }
}

export const isPage = (path: string): boolean => /\.html?$/i.test(path);
export const isScript = (path: string): boolean => /\.[cm]?js$/i.test(path);

const mentionsTag = (text: string): boolean => tagWords.some((word) => text.includes(word));

const join = (uses: readonly TagUse[]): TagUse => ({
  loads: uses.flatMap(({ loads }) => loads),
  configures: uses.flatMap(({ configures }) => configures),
  calls: uses.flatMap(({ calls }) => calls),
  includes: uses.flatMap(({ includes }) => includes),
  isComplete: uses.every(({ isComplete }) => isComplete),
});

// ---- pages

function readPage(path: string, text: string): TagUse {
  const elements = [...listElements(parseHtml(text, { sourceCodeLocationInfo: true }), false)];
  const sources = elements.flatMap((element) => readSource(element));
  const loads = sources.flatMap((source) => readTagId(source) ?? []);
  const includes = sources.flatMap((source) => toPath(source, path) ?? []);
  const scripts = listInlineScripts(elements).filter(({ type }) => scriptTypes.has(type));
  const all = [...scripts, ...elements.flatMap(listHandlers)].filter(({ script }) => mentionsTag(script));
  const read = all.map(({ script, line }) => orIncomplete(() => readScript(script, line)));
  return join([{ ...nothing, loads, includes }, ...read]);
}

/** The `src` of a script that browsers execute. */
function readSource(element: Element): string[] {
  const source = element.nodeName === 'script' ? getAttribute(element, 'src') : undefined;
  const type = getAttribute(element, 'type')?.trim().toLowerCase() ?? '';
  return source === undefined || !scriptTypes.has(type) ? [] : [source];
}

const appHost = 'app.invalid';

/** The path of one of the app's own scripts, or undefined if the script is on another host. */
function toPath(source: string, page: string): string | undefined {
  const url = URL.parse(source, `https://${appHost}/${page}`);
  if (url?.host !== appHost) return undefined;
  const path = url.pathname.slice(1);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Lists event handlers such as `onclick`, whose values are function bodies. */
const listHandlers = ({ attrs, sourceCodeLocation }: Element) =>
  attrs
    .filter(({ name }) => name.startsWith('on'))
    .map(({ value }) => ({ script: value, line: sourceCodeLocation?.startLine ?? 1 }));

// ---- scripts

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

function readScript(text: string, firstLine: number): TagUse {
  const { program } = parseScript(text, {
    sourceType: 'unambiguous',
    attachComment: false,
    allowReturnOutsideFunction: true, // allowed in event handlers
  });
  const nodes = [...listNodes(program as unknown as Node)];
  const constants = readConstants(nodes);
  const calls = nodes.filter(isTagCall).map(({ arguments: sent, loc }) => ({
    sent: sent as Node[],
    line: firstLine + (loc as { start: { line: number } }).start.line - 1,
  }));
  return {
    ...nothing,
    loads: nodes.flatMap((node) => readTagId(readText(node, constants) ?? '') ?? []),
    configures: calls.flatMap(({ sent: [command, id] }) =>
      readText(command, constants) === 'config' ? (readText(id, constants) ?? []) : [],
    ),
    calls: calls
      .filter(
        ({ sent: [command, event] }) =>
          readText(command, constants) === 'event' && readText(event, constants) === 'conversion',
      )
      .flatMap(({ sent: [, , fields], line }) => readTargets(fields, constants).map((sendTo) => ({ sendTo, line })))
      .sort((a, b) => a.line - b.line),
  };
}

/** Uses an explicit stack, because a script may be nested too deeply for recursion. */
function* listNodes(program: Node): Generator<Node> {
  const waiting: Node[] = [program];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) waiting.push(child);
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';

/** `gtag(…)`, `window.gtag(…)`, `window.gtag?.(…)` or `window['gtag'](…)`. */
function isTagCall({ type, callee }: Node): boolean {
  if ((type !== 'CallExpression' && type !== 'OptionalCallExpression') || !isNode(callee)) return false;
  if (callee.type === 'Identifier') return callee.name === 'gtag';
  const { object, property } = callee;
  const isGlobal = isNode(object) && ['window', 'globalThis', 'self'].includes(String(object.name));
  return isGlobal && isNode(property) && (property.name ?? property.value) === 'gtag';
}

/** The names that are declared once with a string value and never reassigned. */
function readConstants(nodes: readonly Node[]): ReadonlyMap<string, string> {
  const declared = nodes.filter(({ type }) => type === 'VariableDeclarator');
  const changed = new Set(nodes.flatMap(listChangedNames));
  const byName = Map.groupBy(declared, ({ id }) => (isNode(id) ? String(id.name) : ''));
  const constants = new Map<string, string>();
  for (const [name, declarations] of byName) {
    const isConstant = declarations.length === 1 && !changed.has(name);
    const text = isConstant ? readText(declarations[0]?.init) : undefined;
    if (text !== undefined) constants.set(name, text);
  }
  return constants;
}

/**
 * The names that a node assigns, except by declaring a single variable. The list may contain too many names, but never
 * too few.
 */
function listChangedNames(node: Node): string[] {
  const { type, id, params, param, local, left } = node;
  const isPattern = type === 'VariableDeclarator' && isNode(id) && id.type !== 'Identifier';
  const isNamed = /^(?:Function|Class)/.test(type) || isPattern;
  const isAssigned = type === 'AssignmentExpression' || /^For(?:In|Of)Statement$/.test(type);
  const targets = [
    ...(Array.isArray(params) ? params : []), // for functions and methods
    ...(type === 'CatchClause' ? [param] : []),
    ...(type.startsWith('Import') ? [local] : []),
    ...(isNamed ? [id] : []),
    // `goal.x = 1` does not reassign `goal`.
    ...(isAssigned && isNode(left) && !left.type.endsWith('MemberExpression') ? [left] : []),
  ];
  const names = targets.filter(isNode).flatMap((target) => [...listNodes(target)]);
  return names.filter(({ type }) => type === 'Identifier').map(({ name }) => String(name));
}

const noConstants: ReadonlyMap<string, string> = new Map();
/** Longer than any address or id. Otherwise repeated concatenation could fill the memory. */
const maxTextLength = 500;

/** An expression's string value, if it can be determined without running the code. */
function readText(node: unknown, constants = noConstants): string | undefined {
  const text = isNode(node) ? evaluate(node, constants) : undefined;
  return text === undefined || text.length > maxTextLength ? undefined : text;
}

function evaluate(node: Node, constants: ReadonlyMap<string, string>): string | undefined {
  if (node.type === 'StringLiteral') return String(node.value);
  if (node.type === 'Identifier') return constants.get(String(node.name));
  if (node.type === 'TemplateLiteral') {
    const [texts, inserted] = [node.quasis as Node[], node.expressions as Node[]];
    const parts = texts.map((text) => (text.value as { cooked?: string }).cooked ?? '');
    const values = inserted.map((expression) => readText(expression, constants));
    if (values.includes(undefined)) return undefined;
    return parts.map((part, index) => part + (values[index] ?? '')).join('');
  }
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined;
  const [left, right] = [readText(node.left, constants), readText(node.right, constants)];
  return left === undefined || right === undefined ? undefined : left + right;
}

/** `send_to` may be a string or a list of strings. */
function readTargets(fields: Node | undefined, constants: ReadonlyMap<string, string>): (string | null)[] {
  if (fields?.type !== 'ObjectExpression') return [null];
  const field = (fields.properties as Node[]).find(({ key }) => isNode(key) && (key.name ?? key.value) === 'send_to');
  const value = field?.value;
  if (!isNode(value)) return [null];
  const values = value.type === 'ArrayExpression' ? (value.elements as unknown[]) : [value];
  // A hole, as in `[,]`, is not a goal.
  return values.filter(isNode).map((each) => readText(each, constants) ?? null);
}
