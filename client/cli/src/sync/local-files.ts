// The files of a folder that are pushed: all but those that .plinthignore names, and those that are never part of an app.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { CommandError } from '../exit.ts';

export interface LocalFile {
  readonly path: string;
  readonly content: Buffer;
  readonly sha256: string;
}

export interface LocalFiles {
  readonly files: ReadonlyMap<string, LocalFile>;
  /** Whether a path, or a folder on the way to it, is never pushed. Such files of the app are not compared with the folder. */
  isLeftOut(path: string): boolean;
}

/** `workspace export` writes an archive into the folder where it is called. Of names with a dot, only .well-known is for the web. */
const never = ['node_modules', 'plinth.json', '/*.tar.gz', '.*'];
const always = '.well-known';

export async function readLocalFiles(folder: string): Promise<LocalFiles> {
  const isNever = matchAny(never);
  const isIgnored = matchAny(await readIgnored(folder));
  const isLeftOut = (path: string): boolean =>
    (isNever(path) && posix.basename(path) !== always) ||
    isIgnored(path) ||
    (path.includes('/') && isLeftOut(posix.dirname(path)));
  const files = new Map<string, LocalFile>();
  const visit = async (within: string): Promise<void> => {
    const entries = await readdir(join(folder, within), { withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        throw new CommandError(`${join(folder, within)} can't be read (${error.code}).`, 'file_unreadable');
      },
    );
    for (const entry of entries) {
      const path = within === '' ? entry.name : `${within}/${entry.name}`;
      if (isLeftOut(path)) continue;
      if (entry.isDirectory()) await visit(path);
      if (!entry.isFile()) continue;
      const content = await readFile(join(folder, path));
      files.set(path, { path, content, sha256: createHash('sha256').update(content).digest('hex') });
    }
  };
  await visit('');
  return { files, isLeftOut };
}

async function readIgnored(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, '.plinthignore'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** A pattern with a slash means a path from the folder on, one without any name. `*` stands for a part of a name. */
function matchAny(patterns: readonly string[]): (path: string) => boolean {
  const tests = patterns.map((pattern) => {
    const path = pattern.replace(/^\/|\/$/g, '');
    const source = path.split('*').map(escapeForRegExp).join('[^/]*');
    return new RegExp(pattern.replace(/\/$/, '').includes('/') ? `^${source}$` : `(^|/)${source}$`);
  });
  return (path) => tests.some((test) => test.test(path));
}

const escapeForRegExp = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
