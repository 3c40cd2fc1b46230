// Stores objects as files in a folder that all processes share. A file appears under its name only once it is
// complete and on disk.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lchown, lstat, mkdir, open, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { removeAbandoned } from '../../kit/abandoned.ts';
import { StorageUnavailable } from '../../kit/unavailable.ts';
import { type ByteRange, checkKey, type ObjectStorage, toPutError } from './object-storage.ts';

/** The folder for files that are being written. No key begins with a dot. */
const unfinished = '.unfinished';
const abandonedMs = 24 * 60 * 60 * 1000;
const sweepEveryMs = 60 * 60 * 1000;

export function openFolder(folder: string): ObjectStorage {
  const toPath = (key: string): string => {
    checkKey(key);
    return join(folder, key);
  };
  let sweptAt = Number.NEGATIVE_INFINITY;
  const isRoot = process.getuid?.() === 0;
  return {
    async put(key, content) {
      const path = toPath(key);
      const temporary = join(folder, unfinished, randomUUID());
      let owner: Owner | undefined;
      try {
        owner = isRoot ? await findOwner(folder) : undefined;
        await createFolder(join(folder, unfinished), folder, owner);
        await writeFile(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
        if (owner !== undefined) await lchown(temporary, owner.uid, owner.gid);
        await moveInto(temporary, path, folder, owner);
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {}); // removed later, together with crashed processes' files
        throw toPutError(content, error);
      }
      // The owner could have placed a link there, and root would follow it.
      if (owner !== undefined || performance.now() - sweptAt < sweepEveryMs) return;
      sweptAt = performance.now();
      void removeAbandoned(join(folder, unfinished), { afterMs: abandonedMs });
    },
    get: async (key, range) => readFile(toPath(key), range),
    async remove(keys) {
      const paths = keys.map(toPath);
      for (const path of paths) await rm(path, { force: true }).catch(unlessMissing);
      // Removes folders that are now empty. `put` recreates them when needed.
      for (const parent of new Set(paths.map((path) => dirname(path))))
        if (parent !== folder) await rmdir(parent).catch(() => {});
    },
    close: () => {},
  };
}

/** Opening a named pipe would otherwise wait for a writer. Symbolic links could lead out of the storage. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

async function readFile(path: string, range: ByteRange | undefined) {
  const file = await open(path, openFlags).catch(unlessMissing);
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile()) {
      await file.close();
      return undefined;
    }
    if (range !== undefined && range.start >= found.size)
      throw new RangeError('the range starts past the end of the object');
    return { size: found.size, content: file.createReadStream(range) };
  } catch (error) {
    await file.close();
    throw error instanceof RangeError ? error : new StorageUnavailable(error);
  }
}

type Owner = { readonly uid: number; readonly gid: number };

/**
 * The user whose processes use the folder. Root gives them what it creates, or they could not read it. Undefined if the
 * folder does not exist or is root's own.
 */
async function findOwner(folder: string): Promise<Owner | undefined> {
  const found = await stat(folder).catch(unlessMissing);
  return found === undefined || found.uid === 0 ? undefined : found;
}

/** A rename is durable only once its folder has been flushed too. */
async function moveInto(from: string, path: string, root: string, owner: Owner | undefined): Promise<void> {
  const parent = dirname(path);
  await rename(from, path).catch(async (error) => {
    if (getCode(error) !== 'ENOENT') throw error;
    await createFolder(parent, root, owner);
    await rename(from, path);
  });
  await flushFolder(parent);
}

async function createFolder(path: string, root: string, owner: Owner | undefined): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (owner !== undefined) await giveTo(owner, path, root, first);
  if (first === undefined) return;
  const names = relative(root, path).split(sep);
  for (let depth = 0; depth < names.length; depth += 1) await flushFolder(join(root, ...names.slice(0, depth)));
}

/** Refuses links, which lead root to another place. `first` is the outermost folder that was created. */
async function giveTo(owner: Owner, path: string, root: string, first: string | undefined): Promise<void> {
  for (let each = path; each !== root && each !== dirname(each); each = dirname(each)) {
    if (!(await lstat(each)).isDirectory()) throw new Error(`${each} is not a folder`);
    if (first !== undefined && (each === first || each.startsWith(first + sep)))
      await lchown(each, owner.uid, owner.gid);
  }
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path);
  await folder.sync().finally(() => folder.close());
}

function unlessMissing(error: unknown): undefined {
  if (getCode(error) === 'ENOENT' || getCode(error) === 'ENOTDIR') return undefined;
  throw new StorageUnavailable(error);
}

const getCode = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;
