// Makes the files of a tree independent of who built it and when, and computes the tree's digest.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, lstat, lutimes, readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Gives all files and folders the same time, and the modes 755 and 644. */
export async function settleFiles(folder: string, time: Date): Promise<void> {
  for (const path of (await listFiles(folder)).toReversed()) {
    const file = await lstat(path);
    const isExecutable = file.isDirectory() || (file.mode & 0o100) !== 0;
    if (!file.isSymbolicLink()) await chmod(path, isExecutable ? 0o755 : 0o644);
    await lutimes(path, time, time);
  }
}

/** TypeScript's own programs, and its messages in other languages: only its library is used. */
const ofTypeScript =
  /\/node_modules\/typescript\/(bin\/|lib\/(_?ts(c|server)|_?typingsInstaller|watchGuard|[a-z]{2}(-[a-z]{2})?\/))/;
const forDevelopers =
  /\/node_modules\/.*\.(d\.[cm]?ts|map|test\.[cm]?[jt]s)$|\/node_modules\/(@[^/]+\/)?[^/]+\/(docs?|examples?|tests?)\//;

/** Removes what packages contain for editors, debuggers and their own tests, a third of their size. Nothing loads it. */
export async function removeFromPackages(folder: string): Promise<void> {
  for (const path of await listFiles(folder))
    if (forDevelopers.test(path) || ofTypeScript.test(path)) await rm(path, { recursive: true, force: true });
}

/** The size of all files, without what a file system adds. */
export async function countBytes(folder: string): Promise<number> {
  const files = await Promise.all((await listFiles(folder)).map((path) => lstat(path)));
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}

/** Returns the SHA-256 of all names, modes and contents. */
export async function digestTree(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const path of await listFiles(folder)) {
    const file = await lstat(path);
    hash.update(`${path.slice(folder.length)}\0${(file.mode & 0o7777).toString(8)}\0${file.mtimeMs}\0`);
    if (file.isSymbolicLink()) hash.update(await readlink(path));
    else if (file.isFile()) hash.update(await digestFile(path));
  }
  return hash.digest('hex');
}

export async function digestFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Lists the folder itself and everything in it. A folder stands before what it contains. */
async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return [folder, ...names.map((name) => join(folder, name)).sort()];
}
