// Reads and writes trees by id: their entries and file contents, without an index or a work tree.
import { randomUUID } from 'node:crypto';
import { checkPath } from './paths.ts';
import { requireGit, runGit } from './run.ts';
import { type BlobRead, type FileMode, PathRefused, type TreeChange, type TreeEntry } from './types.ts';

const defaultLimit = 10_000;
const idPattern = /^[0-9a-f]{40}$/;
const noRef = '0'.repeat(40);

/** Throws if the text is not an object id, because git could read it as an option or an expression. */
export function checkId(id: string): string {
  if (!idPattern.test(id)) throw new Error('not an object id');
  return id;
}

interface Entry {
  readonly mode: string;
  readonly type: 'blob' | 'tree' | 'commit';
  readonly id: string;
  /** 0 if the entry is not a blob. */
  readonly sizeBytes: number;
  readonly path: string;
}

export async function listTree(folder: string, tree: string, path = '', limit = defaultLimit): Promise<TreeEntry[]> {
  if (!isReadable(path)) return [];
  const args = ['ls-tree', '-r', '-z', '--long', checkId(tree), ...(path === '' ? [] : ['--', path])];
  const options = { maxRecords: { end: 0, count: limit }, maxOutputBytes: 64 * 1024 * 1024 };
  const result = await runGit(folder, args, options);
  if (result.end !== 'cut' && result.status !== 0) throw new Error(`git ls-tree: ${result.stderr}`);
  return parseEntries(result.stdout)
    .slice(0, limit)
    .map(({ path, mode, sizeBytes, id }) => ({ path, mode, kind: kindOf(mode), size_bytes: sizeBytes, blob: id }));
}

export async function readBlob(folder: string, tree: string, path: string, maxBytes: number): Promise<BlobRead> {
  if (path === '') return { outcome: 'not_a_file', kind: 'folder' };
  if (!isReadable(path)) return { outcome: 'missing' };
  const entry = (await findEntries(folder, tree, [path], true)).find((each) => each.path === path);
  if (entry === undefined) return { outcome: 'missing' };
  if (entry.type === 'tree') return { outcome: 'not_a_file', kind: 'folder' };
  const kind = kindOf(entry.mode);
  if (kind !== 'file') return { outcome: 'not_a_file', kind };
  if (entry.sizeBytes > maxBytes) return { outcome: 'too_large', size_bytes: entry.sizeBytes };
  const content = await requireGit(folder, ['cat-file', 'blob', entry.id], { maxOutputBytes: maxBytes + 1 });
  return { outcome: 'found', content, mode: modeOf(entry) };
}

/**
 * Uses git's fast-import, which reads only the folders above each change, so the cost does not depend on the
 * repository's size.
 */
export async function writeTree(folder: string, tree: string, changes: readonly TreeChange[]): Promise<string> {
  checkId(tree);
  // If a path occurs more than once, the last change counts.
  const byPath = new Map(changes.map((change) => [change.path, change]));
  for (const path of byPath.keys()) checkPath(path);
  checkApart(byPath);
  const before = await findAffected(folder, tree, [...byPath.keys()]);
  checkPlaces(byPath, before);
  if (byPath.size === 0) return tree;

  const ref = `refs/plinth/write-${randomUUID()}`;
  const parts: (string | Buffer)[] = [
    `commit ${ref}\ncommitter plinth <plinth> 0 +0000\ndata 0\nM 040000 ${tree} ""\n`,
  ];
  for (const { path, content } of byPath.values()) if (content === null) parts.push(`D ${quote(path)}\n`);
  for (const { path, content, mode } of byPath.values()) {
    if (content === null) continue;
    parts.push(`M ${mode ?? modeOf(before.get(path))} inline ${quote(path)}\ndata ${content.length}\n`, content, '\n');
  }
  // The ref is deleted in the same run, which leaves only the tree.
  parts.push(`ls ""\nreset ${ref}\nfrom ${noRef}\n\ndone\n`);
  const input = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  const output = await requireGit(folder, ['fast-import', '--done', '--quiet', '--cat-blob-fd=1'], { input });
  const id = /^040000 tree ([0-9a-f]{40})\t/.exec(output.toString('utf8'))?.[1];
  // Git prints "missing" for a tree without entries.
  return id ?? writeEmptyTree(folder);
}

export const writeEmptyTree = async (folder: string): Promise<string> =>
  (await requireGit(folder, ['mktree'], { input: '' })).toString('utf8').trim();

/** One request must not make a path both a file and a folder. */
function checkApart(byPath: ReadonlyMap<string, TreeChange>): void {
  for (const [path, { content }] of byPath) {
    if (content === null) continue;
    const file = foldersAbove(path).find((folder) => byPath.get(folder)?.content != null);
    if (file !== undefined) throw new PathRefused(path, 'must not be inside a file');
  }
}

/**
 * Checks the changes against the tree, ignoring deleted files. A file may replace a symbolic link, but nothing is
 * written through a link.
 */
function checkPlaces(byPath: ReadonlyMap<string, TreeChange>, before: ReadonlyMap<string, Entry>): void {
  const isDeleted = (path: string) => byPath.get(path)?.content === null;
  for (const [path, { content }] of byPath) {
    const obstacle = foldersAbove(path).find((folder) => {
      const entry = before.get(folder);
      return entry !== undefined && entry.type !== 'tree' && !isDeleted(folder);
    });
    if (obstacle !== undefined)
      throw new PathRefused(path, 'must not be inside a file, a symbolic link or a submodule');
    if (before.get(path)?.type === 'tree') throw new PathRefused(path, 'must not be a folder');
    if (content !== null && before.get(path)?.type === 'commit') throw new PathRefused(path, 'must not be a submodule');
  }
}

async function findAffected(folder: string, tree: string, paths: readonly string[]): Promise<Map<string, Entry>> {
  const asked = new Set(paths.flatMap((path) => [...foldersAbove(path), path]));
  const found = new Map<string, Entry>();
  for (const chunk of chunkArguments([...asked]))
    for (const entry of await findEntries(folder, tree, chunk, false))
      if (asked.has(entry.path)) found.set(entry.path, entry);
  return found;
}

const maxArgumentBytes = 64 * 1024;

function* chunkArguments(paths: readonly string[]): Generator<string[]> {
  let chunk: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const size = Buffer.byteLength(path) + 16;
    if (bytes + size > maxArgumentBytes) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(path);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

/** Returns the entries at these paths and the folders above them. */
async function findEntries(
  folder: string,
  tree: string,
  paths: readonly string[],
  withSize: boolean,
): Promise<Entry[]> {
  const size = withSize ? ['--long'] : [];
  const output = await requireGit(folder, ['ls-tree', '-z', '-t', ...size, checkId(tree), '--', ...paths]);
  return parseEntries(output);
}

/** Lists the parent folders: `a/b/c` → `a`, `a/b`. */
const foldersAbove = (path: string): string[] => {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
};

/** Whether the path can be passed to git. Any other path is treated as missing. */
export const isReadable = (path: string): boolean =>
  !path.includes('\0') &&
  path.isWellFormed() &&
  Buffer.byteLength(path) <= 8192 &&
  (path === '' || !path.split('/').some((part) => part === '' || part === '.' || part === '..'));

/** Parses NUL-terminated lines such as `100644 blob 8d78…      12\tsrc/index.ts`. Drops an incomplete last line. */
function parseEntries(output: Buffer): Entry[] {
  const text = output.toString('utf8');
  return text
    .slice(0, text.lastIndexOf('\0') + 1)
    .split('\0')
    .slice(0, -1)
    .map((line) => {
      const tab = line.indexOf('\t');
      const [mode = '', type = '', id = '', size = '0'] = line.slice(0, tab).split(/ +/);
      return { mode, type: type as Entry['type'], id, sizeBytes: Number(size) || 0, path: line.slice(tab + 1) };
    });
}

const kindOf = (mode: string): TreeEntry['kind'] =>
  mode === '120000' ? 'symlink' : mode === '160000' ? 'submodule' : 'file';

const modeOf = (entry: Entry | undefined): FileMode => (entry?.mode === '100755' ? '100755' : '100644');

/** Quotes a path for fast-import, so it may contain spaces and quotes. */
const quote = (path: string): string => `"${path.replaceAll('"', '\\"')}"`;
