// Removes files and folders that crashed processes left behind in a temporary folder.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

interface Abandoned {
  /** Only names with this prefix are considered. */
  readonly prefix?: string;
  /** The minimum time since the last change. A running process changes its files and folders more often than this. */
  readonly afterMs: number;
}

/** Files that can't be removed are left for the next call. */
export async function removeAbandoned(folder: string, { prefix = '', afterMs }: Abandoned): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const path of names.filter((name) => name.startsWith(prefix)).map((name) => join(folder, name))) {
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY };
    if (Date.now() - mtimeMs > afterMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
