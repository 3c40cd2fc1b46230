// Builds the console if a source is newer than the build, for `npm run dev` and for tests. Several may run at the same
// time, so the first one builds and the others wait for it.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('.', import.meta.url));
const sources = [
  'src',
  'index.html',
  'theme.js',
  'build.ts',
  'vite.config.ts',
  '../client/sdk/src',
  '../package-lock.json',
];

/** The folder of the built console, which the API serves. */
export const dist = join(folder, 'dist');

export async function buildIfStale(): Promise<void> {
  const lock = join(folder, '../.cache/console-build.lock');
  while (!isCurrent()) {
    if (tryLock(lock)) {
      try {
        console.log('building the console …');
        await promisify(execFile)(process.execPath, [join(folder, 'build.ts')], { cwd: folder });
      } finally {
        rmSync(lock, { recursive: true });
      }
    } else await sleep(100);
  }
}

/** A lock of more than two minutes ago was left behind by a process that was killed. */
function tryLock(lock: string): boolean {
  try {
    mkdirSync(dirname(lock), { recursive: true });
    mkdirSync(lock);
    return true;
  } catch {
    if (existsSync(lock) && Date.now() - statSync(lock).mtimeMs > 120_000) rmSync(lock, { recursive: true });
    return false;
  }
}

function isCurrent(): boolean {
  const list = join(dist, 'files.json');
  return (
    existsSync(list) && statSync(list).mtimeMs > Math.max(...sources.map((name) => readChanged(join(folder, name))))
  );
}

/** When the file was last changed, or the newest file in the folder. */
function readChanged(path: string): number {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  const within = readdirSync(path, { recursive: true }).map((name) => statSync(join(path, String(name))).mtimeMs);
  return Math.max(mtimeMs, ...within);
}

if (import.meta.main) await buildIfStale();
