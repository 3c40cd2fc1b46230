// Runs the command line in tests, as real processes that are killed when the test file ends.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';

const run = promisify(execFile);

interface RunningCommand {
  readonly child: ChildProcess;
  readonly match: RegExpExecArray;
  readonly log: string[];
}

/**
 * `repository` is the folder that contains the code. `cwd` is the working directory, from which `.env` is read. `node` is
 * the command that runs Node.
 */
export function commandLine(
  settings: Readonly<Record<string, string>>,
  repository = fileURLToPath(new URL('../../..', import.meta.url)),
  cwd = '/',
  node: readonly [string, ...string[]] = [process.execPath],
) {
  const [program, ...nodeArgs] = node;
  const main = join(repository, 'server/plinth.js');
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const redisPrefix = `e2e:${randomBytes(6).toString('hex')}:`;
  const environment = { REDIS_PREFIX: redisPrefix, PORT: '0', CONSOLE: 'off', PATH, NODE_COMPILE_CACHE, ...settings };
  const children: ChildProcess[] = [];
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  const plinth = (...args: string[]) => run(program, [...nodeArgs, main, ...args], { env: environment, cwd });

  /** Starts a long-running command and waits until its log matches. */
  async function startCommand(command: string, readyPattern: RegExp, ...args: string[]): Promise<RunningCommand> {
    for (let lost = 0; lost < 3; lost += 1) {
      const started = await startOnce(command, readyPattern, ...args);
      if (started !== undefined) return started;
    }
    throw new Error(`${command} lost its slot three times while it started`);
  }

  /**
   * Returns undefined for a worker that lost its slot because the machine was too busy. A supervisor would restart it.
   */
  async function startOnce(command: string, readyPattern: RegExp, ...args: string[]) {
    const child = spawn(program, [...nodeArgs, main, command, ...args], {
      env: environment,
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const log: string[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray | undefined>();
    child.stdout?.on('data', (chunk) => {
      log.push(String(chunk));
      const match = readyPattern.exec(log.join(''));
      if (match) resolve(match);
    });
    child.once('exit', () => {
      if (log.join('').includes('"slot lost"')) resolve(undefined);
      else reject(new Error(`${command} exited: ${log.join('')}`));
    });
    const match = await promise;
    return match === undefined ? undefined : { child, match, log };
  }

  const startApi = async () => {
    const api = await startCommand('api', /"address":"([^"]+)"/);
    return { ...api, url: api.match[1] as string };
  };
  return { plinth, start: startCommand, startApi };
}
