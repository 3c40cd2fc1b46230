// Finds a file's errors by parsing it: JavaScript, TypeScript, HTML with its inline scripts, CSS and JSON. No
// code is run. A file that can't be parsed for another reason is reported as not checked, never as correct. Call this
// through `parser.ts`, because nothing here limits the parsing time.
import { type ParserOptions, parse as parseScript } from '@babel/parser';
import { parse as parseHtml } from 'parse5';
import postcss from 'postcss';
import { type Element, getAttribute, listElements, listInlineScripts, scriptTypes } from '../../../kit/html.ts';

export interface FileText {
  readonly path: string;
  readonly text: string;
}

export interface PageReference {
  readonly url: string;
  readonly line: number;
}

interface Findings {
  readonly errors: readonly string[];
  /** The URLs of the scripts, styles and images that a page loads. */
  readonly references: readonly PageReference[];
}

export type FileCheck =
  | ({ readonly outcome: 'checked' } & Findings)
  /** `reason` completes the phrase "was not checked: ". It is null if files of this kind are never checked. */
  | { readonly outcome: 'not_checked'; readonly reason: string | null };

const maxFileBytes = 256 * 1024;
const maxErrors = 10;

export function checkFile(path: string, text: string): FileCheck {
  const check = checks[path.split('.').at(-1)?.toLowerCase() ?? ''];
  if (check === undefined) return { outcome: 'not_checked', reason: null };
  if (Buffer.byteLength(text) > maxFileBytes) return { outcome: 'not_checked', reason: 'it is larger than 256 KiB' };
  try {
    const found = check(text);
    const { errors, references } = 'errors' in found ? found : { errors: found, references: [] };
    return { outcome: 'checked', errors: errors.slice(0, maxErrors), references };
  } catch (error) {
    // The parsers recurse into nested code.
    if (error instanceof RangeError) return { outcome: 'not_checked', reason: 'it is nested too deeply' };
    throw error;
  }
}

// Browsers run .js files as they are, so these must not contain JSX or types.
const checks: Readonly<Record<string, (text: string) => string[] | Findings>> = {
  js: checkPlainScript,
  mjs: (text) => checkScript(text, { sourceType: 'module' }),
  cjs: (text) => checkScript(text, { sourceType: 'commonjs' }),
  jsx: (text) => checkScript(text, { plugins: ['jsx'] }),
  ts: (text) => checkScript(text, { plugins: ['typescript', 'decorators', 'decoratorAutoAccessors'] }),
  tsx: (text) => checkScript(text, { plugins: ['typescript', 'jsx', 'decorators', 'decoratorAutoAccessors'] }),
  html: checkHtml,
  htm: checkHtml,
  css: checkCss,
  json: checkJson,
};

/** Pages may load the file as a module or as a script, so it is correct if it parses as either. */
function checkPlainScript(text: string): string[] {
  const errors = checkScript(text, { sourceType: 'module' });
  return errors.length === 0 || checkScript(text, { sourceType: 'script' }).length === 0 ? [] : errors;
}

function checkScript(text: string, options: ParserOptions, firstLine = 1): string[] {
  try {
    const { errors } = parseScript(text, { sourceType: 'unambiguous', errorRecovery: true, ...options });
    return (errors ?? []).map((error) => describeScriptError(error, firstLine));
  } catch (error) {
    if (error instanceof SyntaxError) return [describeScriptError(error, firstLine)];
    throw error;
  }
}

function describeScriptError(error: object, firstLine: number): string {
  const { message = '', loc } = error as { message?: string; loc?: { line: number } };
  const isForeign = message.includes('parser plugin');
  const text = isForeign ? 'This syntax is not JavaScript that browsers run' : message.replace(/ \(\d+:\d+\)$/, '');
  return `line ${firstLine + (loc?.line ?? 1) - 1}: ${text}`;
}

function checkHtml(text: string): Findings {
  const errors: string[] = [];
  const document = parseHtml(text, {
    sourceCodeLocationInfo: true,
    onParseError: ({ code, startLine }) => {
      if (code !== 'missing-doctype') errors.push(`line ${startLine}: ${code.replaceAll('-', ' ')}`);
    },
  });
  const elements = [...listElements(document)];
  for (const { script, type, line } of listInlineScripts(elements)) {
    const sourceType = type === 'module' ? 'module' : 'script';
    if (scriptTypes.has(type)) errors.push(...checkScript(script, { sourceType }, line));
    else if (jsonTypes.has(type)) errors.push(...checkJson(script).map((error) => `script at line ${line}: ${error}`));
  }
  return { errors, references: listReferences(elements) };
}

const jsonTypes = new Set(['importmap', 'application/json']);

function listReferences(elements: readonly Element[]): PageReference[] {
  const found: PageReference[] = [];
  for (const element of elements) {
    const isStyle = /(?:^|\s)(?:stylesheet|icon|modulepreload)(?:\s|$)/i.test(getAttribute(element, 'rel') ?? '');
    const attribute = { script: 'src', img: 'src', link: isStyle ? 'href' : '' }[element.nodeName];
    const url = attribute ? getAttribute(element, attribute) : undefined;
    if (url !== undefined) found.push({ url, line: element.sourceCodeLocation?.startLine ?? 1 });
  }
  return found;
}

function checkCss(text: string): string[] {
  try {
    postcss.parse(text);
    return [];
  } catch (error) {
    if (error instanceof postcss.CssSyntaxError) return [`line ${error.line ?? '?'}: ${error.reason}`];
    throw error;
  }
}

function checkJson(text: string): string[] {
  try {
    JSON.parse(text);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
