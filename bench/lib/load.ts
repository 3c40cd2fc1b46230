// Owns load generation: wrk on loopback, for a given time.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface WrkResult {
  readonly perSecond: number;
  readonly failed: number;
}

export async function runWrk(
  url: string,
  headers: Record<string, string>,
  seconds: number,
  connections = 32,
  /** A Lua script for wrk that varies the requests. */
  script?: string,
): Promise<WrkResult> {
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...(script === undefined ? [] : ['-s', script]),
    url,
  ];
  const { stdout } = await run('wrk', args).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Error('this measurement needs wrk: apt-get install wrk') : error;
  });
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    failed: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0) + socketErrors(stdout),
  };
}

function socketErrors(output: string): number {
  const numbers = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? [];
  return numbers.reduce((sum, number) => sum + Number(number), 0);
}
