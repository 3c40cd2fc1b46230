// Reads and writes the small JSON files of plinthctl.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError } from './exit.ts';

export const configFolder = (): string => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'plinth');

/** Returns undefined if there is no such file. */
export async function readJson<Content>(path: string): Promise<Content | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CommandError(`${path} can't be read (${error.code}).`, 'file_unreadable');
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${path} is not valid JSON. Correct it, or remove it.`, 'file_invalid');
  }
}

/** Writes the whole file or nothing. Only its owner may read a file with secrets. */
export async function writeJson(path: string, content: unknown, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const part = `${path}.${process.pid}`;
  await writeFile(part, `${JSON.stringify(content, null, 2)}\n`, { mode });
  await rename(part, path);
}
