// Owns running the command line in tests: real processes that are killed when the test file ends.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';

const run = promisify(execFile);

/** `repository` is the folder whose code runs, `cwd` the one in which it runs: the place of `.env`. */
export function commandLine(
  settings: Readonly<Record<string, string>>,
  repository = fileURLToPath(new URL('../../..', import.meta.url)),
  cwd = '/',
) {
  const main = join(repository, 'server/plinth.js');
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const redisPrefix = `e2e:${randomBytes(6).toString('hex')}:`;
  const environment = { REDIS_PREFIX: redisPrefix, PORT: '0', PATH, NODE_COMPILE_CACHE, ...settings };
  const children: ChildProcess[] = [];
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  const plinth = (...args: string[]) => run(process.execPath, [main, ...args], { env: environment, cwd });

  /** Starts a long-running command and waits until its log matches. */
  async function startCommand(command: string, readyPattern: RegExp, ...args: string[]) {
    const child = spawn(process.execPath, [main, command, ...args], {
      env: environment,
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const log: string[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    child.stdout?.on('data', (chunk) => {
      log.push(String(chunk));
      const match = readyPattern.exec(log.join(''));
      if (match) resolve(match);
    });
    child.once('exit', () => reject(new Error(`${command} exited: ${log.join('')}`)));
    return { child, match: await promise, log };
  }

  const startApi = async () => {
    const api = await startCommand('api', /"address":"([^"]+)"/);
    return { ...api, url: api.match[1] as string };
  };
  return { plinth, start: startCommand, startApi };
}
