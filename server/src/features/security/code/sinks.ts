// Owns the places where a value can do harm: which expression, which use, and values of which origin count.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import type { FunctionIssue } from './item.ts';
import type { Label } from './origins.ts';
import { uses } from './origins.ts';
import { constantInitialiserOf, declarationOf, findCallees, type Module } from './program.ts';
import type { CodeRuleId } from './rules.ts';
import { requiredModule } from './scopes.ts';
import {
  dottedName,
  enclosingFunction,
  isFunction,
  methodName,
  partsOf,
  propertyOf,
  receiverOf,
  returnsOf,
  textOf,
  unwrap,
} from './syntax.ts';

export interface Sink {
  readonly rule: CodeRuleId | FunctionIssue;
  readonly use: number;
  readonly value: ts.Expression;
  readonly path: readonly string[];
  /** What is reported: usually the statement of this node. */
  readonly at: ts.Node;
  readonly labels: readonly Label[];
  /** Whether the value must be part of a longer text, because alone it would be a value and not SQL. */
  readonly onlyParts?: boolean;
}

const fromCaller: readonly Label[] = ['request'];
const fromStranger: readonly Label[] = ['request', 'location', 'message'];
const fromAnybody: readonly Label[] = ['request', 'location', 'message', 'stored'];

export interface SinkContext {
  readonly flow: Flow;
  readonly module: Module;
  /** Whether the module runs on the server: it answers requests, or is imported by one that does. */
  readonly isBackend: boolean;
}

export function sinksAt(context: SinkContext, node: ts.Node): readonly Sink[] {
  if (ts.isCallExpression(node)) return sinksOfCall(context, node);
  if (ts.isNewExpression(node)) return sinksOfNew(context, node);
  if (ts.isBinaryExpression(node)) return sinksOfAssignment(context, node);
  if (ts.isJsxAttribute(node)) return sinksOfAttribute(node);
  if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) return sinksOfProperty(context, node);
  return [];
}

type Details = Partial<Omit<Sink, 'rule' | 'value'>>;

function sink(
  rule: Sink['rule'],
  use: keyof typeof uses,
  value: ts.Expression | undefined,
  more: Details = {},
): Sink[] {
  if (value === undefined) return [];
  return [{ rule, use: uses[use], value, path: [], at: value, labels: fromCaller, ...more }];
}

function sinksOfCall(context: SinkContext, call: ts.CallExpression): readonly Sink[] {
  const name = globalName(context.flow, call.expression);
  const method = methodName(call);
  const [first, second] = call.arguments;
  if (first === undefined) return [];
  return [
    ...sqlSinks(context, call, name, method, first),
    ...commandSinks(context, call, name, first, second),
    ...codeSinks(name, call, first),
    ...fileSinks(call, name, method, first),
    ...requestSinks(context, call, name, first),
    ...htmlSinks(call, name, method, first, second),
    ...pageRedirectSinks(context, call, name, first),
    ...(context.isBackend ? answerSinks(context, call, name, method, first, second) : []),
  ];
}

/** The name of what is called, with aliases followed: `run` is `eval` after `const run = eval`. */
function globalName(flow: Flow, callee: ts.Expression): string {
  let at = unwrap(callee);
  if (ts.isBinaryExpression(at) && at.operatorToken.kind === ts.SyntaxKind.CommaToken) at = unwrap(at.right);
  for (let depth = 0; depth < 4 && ts.isIdentifier(at); depth += 1) {
    const declaration = declarationOf(flow.program, at);
    if (declaration?.imported !== undefined) {
      const { specifier, name } = declaration.imported;
      return name === '*' || name === 'default' ? `${moduleName(specifier)}` : `${moduleName(specifier)}.${name}`;
    }
    const [only, ...more] = declaration?.definitions ?? [];
    if (only === undefined || more.length > 0) break;
    if (only.path.length > 0) return `${globalName(flow, only.value)}.${only.path.join('.')}`;
    const value = unwrap(only.value);
    if (ts.isCallExpression(value) && /promisify$/.test(dottedName(value.expression)) && value.arguments[0]) {
      at = unwrap(value.arguments[0]);
    } else if (ts.isIdentifier(value) || ts.isPropertyAccessExpression(value)) at = value;
    else break;
  }
  const required = ts.isCallExpression(at) ? requiredModule(at) : undefined;
  if (required !== undefined) return moduleName(required);
  if (ts.isPropertyAccessExpression(at)) {
    // `const http = { send: fetch }`
    const property = propertyOf(constantInitialiserOf(flow.program, at.expression), at.name.text);
    if (property !== undefined && ts.isIdentifier(property) && property.text !== at.name.text)
      return globalName(flow, property);
    return `${globalName(flow, at.expression)}.${at.name.text}`;
  }
  return dottedName(at);
}

/** `child_process` for `node:child_process`, `npm:got@1` and `https://esm.sh/got@1` too. */
function moduleName(specifier: string): string {
  return specifier
    .replace(/^(node:|npm:|jsr:|https?:\/\/(esm\.sh|deno\.land\/x|cdn\.skypack\.dev|unpkg\.com)\/)/, '')
    .replace(/(?<=.)@[\d^~].*$/, '')
    .replace(/^fs\/promises$/, 'fs');
}

const sqlText =
  /\b(select|insert\s+into|update|delete\s+from|where|order\s+by|limit|from|drop|alter|create\s+table|union|values|ilike|like|and|or)\b/i;
const takesSql =
  /^(query|queryRaw|execute|raw|unsafe|\$queryRawUnsafe|\$executeRawUnsafe|queryObject|queryArray|whereRaw|orderByRaw|havingRaw|selectRaw|joinRaw|fromRaw|orWhereRaw|andWhereRaw|literal|executeSql|runSql|executeQuery|many|one|oneOrNone|any|none|manyOrNone|sqlQuery)$/;
const maySql =
  /^(exec|prepare|all|get|run|each|batch|simpleQuery|multi|first|where|andWhere|orWhere|having|andHaving|addSelect|addOrderBy)$/;

function sqlSinks(
  context: SinkContext,
  call: ts.CallExpression,
  name: string,
  method: string | undefined,
  first: ts.Expression,
): readonly Sink[] {
  const called = method ?? name;
  const filter =
    method !== undefined &&
    /^(or|filter|textSearch)$/.test(method) &&
    /\.(eq|ilike|like|neq|cs|in|gte?|lte?)\./.test(first.getText());
  if (filter) return sink('code.sql-injection', 'sql', first, { onlyParts: true, at: call });
  if (takesSql.test(called)) {
    const value = propertyOf(first, 'text') ?? propertyOf(first, 'sql') ?? propertyOf(first, 'query') ?? first;
    const bare = unwrap(value);
    if (isFunction(bare) || ts.isObjectLiteralExpression(bare)) return nosqlSinks(context, call, method, first);
    const needsText =
      /^(one|any|none|many|query|execute)$/.test(called) && partsOf(bare) === undefined && !ts.isIdentifier(bare);
    return needsText && !sqlText.test(bare.getText()) && !/sql|query/i.test(bare.getText())
      ? []
      : sink('code.sql-injection', 'sql', value, { at: call });
  }
  if (method === 'rpc') {
    const [, options] = call.arguments;
    return ['sql', 'query', 'statement', 'sql_query', 'query_text'].flatMap((field) =>
      sink('code.sql-injection', 'sql', propertyOf(options, field), { at: call, onlyParts: true }),
    );
  }
  const isCondition = /^(where|andWhere|orWhere|having|andHaving)$/.test(called) && comparison.test(first.getText());
  const isNamed = /sql|query|statement/i.test(called) && writtenTexts(context.flow, first).some(isStatement);
  if (isNamed) return sink('code.sql-injection', 'sql', first, { at: call, onlyParts: true });
  if (maySql.test(called) && method !== undefined && (isCondition || hasSqlText(context, first))) {
    return sink('code.sql-injection', 'sql', first, { at: call, onlyParts: true });
  }
  return nosqlSinks(context, call, method, first);
}

const sqlStatement =
  /\b(select|insert\s+into|update|delete\s+from|where|order\s+by|drop\s+table|create\s+table|alter\s+table|match\s*\()/i;
/** `t.name = '${name}'` */
const comparison = /(=|<|>|\b(like|ilike|in))\s*[('"%]*\s*(\$\{|['"]\s*\+)/i;

const isStatement = (text: string): boolean =>
  /^[`'"]\s*(select\b[\s\S]*\bfrom|insert\s+into|update\b[\s\S]*\bset|delete\s+from)\b/i.test(text);

/** Whether the constant parts of a text look like SQL. */
const hasSqlText = ({ flow }: SinkContext, node: ts.Expression): boolean =>
  writtenTexts(flow, node).some((text) => sqlStatement.test(text));

/** The source of what a text is made from: of its values, and of what a function returns. */
function writtenTexts(flow: Flow, node: ts.Expression, depth = 0): readonly string[] {
  const bare = unwrap(node);
  if (depth > 3) return [];
  if (ts.isIdentifier(bare)) {
    const definitions = declarationOf(flow.program, bare)?.definitions ?? [];
    return definitions.slice(0, 12).flatMap(({ value }) => writtenTexts(flow, value, depth + 1));
  }
  if (ts.isCallExpression(bare)) {
    const receiver = methodName(bare) === 'join' ? receiverOf(bare) : undefined;
    if (receiver !== undefined) return writtenTexts(flow, receiver, depth + 1);
    const returned = findCallees(flow.program, bare).slice(0, 2).flatMap(returnsOf);
    if (returned.length > 0) return returned.flatMap((each) => writtenTexts(flow, each, depth + 1));
  }
  return [bare.getText().slice(0, 4_000)];
}

const filterMethods =
  /^(find|findOne|findOneAndUpdate|findOneAndDelete|findOneAndReplace|updateOne|updateMany|deleteOne|deleteMany|countDocuments|replaceOne|distinct|aggregate)$/;

const mongo = /mongo|\.collection\(/i;

function nosqlSinks(
  { flow, module }: SinkContext,
  call: ts.CallExpression,
  method: string | undefined,
  first: ts.Expression,
): readonly Sink[] {
  if (!filterMethods.test(method ?? '')) return [];
  const sources = [module, ...module.imports.flatMap((path) => flow.program.open(path) ?? [])];
  if (!sources.some(({ source }) => mongo.test(source.text))) return [];
  if (isFunction(unwrap(first))) return [];
  return sink('code.nosql-injection', 'nosql', first, { at: call });
}

function commandSinks(
  { flow }: SinkContext,
  call: ts.CallExpression,
  name: string,
  first: ts.Expression,
  second: ts.Expression | undefined,
): readonly Sink[] {
  const objects = call.arguments.map((arg) => constantInitialiserOf(flow.program, arg) ?? arg);
  const shell = objects.map((object) => propertyOf(object, 'shell')).find((value) => value !== undefined);
  const usesShell = shell !== undefined && shell.kind !== ts.SyntaxKind.FalseKeyword;
  const isProcess =
    /^(child_process|cp|childProcess)\./.test(name) || /^(exec|execSync|spawn|spawnSync|execFile|execa)$/.test(name);
  if (
    /^(child_process|cp|childProcess)\.(exec|execSync)$|^(exec|execSync)$|^execa\.(execaCommand|command)$|^shelljs\.exec$|^shell\.exec$/.test(
      name,
    )
  ) {
    return sink('code.command-injection', 'command', first, { at: call });
  }
  if (!isProcess && !/^(Deno\.run|Bun\.spawn|Bun\.spawnSync|execa)/.test(name)) return [];
  const list = second ?? propertyOf(first, 'cmd') ?? first;
  // `-c` is an option of many programs: it says something only of one that is not known.
  const isUnknown = textOf(first) === undefined && !ts.isArrayLiteralExpression(unwrap(first));
  if (usesShell || runsShell(first) || (list !== first && isUnknown && takesCommand(list))) {
    return [
      ...sink('code.command-injection', 'command', first, { at: call }),
      ...sink('code.command-injection', 'command', list, { at: call }),
    ];
  }
  // The program itself.
  const program =
    propertyOf(first, 'cmd') === undefined ? sink('code.command-injection', 'command', first, { at: call }) : [];
  return ts.isArrayLiteralExpression(unwrap(first)) ? [] : program;
}

const runsShell = (node: ts.Expression): boolean => {
  const bare = unwrap(node);
  const named = ts.isArrayLiteralExpression(bare) ? bare.elements.map((element) => textOf(element)) : [textOf(bare)];
  return named.some(
    (text) => text !== undefined && /^((\/usr)?\/bin\/)?(ba|z|da)?sh$|^(cmd|cmd\.exe|powershell)$/.test(text),
  );
};

const takesCommand = (node: ts.Expression): boolean => {
  const bare = unwrap(node);
  return ts.isArrayLiteralExpression(bare) && /^(-c|\/c)$/.test(textOf(bare.elements[0]) ?? '');
};

function codeSinks(name: string, call: ts.CallExpression, first: ts.Expression): readonly Sink[] {
  const all: Details = { labels: fromAnybody, at: call };
  if (/^((window|globalThis|self)\.)?(eval|execScript)$/.test(name))
    return sink('code.code-injection', 'code', first, all);
  if (/^((window|globalThis|self)\.)?Function$/.test(name)) {
    return call.arguments.flatMap((arg) => sink('code.code-injection', 'code', arg, all));
  }
  if (/(^|\.)unserialize$/.test(name)) return sink('code.code-injection', 'code', first, { at: call });
  if (/^xpath\.(select|select1|evaluate)$/.test(name))
    return sink('code.nosql-injection', 'sql', first, { at: call, onlyParts: true });
  if (/^vm\.(runIn\w*|compileFunction|Script)$|^vm2?\.\w*run$/.test(name))
    return sink('code.code-injection', 'code', first, all);
  if (/^((window|globalThis)\.)?(setTimeout|setInterval)$/.test(name) && !isFunction(unwrap(first))) {
    return sink('code.code-injection', 'code', first, { labels: fromStranger, at: call });
  }
  if (call.expression.kind === ts.SyntaxKind.ImportKeyword || name === 'require') {
    return sink('code.code-injection', 'path', first, { at: call });
  }
  if (
    /^(ejs|pug|nunjucks|Handlebars|handlebars|eta|mustache|_|lodash|liquid|dot|doT)\.(render|compile|renderString|template|precompile|default)$/i.test(
      name,
    )
  ) {
    const isMustache = /^mustache/i.test(name);
    return isMustache ? [] : sink('code.template-injection', 'code', first, { at: call });
  }
  return [];
}

const fileMethods =
  /^(readFile|readFileSync|writeFile|writeFileSync|appendFile|appendFileSync|createReadStream|createWriteStream|unlink|unlinkSync|rm|rmSync|rmdir|rmdirSync|readdir|readdirSync|open|openSync|copyFile|copyFileSync|rename|renameSync|stat|statSync|access|existsSync|mkdir|mkdirSync|cp|readJson|readJSON|outputFile|remove|createFile|pathExists)$/;

function fileSinks(
  call: ts.CallExpression,
  name: string,
  method: string | undefined,
  first: ts.Expression,
): readonly Sink[] {
  const last = name.split('.').at(-1) ?? '';
  const isFs = /^(fs|fsp|fs-extra|graceful-fs|fse|promises|fsPromises)(\.|$)/.test(name) && fileMethods.test(last);
  const isDeno =
    /^Deno\.(readFile|readTextFile|writeFile|writeTextFile|remove|open|readDir|stat|lstat|rename|copyFile|create|mkdir)(Sync)?$/.test(
      name,
    );
  if (isFs || isDeno || name === 'Bun.file' || name === 'Bun.write')
    return sink('code.path-traversal', 'path', first, { at: call });
  if (/^(sendFile|download|sendfile)$/.test(method ?? '') && propertyOf(call.arguments[1], 'root') === undefined) {
    const isResponse = receiverOf(call) !== undefined && call.arguments.length <= 3;
    const isStorage = /storage|bucket|supabase|s3|drive/i.test(call.expression.getText());
    return isResponse && !isStorage ? sink('code.path-traversal', 'path', first, { at: call }) : [];
  }
  if (last === 'serveFile') return sink('code.path-traversal', 'path', call.arguments[1], { at: call });
  return [];
}

const requestFunctions =
  /^((globalThis|window)\.)?fetch$|^(axios|got|ky|request|superagent|needle|node-fetch|undici|http|https|phin|bent|cross-fetch|ofetch|wretch)(\.(default|get|post|put|patch|delete|head|request|fetch|stream|json|\$fetch|ofetch))?$|^\$fetch$/;

function requestSinks(
  { flow, isBackend }: SinkContext,
  call: ts.CallExpression,
  name: string,
  first: ts.Expression,
): readonly Sink[] {
  if (requestFunctions.test(clientName(flow, call, name))) {
    if (/^needle$/.test(name)) return sink('code.ssrf', 'address', call.arguments[1], { at: call });
    const object = constantInitialiserOf(flow.program, first) ?? unwrap(first);
    if (ts.isObjectLiteralExpression(object)) {
      return ['url', 'uri', 'host', 'hostname', 'baseURL'].flatMap((key) =>
        sink('code.ssrf', 'address', propertyOf(object, key), { at: call }),
      );
    }
    return sink('code.ssrf', 'address', first, { at: call });
  }
  // Functions of packages that load what an address leads to.
  if (isBackend && /^(goto|parseURL|fromURL|loadURL|getLinkPreview|unfurl)$/.test(methodName(call) ?? name))
    return sink('code.ssrf', 'address', first, { at: call });
  if (/^(axios)\.create$/.test(name)) return sink('code.ssrf', 'address', propertyOf(first, 'baseURL'), { at: call });
  if (/^Deno\.connect$|^net\.(connect|createConnection)$/.test(name)) {
    const host = propertyOf(first, 'hostname') ?? propertyOf(first, 'host') ?? call.arguments[1];
    return sink('code.ssrf', 'address', host, { at: call });
  }
  return [];
}

/** `axios.get` for `client.get` after `const client = axios.create(…)`: an absolute address replaces the client's base. */
function clientName(flow: Flow, call: ts.CallExpression, name: string): string {
  const receiver = receiverOf(call);
  const made = receiver && constantInitialiserOf(flow.program, receiver);
  if (made === undefined || !ts.isCallExpression(made)) return name;
  const [, library] = /^(axios|got|ky|ofetch|\$fetch)\.(create|extend)$/.exec(globalName(flow, made.expression)) ?? [];
  return library === undefined ? name : `${library}.${methodName(call)}`;
}

function htmlSinks(
  call: ts.CallExpression,
  name: string,
  method: string | undefined,
  first: ts.Expression,
  second: ts.Expression | undefined,
): readonly Sink[] {
  const html: Details = { labels: fromAnybody, at: call };
  if (/(^|\.)(document|contentDocument)\.(write|writeln)$/.test(name)) {
    return call.arguments.flatMap((arg) => sink('code.xss-html', 'html', arg, html));
  }
  if (method === 'insertAdjacentHTML') return sink('code.xss-html', 'html', second, html);
  if (method === 'createContextualFragment' || method === 'setHTMLUnsafe')
    return sink('code.xss-html', 'html', first, html);
  if (/^unsafe(HTML|SVG)$/.test(name.split('.').at(-1) ?? '')) return sink('code.xss-html', 'html', first, html);
  if (/^bypassSecurityTrust(Html|Script|Url|ResourceUrl)$/.test(method ?? ''))
    return sink('code.xss-html', 'html', first, html);
  if (method === 'setAttribute') {
    const attribute = textOf(first)?.toLowerCase() ?? '';
    if (attribute === 'srcdoc' || attribute.startsWith('on')) return sink('code.xss-html', 'html', second, html);
    if (/^(href|src|action|formaction)$/.test(attribute)) {
      return sink('code.xss-link', 'html', second, { labels: ['location', 'message'], at: call });
    }
  }
  const receiver = receiverOf(call);
  if (/^(\$|jQuery)$/.test(name) && /^['"`]\s*</.test(first.getText()))
    return sink('code.xss-html', 'html', first, html);
  const isQuery = receiver !== undefined && /^((\$|jQuery)\(|\$\w+$)/.test(receiver.getText());
  if (isQuery && /^(html|append|prepend|after|before|replaceWith)$/.test(method ?? '')) {
    const isText = partsOf(unwrap(first)) !== undefined || method === 'html';
    return isText ? sink('code.xss-html', 'html', first, html) : [];
  }
  return [];
}

function pageRedirectSinks(
  context: SinkContext,
  call: ts.CallExpression,
  name: string,
  first: ts.Expression,
): readonly Sink[] {
  const details: Details = { labels: fromStranger, at: call };
  if (/^((window|document|self|globalThis|top|parent)\.)*location\.(assign|replace)$/.test(name)) {
    return sink('code.open-redirect', 'redirect', first, details);
  }
  if (/^(window\.)?open$/.test(name) && /_self|_top|_parent/.test(textOf(call.arguments[1]) ?? '')) {
    return sink('code.open-redirect', 'redirect', first, details);
  }
  const isRouter =
    /(^|\.)(push|replace)$/.test(name) && /from ['"]next\/(router|navigation)['"]/.test(context.module.source.text);
  if (isRouter && /router/i.test(call.expression.getText()))
    return sink('code.open-redirect', 'redirect', first, details);
  return [];
}

/** What a function answers with. */
function answerSinks(
  context: SinkContext,
  call: ts.CallExpression,
  name: string,
  method: string | undefined,
  first: ts.Expression,
  second: ts.Expression | undefined,
): readonly Sink[] {
  if (method === 'redirect' || /(^|\.)(redirect|permanentRedirect|sendRedirect)$/.test(name)) {
    const target = ts.isNumericLiteral(unwrap(first)) || /sendRedirect$/.test(name) ? second : first;
    return sink('unsafe_redirect', 'redirect', target, { at: call });
  }
  if (/^(set|setHeader|append|header|writeHead)$/.test(method ?? '')) {
    const header = textOf(first)?.toLowerCase();
    if (header === 'location') return sink('unsafe_redirect', 'redirect', second, { at: call });
    if (header === 'access-control-allow-origin') return corsSinks(call, second);
    return [];
  }
  if (method === 'html') return answerBody(call, first, true);
  if (/^(json|send|end|write|body|text|jsonp|render)$/.test(method ?? '') && !isRequestCall(call)) {
    const mayBeHtml = /^(send|end|write|body|render)$/.test(method ?? '') && !isPlainText(call);
    if (mayBeHtml && isSentAsHtml(call)) return answerBody(call, first, true, true);
    return answerBody(call, first, mayBeHtml && hasTags(context.flow, first));
  }
  return [];
}

/** Express sends text as HTML unless it is told otherwise; Node does if the header says so. */
function isSentAsHtml(call: ts.CallExpression): boolean {
  if (/text\/html|type\(\s*['"`]\.?html/i.test(call.expression.getText())) return true;
  const receiver = dottedName(call.expression);
  if (/^(res|response)(\.(status|code)\(\))*\.send$/.test(receiver)) return true;
  return /^(res|response)\.(end|write)$/.test(receiver) && /text\/html/i.test(enclosingFunction(call)?.getText() ?? '');
}

/** `res.type('text/plain').send(…)`, or a header in the same function. */
const isPlainText = (call: ts.CallExpression): boolean =>
  /\.type\(\s*['"`](text|txt|text\/plain|\.txt|json)['"`]/.test(call.expression.getText()) ||
  /content-type['"`]\s*[,:]\s*['"`](text\/(?!html)|application\/)/i.test(enclosingFunction(call)?.getText() ?? '');

/** `request.json()` reads, `response.json(value)` answers. */
const isRequestCall = (call: ts.CallExpression): boolean =>
  /(^|\.)(req|request)(\.clone\(\))?\.\w+$/.test(dottedName(call.expression));

function answerBody(call: ts.Node, body: ts.Expression, isHtml: boolean, onlyParts = false): readonly Sink[] {
  return [
    ...sink('secret_in_response', 'key', body, { labels: ['secret'], at: call }),
    ...(isHtml ? sink('code.xss-answer', 'html', body, { at: call, onlyParts }) : []),
  ];
}

const htmlTag = /<(!doctype|html|h[1-6]|p|div|span|body|a|b|ul|li|script|strong|table|pre|main|section|title|img)\b/i;

/** Whether a text contains tags. */
const hasTags = (flow: Flow, node: ts.Expression): boolean =>
  writtenTexts(flow, node).some((text) => htmlTag.test(text));

function sinksOfNew(context: SinkContext, node: ts.NewExpression): readonly Sink[] {
  const name = globalName(context.flow, node.expression);
  const [first, second] = node.arguments ?? [];
  if (first === undefined) return [];
  const all: Details = { labels: fromAnybody, at: node };
  if (/^((window|globalThis|self)\.)?(Async|Generator)?Function$|^vm\.Script$/.test(name)) {
    return (node.arguments ?? []).flatMap((arg) => sink('code.code-injection', 'code', arg, all));
  }
  if (/^(WebSocket|EventSource|ws|ws\.WebSocket)$/.test(name) && context.isBackend) {
    return sink('code.ssrf', 'address', first, { at: node });
  }
  if (name === 'Deno.Command') {
    const args = propertyOf(second, 'args');
    if (runsShell(first) && args !== undefined) return sink('code.command-injection', 'command', args, { at: node });
    return sink('code.command-injection', 'command', first, { at: node });
  }
  if (/^(Response|NextResponse)$/.test(name) && context.isBackend) {
    const isHtml = second !== undefined && isHtmlAnswer(context, second);
    return answerBody(node, first, isHtml);
  }
  return [];
}

function isHtmlAnswer({ flow }: SinkContext, options: ts.Expression): boolean {
  const headers = propertyOf(options, 'headers');
  const initialiser = headers && constantInitialiserOf(flow.program, headers);
  const isHtml = /text\/html|image\/svg/i;
  if (isHtml.test((initialiser ?? headers ?? options).getText()) || isHtml.test(options.getText())) return true;
  // `headers.set('content-type', 'text/html')`
  if (headers === undefined || !ts.isIdentifier(headers)) return false;
  const set = new RegExp(
    `\\b${headers.text.replace(/\$/g, '\\$')}\\.(set|append)\\(\\s*['"\`]content-type['"\`]\\s*,\\s*['"\`]text/html`,
    'i',
  );
  return set.test(enclosingFunction(options)?.getText() ?? '');
}

const isAssignment = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind === ts.SyntaxKind.EqualsToken || kind === ts.SyntaxKind.PlusEqualsToken;

function sinksOfAssignment(context: SinkContext, node: ts.BinaryExpression): readonly Sink[] {
  if (!isAssignment(node)) return [];
  const left = unwrap(node.left);
  const name = dottedName(left);
  const last = ts.isPropertyAccessExpression(left)
    ? left.name.text
    : ts.isElementAccessExpression(left)
      ? (textOf(left.argumentExpression) ?? '')
      : '';
  if (/^(innerHTML|outerHTML|srcdoc)$/.test(last)) {
    return sink('code.xss-html', 'html', node.right, { labels: fromAnybody, at: node });
  }
  if (/^((window|document|self|globalThis|top|parent)\.)*location(\.href)?$/.test(name) && !isDeclared(context, left)) {
    return sink('code.open-redirect', 'redirect', node.right, { labels: fromStranger, at: node });
  }
  if (/^(href|src|action)$/.test(last) && !context.isBackend) {
    return sink('code.xss-link', 'html', node.right, { labels: ['location', 'message'], at: node });
  }
  if (context.isBackend && /^(location)$/i.test(last) && /header/i.test(name)) {
    return sink('unsafe_redirect', 'redirect', node.right, { at: node });
  }
  if (context.isBackend && last.toLowerCase() === 'access-control-allow-origin') return corsSinks(node, node.right);
  if (context.isBackend && /^(ctx|context)\.(body|response\.body)$/.test(name))
    return answerBody(node, node.right, hasTags(context.flow, node.right));
  return pollutionSinks(left, node);
}

function isDeclared({ flow }: SinkContext, node: ts.Expression): boolean {
  let at = unwrap(node);
  while (ts.isPropertyAccessExpression(at)) at = unwrap(at.expression);
  return ts.isIdentifier(at) && declarationOf(flow.program, at) !== undefined;
}

/** `object[name][other] = value` */
function pollutionSinks(left: ts.Expression, node: ts.Node): readonly Sink[] {
  if (!ts.isElementAccessExpression(left)) return [];
  const inner = unwrap(left.expression);
  if (!ts.isElementAccessExpression(inner)) return [];
  return sink('code.prototype-pollution', 'key', inner.argumentExpression, { at: node });
}

function sinksOfAttribute(node: ts.JsxAttribute): readonly Sink[] {
  const name = ts.isIdentifier(node.name) ? node.name.text : node.name.getText();
  const { initializer } = node;
  const value = initializer && ts.isJsxExpression(initializer) ? initializer.expression : undefined;
  if (value === undefined) return [];
  const element = node.parent.parent;
  const tag = ts.isJsxOpeningLikeElement(element) ? element.tagName.getText() : '';
  if (name === 'dangerouslySetInnerHTML') {
    // Colours and sizes of a theme: no script can be in them unless a stranger writes them.
    if (tag === 'style')
      return sink('code.xss-html', 'html', value, { path: ['__html'], labels: fromStranger, at: node });
    return sink('code.xss-html', 'html', value, { path: ['__html'], labels: fromAnybody, at: node });
  }
  if (/^srcdoc$/i.test(name)) return sink('code.xss-html', 'html', value, { labels: fromAnybody, at: node });
  if (/^(href|src|action|formAction|xlinkHref)$/.test(name)) {
    const runs = /^(a|iframe|form|button|embed|object|script|frame|area|base)$/i.test(tag);
    return runs ? sink('code.xss-link', 'html', value, { labels: ['location', 'message'], at: node }) : [];
  }
  return [];
}

/** Headers of an answer, wherever the object is built. */
function sinksOfProperty(
  context: SinkContext,
  node: ts.PropertyAssignment | ts.ShorthandPropertyAssignment,
): readonly Sink[] {
  const name = node.name.getText().replace(/['"`]/g, '').toLowerCase();
  const value = ts.isPropertyAssignment(node) ? node.initializer : node.name;
  if (name === 'dangerouslysetinnerhtml') {
    return sink('code.xss-html', 'html', value, { path: ['__html'], labels: fromAnybody, at: node });
  }
  if (/^(innerhtml|outerhtml|srcdoc)$/.test(name) && ts.isCallExpression(node.parent.parent)) {
    return sink('code.xss-html', 'html', value, { labels: fromAnybody, at: node });
  }
  if (!context.isBackend) return [];
  if (/^(sql|querystring|statement|querytext)$/.test(name) && writtenTexts(context.flow, value).some(isStatement)) {
    return sink('code.sql-injection', 'sql', value, { at: node, onlyParts: true });
  }
  // A filter of a directory: `(uid=${name})`.
  if (name === 'filter' && /^[`'"]\([&|!(]*\w+=/.test(value.getText())) {
    return sink('code.nosql-injection', 'sql', value, { at: node, onlyParts: true });
  }
  if (name === '$where') return sink('code.nosql-injection', 'code', value, { at: node });
  if (name === 'location' && isHeader(node)) return sink('unsafe_redirect', 'redirect', value, { at: node });
  if (name === 'access-control-allow-origin') return corsSinks(node, value);
  if (
    name === 'body' &&
    ts.isObjectLiteralExpression(node.parent) &&
    propertyOf(node.parent, 'statusCode') !== undefined
  ) {
    return answerBody(node, value, /text\/html/i.test(propertyOf(node.parent, 'headers')?.getText() ?? ''));
  }
  return [];
}

/** `Location` with a capital, or in an object that is called headers. */
function isHeader(node: ts.ObjectLiteralElementLike): boolean {
  if (/^['"`]?Location/.test(node.getText())) return true;
  const { parent: object } = node;
  const owner = object.parent;
  if (ts.isNewExpression(owner)) return dottedName(owner.expression) === 'Headers';
  const name = ts.isPropertyAssignment(owner) || ts.isVariableDeclaration(owner) ? owner.name.getText() : '';
  return /headers/i.test(name);
}

const corsSinks = (node: ts.Node, value: ts.Expression | undefined): readonly Sink[] =>
  sink('open_cors', 'cors', value, { at: node });
