// The facts about this release: its version, its commit in a clone, its migrations folder, its locations file, the
// folder of the built console and the files for containers.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const version = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export const consoleFolder = fileURLToPath(new URL('../../console/dist', import.meta.url));

export const placesFile = fileURLToPath(new URL('../locations/places.tsv.gz', import.meta.url));

export const composeFiles: readonly string[] = ['compose/compose.yaml', 'proxy/Caddyfile'].map((name) =>
  fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url)),
);

/** Null if the installation is no clone, or git is not installed. A clone may belong to another user. */
export async function readCommit(): Promise<string | null> {
  const args = ['-c', 'safe.directory=*', 'rev-parse', '--show-prefix', 'HEAD'];
  const { stdout } = await promisify(execFile)('git', args, { cwd: migrationsFolder }).catch(() => ({ stdout: '' }));
  // The installation may be a plain folder in a repository of something else.
  const [folder, commit] = stdout.split('\n');
  return folder === 'server/migrations/' && commit ? commit : null;
}
