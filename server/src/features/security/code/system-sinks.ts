// The calls that run commands or code, open files, or send requests.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import { constantInitialiserOf } from './program.ts';
import { type Details, fromAnybody, fromStranger, globalName, type Sink, type SinkContext, sink } from './sink.ts';
import { isFunction, methodName, propertyOf, receiverOf, textOf, unwrap } from './syntax.ts';

export function commandSinks(
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
  // Many programs have a `-c` option, so it is only significant if the program is unknown.
  const isUnknown = textOf(first) === undefined && !ts.isArrayLiteralExpression(unwrap(first));
  if (usesShell || runsShell(first) || (list !== first && isUnknown && takesCommand(list))) {
    return [
      ...sink('code.command-injection', 'command', first, { at: call }),
      ...sink('code.command-injection', 'command', list, { at: call }),
    ];
  }
  // The program's own name is a sink as well.
  const program =
    propertyOf(first, 'cmd') === undefined ? sink('code.command-injection', 'command', first, { at: call }) : [];
  return ts.isArrayLiteralExpression(unwrap(first)) ? [] : program;
}

export const runsShell = (node: ts.Expression): boolean => {
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

export function codeSinks(name: string, call: ts.CallExpression, first: ts.Expression): readonly Sink[] {
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

export function fileSinks(
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

export function requestSinks(
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
  // Package functions that load content from a URL.
  if (isBackend && /^(goto|parseURL|fromURL|loadURL|getLinkPreview|unfurl)$/.test(methodName(call) ?? name))
    return sink('code.ssrf', 'address', first, { at: call });
  if (/^(axios)\.create$/.test(name)) return sink('code.ssrf', 'address', propertyOf(first, 'baseURL'), { at: call });
  if (/^Deno\.connect$|^net\.(connect|createConnection)$/.test(name)) {
    const host = propertyOf(first, 'hostname') ?? propertyOf(first, 'host') ?? call.arguments[1];
    return sink('code.ssrf', 'address', host, { at: call });
  }
  return [];
}

/** Returns `axios.get` for `client.get` after `const client = axios.create(…)`. An absolute URL overrides its base. */
function clientName(flow: Flow, call: ts.CallExpression, name: string): string {
  const receiver = receiverOf(call);
  const made = receiver && constantInitialiserOf(flow.program, receiver);
  if (made === undefined || !ts.isCallExpression(made)) return name;
  const [, library] = /^(axios|got|ky|ofetch|\$fetch)\.(create|extend)$/.exec(globalName(flow, made.expression)) ?? [];
  return library === undefined ? name : `${library}.${methodName(call)}`;
}
