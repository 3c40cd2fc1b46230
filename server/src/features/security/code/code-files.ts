// Decides which of an app's files are read as code, and the scripts inside HTML
// (docs/api/security.md#what-is-not-read).
import type { ScanFile } from '../finding.ts';
import { isBackendPath } from './handlers.ts';

/** Longer files are not written by hand, and they take too long to read as code. */
const maxCodeLength = 1024 * 1024;
/** Longer lines are data or minified code. */
const maxLineLength = 200_000;

const ending = /\.([cm]?[jt]sx?|html?|vue|svelte)$/i;
/** Files that are generated, belong to packages, or run only in tests. */
const excluded =
  /(^|\/)(node_modules|dist|build|coverage|vendor|\.next|__tests__|__mocks__)\/|\.min\.[cm]?js$|\.d\.[cm]?ts$|\.(test|spec|stories)\.[cm]?[jt]sx?$/i;

export interface AppCode {
  /** The code of each readable file, keyed by path. */
  readonly texts: Map<string, string>;
  /** Whether the app has code, even if it can't be read. */
  readonly hasCode: boolean;
  readonly hasBackend: boolean;
  /** False if a file is too large, or if all files together are. */
  readonly isComplete: boolean;
}

export interface CodeCollection {
  add(file: ScanFile): void;
  /** Must be called after all files have been added. */
  finish(): AppCode;
}

/** `maxBytes` limits the combined size of all files. */
export function collectCode(maxBytes: number): CodeCollection {
  const sources = new Map<string, string | undefined>();
  const built = new Map<string, string | undefined>();
  let bytes = 0;

  function read({ path, content }: ScanFile): string | undefined {
    const text = codeOf(path, content);
    if (text === undefined || bytes + text.length > maxBytes) return undefined;
    bytes += text.length;
    return text;
  }

  return {
    add(file) {
      const files = builtFolderOf(file.path) !== undefined ? built : isCodePath(file.path) ? sources : undefined;
      files?.set(file.path, read(file));
    },
    finish() {
      const paths = [...sources.keys()];
      // Built code is read only if its source is missing, for example if `functions/` contains only `functions/dist/`.
      const alone = [...built].filter(([path]) => !paths.some((each) => each.startsWith(builtFolderOf(path) ?? '')));
      const all = [...sources, ...alone];
      return {
        texts: new Map(all.flatMap(([path, text]) => (text === undefined ? [] : [[path, text]]))),
        hasCode: all.length > 0,
        hasBackend: all.some(([path]) => isBackendPath(path)),
        isComplete: all.every(([, text]) => text !== undefined),
      };
    },
  };
}

/** Returns `functions/` for `functions/dist/a.js`, or `undefined` if the file is not a function's built code. */
function builtFolderOf(path: string): string | undefined {
  const [, folder = '', rest = ''] = /^((?:[^/]+\/)*?)(?:dist|build)\/(.+)$/.exec(path) ?? [];
  return rest !== '' && isBackendPath(folder) && isCodePath(folder + rest) ? folder : undefined;
}

const isCodePath = (path: string): boolean => ending.test(path) && !excluded.test(path);

/** Returns `undefined` if the file is too large to be read as code. */
function codeOf(path: string, content: string): string | undefined {
  if (content.length > maxCodeLength || hasLongLine(content)) return undefined;
  return /\.(html?|vue|svelte)$/i.test(path) ? scriptsOf(content) : content.replace(/^\uFEFF/, '');
}

function hasLongLine(text: string): boolean {
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', start)) {
    if (at - start > maxLineLength) return true;
    start = at + 1;
  }
  return text.length - start > maxLineLength;
}

/** A page's scripts. Everything else becomes empty lines, so line numbers stay the same. */
function scriptsOf(html: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let at = 0;
  for (let open = lower.indexOf('<script'); open >= 0; open = lower.indexOf('<script', at)) {
    const start = lower.indexOf('>', open);
    if (start < 0) break;
    const end = lower.indexOf('</script', start);
    const stop = end < 0 ? html.length : end;
    const isData = /type\s*=\s*["']?(application\/|text\/template|importmap|speculationrules)/.test(
      lower.slice(open, start),
    );
    parts.push(
      linesOnly(html.slice(at, start + 1)),
      isData ? linesOnly(html.slice(start + 1, stop)) : html.slice(start + 1, stop),
    );
    at = stop;
  }
  return parts.join('');
}

const linesOnly = (text: string): string => text.replace(/[^\n]+/g, '');
