// Owns removing what a crashed process left in a folder for temporary files.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

interface Abandoned {
  /** How the names begin. */
  readonly prefix?: string;
  /** Whoever still uses a file or folder changes it more often. */
  readonly afterMs: number;
}

/** What can't be removed stays for the next time. */
export async function removeAbandoned(folder: string, { prefix = '', afterMs }: Abandoned): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const path of names.filter((name) => name.startsWith(prefix)).map((name) => join(folder, name))) {
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY };
    if (Date.now() - mtimeMs > afterMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
