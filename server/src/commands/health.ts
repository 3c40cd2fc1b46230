// `plinth health`, which asks the process on this machine whether it is alive, for supervisors of containers. Imports
// no settings, because it runs every few seconds and they take half a second to load. Whether the process is ready
// for requests is what `/readyz` says: restarting the process would not bring a database back.
import { existsSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readFiles } from '../config/files.ts';
import { healthUsage } from './usages.ts';

const answerMs = 3_000;
const pauseMs = 200;

/** Exits with 0 if the process is alive, 1 if it is not, and 2 if it can't be asked. */
export async function health(args: string[]): Promise<never> {
  const { worker, wait } = readOptions(args) ?? exit(2, `usage: plinth ${healthUsage}`);
  const file = process.env.PLINTH_ENV_FILE || '.env'; // as config.ts says
  if (existsSync(file)) process.loadEnvFile(file);
  const { HOST, PORT, WORKER_METRICS_PORT } = readFiles(process.env, [
    'HOST',
    'PORT',
    'WORKER_METRICS_PORT',
  ]).environment;
  const port = worker ? WORKER_METRICS_PORT : PORT || '8080';
  if (!port) exit(2, 'A worker can be asked only if WORKER_METRICS_PORT is set.');
  const url = `http://${toAddress(HOST || '127.0.0.1')}:${port}/healthz`;
  const until = performance.now() + Number(wait) * 1_000;
  let fault = await ask(url);
  while (fault !== undefined && performance.now() < until) {
    await sleep(pauseMs);
    fault = await ask(url);
  }
  return fault === undefined ? exit(0, 'alive') : exit(1, `${fault}. See the log of the process.`);
}

function readOptions(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: { worker: { type: 'boolean' }, wait: { type: 'string', default: '0' } },
    });
    return /^\d{1,4}$/.test(values.wait) ? values : undefined;
  } catch {
    return undefined;
  }
}

/** A process that listens on all addresses also listens on this machine's own. */
function toAddress(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** With an agent of its own, which uses no proxy. */
function ask(url: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const request = get(url, { agent: new Agent(), timeout: answerMs }, ({ statusCode }) =>
    resolve(statusCode === 200 ? undefined : `${url} answered ${statusCode}`),
  );
  request.on('timeout', () => request.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
  request.on('error', ({ code }: NodeJS.ErrnoException) => resolve(`${url} does not answer (${code})`));
  return promise;
}

function exit(code: number, text: string): never {
  if (code === 0) console.log(text);
  else console.error(text);
  process.exit(code);
}
