// Owns finding what a file does with conversion tags, by parsing it: which tags it loads and configures, and which conversions it
// reports. Nothing is run. Call it by `tag-use-thread.ts`, because the time that the parsers take has no limit here.
//
//   <script async src="https://www.googletagmanager.com/gtag/js?id=AW-1"></script>   loads AW-1
//   gtag('config', 'AW-1')                                                           configures AW-1
//   window.gtag?.('event', 'conversion', { send_to: 'AW-1/abc' })                    reports AW-1/abc
//   const goal = 'AW-1/abc'; … { send_to: goal }                                     reports AW-1/abc
//   { send_to: goals[type] }                                                         reports something that can't be read
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
  /** Such as `AW-1/abc`. Null: computed by the script. */
  readonly sendTo: string | null;
  readonly line: number;
}

export interface TagUse {
  readonly loads: readonly string[];
  readonly configures: readonly string[];
  readonly calls: readonly TagCall[];
  /** Of a page: the scripts of the app that it names, by their paths. */
  readonly includes: readonly string[];
  /** False: a script could not be parsed, or there is more than is listed. */
  readonly isComplete: boolean;
}

/** Nobody writes more by hand. A file may contain a million, which would keep the process busy that compares them. */
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
    // RangeError: the parsers call themselves for what is nested.
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

/** The address of a script that browsers run. */
function readSource(element: Element): string[] {
  const source = element.nodeName === 'script' ? getAttribute(element, 'src') : undefined;
  const type = getAttribute(element, 'type')?.trim().toLowerCase() ?? '';
  return source === undefined || !scriptTypes.has(type) ? [] : [source];
}

const appHost = 'app.invalid';

/** The path of a script of the app; undefined if it is at another host. */
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

/** `onclick` and the like, whose values are the bodies of functions. */
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
    allowReturnOutsideFunction: true, // handlers of events may contain it
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

/** With a stack of its own, because a script may be nested deeper than calls can be. */
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

/** Names that are declared once, as a text, and get no other value anywhere. */
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

/** The names that a node gives a value to, other than by declaring one variable. Too many rather than too few. */
function listChangedNames(node: Node): string[] {
  const { type, id, params, param, local, left } = node;
  const isPattern = type === 'VariableDeclarator' && isNode(id) && id.type !== 'Identifier';
  const isNamed = /^(?:Function|Class)/.test(type) || isPattern;
  const isAssigned = type === 'AssignmentExpression' || /^For(?:In|Of)Statement$/.test(type);
  const targets = [
    ...(Array.isArray(params) ? params : []), // of functions and methods
    ...(type === 'CatchClause' ? [param] : []),
    ...(type.startsWith('Import') ? [local] : []),
    ...(isNamed ? [id] : []),
    // `goal.x = 1` gives no other value to `goal`.
    ...(isAssigned && isNode(left) && !left.type.endsWith('MemberExpression') ? [left] : []),
  ];
  const names = targets.filter(isNode).flatMap((target) => [...listNodes(target)]);
  return names.filter(({ type }) => type === 'Identifier').map(({ name }) => String(name));
}

const noConstants: ReadonlyMap<string, string> = new Map();
/** Longer than any address or id. Texts that are added up again and again would fill the memory. */
const maxTextLength = 500;

/** The text that an expression stands for, if that can be told without running it. */
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

/** `send_to` may be a text or a list of them. */
function readTargets(fields: Node | undefined, constants: ReadonlyMap<string, string>): (string | null)[] {
  if (fields?.type !== 'ObjectExpression') return [null];
  const field = (fields.properties as Node[]).find(({ key }) => isNode(key) && (key.name ?? key.value) === 'send_to');
  const value = field?.value;
  if (!isNode(value)) return [null];
  const values = value.type === 'ArrayExpression' ? (value.elements as unknown[]) : [value];
  // `[,]` has a hole, which is not a goal.
  return values.filter(isNode).map((each) => readText(each, constants) ?? null);
}
