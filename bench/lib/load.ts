// Generates load on loopback with wrk, for a given time.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface WrkOptions {
  readonly seconds: number;
  /** Defaults to 32. */
  readonly connections?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A Lua script that varies the requests. `environment` sets the variables that the script reads. */
  readonly script?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly failed: number;
  /** wrk's output, including everything the script printed. */
  readonly printed: string;
}

export async function runWrk(
  url: string,
  { seconds, connections = 32, headers = {}, script, environment }: WrkOptions,
): Promise<WrkResult> {
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...(script === undefined ? [] : ['-s', script]),
    url,
  ];
  const env = { ...process.env, ...environment };
  const { stdout } = await run('wrk', args, { env }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Error('this measurement needs wrk: apt-get install wrk') : error;
  });
  return {
    requests: Number(/(\d+) requests in/.exec(stdout)?.[1]),
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50Ms: readMs(/50%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    failed: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0) + socketErrors(stdout),
    printed: stdout,
  };
}

const msOf: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000 };
const readMs = (match: RegExpExecArray | null): number => Number(match?.[1]) * (msOf[match?.[2] ?? ''] ?? Number.NaN);

function socketErrors(output: string): number {
  const numbers = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? [];
  return numbers.reduce((sum, number) => sum + Number(number), 0);
}
