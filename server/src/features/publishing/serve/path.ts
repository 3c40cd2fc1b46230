// Resolves an address to a file. The path is decoded once, segment by segment. The result is looked up in the
// deployment's manifest, so an address can't refer to anything else.
import type { PublishedFile } from '../contract.ts';

export type Files<File = PublishedFile> = ReadonlyMap<string, File>;

export type Resolved<File> =
  | { readonly path: string; readonly file: File }
  /** The address refers to a folder and must end with a slash, so relative links in its page work. */
  | 'add slash'
  | undefined;

/** Longer than any percent-encoded file path can be. */
const maxLength = 8 * 1024;

/**
 * Returns the decoded segments of a path that starts with a slash. A trailing slash yields an empty last segment.
 * `undefined` if no file can have this path.
 */
export function parsePath(path: string): readonly string[] | undefined {
  if (!path.startsWith('/') || path.length > maxLength) return undefined;
  const segments: string[] = [];
  for (const encoded of path.slice(1).split('/')) {
    const segment = decode(encoded);
    if (segment === undefined || segment === '.' || segment === '..' || forbidden.test(segment)) return undefined;
    segments.push(segment);
  }
  return segments.slice(0, -1).includes('') ? undefined : segments;
}

/** Matches encoded separators, backslashes, and control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const forbidden = /[/\\\u0000-\u001f\u007f-\u009f]/;

function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // not UTF-8
  }
}

/** Lists the paths of all files that affect the result of `resolvePath`. */
export function listCandidates(segments: readonly string[]): readonly [string, string, string] {
  const path = segments.join('/');
  return [path, path.endsWith('/') || path === '' ? `${path}index.html` : `${path}/index.html`, 'index.html'];
}

/**
 * Finds the file for a path. A path that has no extension and matches no file is a route within the app, which
 * `index.html` renders:
 *
 *   /                 index.html
 *   /docs/            docs/index.html
 *   /docs             add slash, if there is docs/index.html
 *   /tasks/17         index.html, if there is no such file
 *   /missing.js       nothing
 *   /.well-known/x    nothing, if there is no such file
 */
export function resolvePath<File>(files: Files<File>, segments: readonly string[]): Resolved<File> {
  const last = segments.at(-1) ?? '';
  const path = segments.join('/');
  if (last === '') {
    const index = `${path}index.html`;
    const file = files.get(index);
    if (file !== undefined) return { path: index, file };
  } else {
    const file = files.get(path);
    if (file !== undefined) return { path, file };
    if (files.has(`${path}/index.html`)) return 'add slash';
  }
  const names = last === '' ? segments.slice(0, -1) : segments;
  if (names.some((name) => name.startsWith('.')) || names.at(-1)?.includes('.')) return undefined;
  const file = files.get('index.html');
  return file && { path: 'index.html', file };
}
