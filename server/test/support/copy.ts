// Copies of this repository, for tests that change or install it while others run from the original.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** Copies the files that git tracks, and untracked files that it does not ignore. */
export async function copyRepository(folder: string, parts: readonly string[]): Promise<void> {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', ...parts];
  const { stdout } = await run('git', args, { cwd: repository, maxBuffer: 16 * 1024 * 1024 });
  for (const file of stdout.split('\0').filter(Boolean)) cpSync(join(repository, file), join(folder, file));
}

/**
 * Copies the server's sources to a folder where they can be run and edited. The copy shares the packages, but not their
 * cache.
 */
export async function copySources(folder: string, more: readonly string[] = []): Promise<void> {
  await copyRepository(folder, ['package.json', 'server', ...more]);
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(repository, 'node_modules')).filter((name) => !name.startsWith('.')))
    symlinkSync(join(repository, 'node_modules', name), join(folder, 'node_modules', name));
}

/** Copies the packages that the lock file does not mark as development packages. npm would take almost a minute. */
export async function copyPackages(folder: string): Promise<void> {
  const { packages } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'));
  const paths = Object.entries<{ dev?: true; devOptional?: true }>(packages)
    .filter(([path, { dev, devOptional }]) => path.includes('node_modules/') && !dev && !devOptional)
    .map(([path]) => path)
    .filter((path) => existsSync(join(repository, path))); // packages for other platforms are absent
  const copy = (...flags: string[]) => run('cp', ['-a', ...flags, '--parents', ...paths, folder], { cwd: repository });
  await copy('--link').catch(() => copy()); // hard links do not work across file systems
}
