// Owns which file an address means. The path is decoded once, segment by segment; what remains is looked up in the manifest of
// the deployment, so nothing else can be named by it.
import type { PublishedFile } from '../contract.ts';

export type Files<File = PublishedFile> = ReadonlyMap<string, File>;

export type Resolved<File> =
  | { readonly path: string; readonly file: File }
  /** The address is that of a folder, and must end with a slash, so that relative links in its page work. */
  | 'add slash'
  | undefined;

/** Longer than any path of a file can be, percent-encoded. */
const maxLength = 8 * 1024;

/**
 * The decoded segments of a path that begins with a slash; an empty last one stands for a slash at the end. Undefined if no
 * file can have this path.
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

/** Separators that were encoded, backslashes, and control characters. */
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

/** The paths of all files that decide what `resolvePath` returns. */
export function listCandidates(segments: readonly string[]): readonly [string, string, string] {
  const path = segments.join('/');
  return [path, path.endsWith('/') || path === '' ? `${path}index.html` : `${path}/index.html`, 'index.html'];
}

/**
 * The file of a path. A path without an extension that no file has is taken for a place in the app, which `index.html` shows:
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
