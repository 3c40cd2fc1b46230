// Runs pg_dump and pg_restore, which are programs of PostgreSQL.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError, programEnvironment } from '../../config.ts';

type Program = 'pg_dump' | 'pg_restore';

const maxMessageLength = 2_000;
/** A parameter that only the client for Node knows. */
const foreignParameters = ['uselibpqcompat'];

/** Returns the program's major version. Throws a ConfigError if it is not there, or older than `needed`. */
export async function requireProgram(program: Program, needed: number, reason: string): Promise<number> {
  const output = await run(program, ['--version']);
  const version = Number(/\) (\d+)/.exec(output)?.[1]);
  if (!(version >= needed))
    throw new ConfigError(
      `${program} is of PostgreSQL ${version || 'an unknown version'}, and ${reason}. Install postgresql-client-${needed} or newer, and put its folder first in PATH.`,
    );
  return version;
}

/** Writes the dump as of a snapshot that another session holds. */
export const dumpDatabase = (url: string, snapshot: string, file: string, signal: AbortSignal): Promise<string> =>
  runOn('pg_dump', url, ['--format=custom', `--snapshot=${snapshot}`, `--file=${file}`], signal);

/** Owners and privileges are left out: everything belongs to the role of the URL, and `plinth migrate` grants the rest. */
export const restoreDatabase = (url: string, file: string, signal: AbortSignal): Promise<string> =>
  runOn('pg_restore', url, ['--exit-on-error', '--no-owner', '--no-privileges', file], signal);

/** The password is passed in the environment, because every user of the machine can see arguments. */
function runOn(program: Program, url: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  const target = new URL(url);
  const password = decodeURIComponent(target.password) || target.searchParams.get('password');
  target.password = '';
  for (const name of ['password', ...foreignParameters]) target.searchParams.delete(name);
  return run(
    program,
    ['--no-password', `--dbname=${target.href}`, ...args],
    password ? { PGPASSWORD: password } : undefined,
    signal,
  );
}

async function run(
  program: Program,
  args: readonly string[],
  variables?: { readonly PGPASSWORD: string },
  signal?: AbortSignal,
): Promise<string> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: programEnvironment({ LC_ALL: 'C', ...variables }),
    ...(signal && { signal }),
  });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = (errors + text).slice(-maxMessageLength);
  });
  const [code] = await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    signal?.throwIfAborted();
    throw error.code === 'ENOENT'
      ? new ConfigError(`${program} is not installed, or not in PATH. It is in Debian's package postgresql-client.`)
      : error;
  });
  if (code !== 0) throw new ConfigError(`${program} failed: ${errors.trim().replaceAll(/\s*\n\s*/g, ' ')}`);
  return output;
}
