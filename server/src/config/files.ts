// Settings that are read from files: `DATABASE_URL_FILE` names a file with the value of `DATABASE_URL`. Secrets in the
// environment are shown by tools that inspect containers, and inherited by every child process.
import { readFileSync, statSync } from 'node:fs';
import type { Environment } from './setting.ts';

export const fileSuffix = '_FILE';
const maxBytes = 65_536;

/** A text without a slash may be the secret itself. */
const describePath = (path: string): string => (path.includes('/') ? `: ${path}` : '');

interface FileFault {
  readonly name: string;
  readonly message: string;
}

/** Returns the environment with the contents of the files, and what is wrong with the others. */
export function readFiles(
  environment: Environment,
  names: readonly string[],
): { readonly environment: Environment; readonly faults: readonly FileFault[] } {
  const texts: Record<string, string> = {};
  const faults: FileFault[] = [];
  for (const name of names) {
    const path = environment[name + fileSuffix];
    if (!path) continue;
    const fault = environment[name]
      ? `${name} and ${name}${fileSuffix} are both set. Remove one of them.`
      : readInto(texts, name, path);
    if (fault !== undefined) faults.push({ name, message: fault });
  }
  return { environment: { ...environment, ...texts }, faults };
}

/** A text editor ends a file with a line break, which is no part of the value. */
function readInto(texts: Record<string, string>, name: string, path: string): string | undefined {
  try {
    const found = statSync(path);
    if (!found.isFile() || found.size > maxBytes)
      return `${name}${fileSuffix} must name a file of at most ${maxBytes} bytes${describePath(path)}`;
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    if (text === '') return `${name}${fileSuffix} names an empty file${describePath(path)}`;
    texts[name] = text;
    return undefined;
  } catch (error) {
    return `${name}${fileSuffix} names a file that can't be read (${(error as NodeJS.ErrnoException).code})${describePath(path)}`;
  }
}
