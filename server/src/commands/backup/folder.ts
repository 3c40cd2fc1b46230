// The folders of back-ups within the folder that the operator names. A back-up is written under a name that begins with a dot
// and is renamed once it is complete. An interrupted one therefore never looks like a back-up.
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../config.ts';
import { removeAbandoned } from '../../kit/abandoned.ts';
import { type Manifest, manifestFile, readManifest } from './manifest.ts';

const completeName = /^plinth-\d{8}T\d{6}Z$/;
/** Also of one that is being removed. */
const hiddenPrefix = '.plinth-';
const abandonedMs = 24 * 60 * 60 * 1000;

/** `plinth-20261119T020000Z` */
export const nameBackup = (takenAt: Date): string => `plinth-${takenAt.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;

/** Creates a folder to write a back-up into. Removes those that crashed processes left behind more than a day ago. */
export async function createUnfinished(directory: string): Promise<string> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await removeAbandoned(directory, { prefix: hiddenPrefix, afterMs: abandonedMs });
    const folder = join(directory, `${hiddenPrefix}${process.pid}-${Date.now()}.unfinished`);
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${directory} can't be written to (${code}). Name a folder that this user may write to.`);
  }
}

/** Gives the folder its name. All its files are on disk by then. */
export async function finish(unfinished: string, directory: string, name: string): Promise<string> {
  const path = join(directory, name);
  await flush(unfinished);
  await rename(unfinished, path);
  await flush(directory);
  return path;
}

export async function flush(path: string): Promise<void> {
  const file = await open(path);
  await file.sync().finally(() => file.close());
}

/** Lists the complete back-ups in a folder, oldest first. */
async function listComplete(directory: string): Promise<{ name: string; manifest: Manifest }[]> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => completeName.test(name)).sort();
  const found = await Promise.all(
    names.map(async (name) => ({ name, manifest: await readManifest(join(directory, name)).catch(() => undefined) })),
  );
  return found.flatMap(({ name, manifest }) => (manifest === undefined ? [] : [{ name, manifest }]));
}

type Origin = Pick<Manifest, 'database' | 'system_identifier'>;

/**
 * Removes the oldest complete back-ups of the same database beyond `keep`, but never `newest`. Returns the names of those
 * that it has removed.
 */
export async function removeOldest(directory: string, newest: string, keep: number, origin: Origin): Promise<string[]> {
  const own = (await listComplete(directory)).filter(({ name, manifest }) => name !== newest && isOf(origin, manifest));
  const removed = own.slice(0, Math.max(0, own.length - (keep - 1))).map(({ name }) => name);
  for (const name of removed) {
    // From then on it does not look complete.
    const hidden = join(directory, `.${name}.removed`);
    await rename(join(directory, name), hidden);
    await rm(hidden, { recursive: true });
  }
  return removed;
}

/** The folder of a back-up: the one named, or the newest complete one of the same database in it. */
export async function findBackup(path: string, origin: Origin): Promise<string> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`${path} can't be read (${error.code}). Name the folder of a back-up.`);
  });
  if (names.includes(manifestFile)) return path;
  const complete = names.filter((name) => completeName.test(name)).sort();
  for (const name of complete.toReversed()) {
    // One whose manifest can't be read may be of this database, so it is not passed over for an older one.
    const manifest = await readManifest(join(path, name)).catch(() => undefined);
    if (manifest === undefined || isOf(origin, manifest)) return join(path, name);
  }
  if (complete.length === 0) return path;
  throw new ConfigError(
    `${path} has no back-up of the database "${origin.database}". To verify one of another database or server, name its folder, such as ${join(path, complete.at(-1) ?? '')}.`,
  );
}

const isOf = (origin: Origin, manifest: Manifest): boolean =>
  manifest.database === origin.database && manifest.system_identifier === origin.system_identifier;
