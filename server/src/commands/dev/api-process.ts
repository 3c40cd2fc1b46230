// The API process of `plinth dev`, and replacing it when the code changes. The new process starts serving before
// the old one stops, so no request is lost. Both are workers of a `node:cluster`, which keeps the port open.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config.ts';
import { prettyLog } from './log-lines.ts';

const plinth = fileURLToPath(new URL('../../../plinth.js', import.meta.url));
const standby = fileURLToPath(new URL('./standby.ts', import.meta.url));
/** The same folder that workers use (main.ts). Workers write to it as soon as they have loaded. */
const compiledModules = fileURLToPath(new URL('../../../../node_modules/.cache/plinth', import.meta.url));

/**
 * Loading creates a lot of garbage within a second. With V8's defaults, garbage collection takes about a sixth of the
 * loading time.
 */
const largeNurseries = ['--min-semi-space-size=32', '--max-semi-space-size=32'];

export interface ApiProcess {
  /**
   * Starts a process with the current code. `failed` means that the process has printed an error, and the previous
   * process keeps serving. `superseded` means that another call came before the process started serving.
   */
  reload(): Promise<'serving' | 'failed' | 'superseded'>;
  /** Starts a process for the next reload, which loads as much as it can in advance. */
  prepare(): void;
  /** The API's address, as seen from this machine. */
  url(): string;
}

export function superviseApi({ HOST }: Pick<Config, 'HOST'>): ApiProcess {
  const host = isIPv6(HOST) ? `[${HOST}]` : HOST;
  let port = 0;
  let serving: Worker | undefined;
  let loading: Worker | undefined;
  let spare: Worker | undefined;
  let stopping = false;
  const running = new Set<Worker>();
  cluster.setupPrimary({
    exec: standby,
    args: [plinth, 'api'],
    execArgv: [...process.execArgv, ...largeNurseries],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });

  const fork = (): Worker => {
    const worker = cluster.fork({ NODE_COMPILE_CACHE: compiledModules });
    running.add(worker);
    worker.process.stdout?.pipe(prettyLog('api'));
    worker.on('error', () => {}); // followed by an exit event
    worker.once('exit', () => {
      running.delete(worker);
      if (spare === worker) spare = undefined;
      if (serving !== worker) return;
      serving = undefined;
      if (stopping) return;
      console.log('api: the process exited and is being restarted');
      setTimeout(() => serving === undefined && loading === undefined && void reload(), 1_000);
    });
    return worker;
  };

  const reload: ApiProcess['reload'] = async () => {
    loading?.process.kill('SIGKILL');
    const worker = spare ?? fork();
    spare = undefined;
    loading = worker;
    worker.send('start');
    const served = await new Promise<boolean>((resolve) => {
      worker.once('listening', (address) => {
        port = address.port;
        resolve(true);
      });
      worker.once('exit', () => resolve(false));
    });
    if (loading !== worker) return 'superseded';
    loading = undefined;
    if (!served) return 'failed';
    const previous = serving;
    serving = worker;
    previous?.disconnect(); // gets no new connections from now on
    previous?.process.kill('SIGTERM'); // finishes the requests in progress, then exits
    return 'serving';
  };

  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1); // exits immediately on a second signal
    stopping = true;
    for (const worker of running) if (worker !== serving) worker.process.kill('SIGKILL');
    // A terminal sends SIGINT to all processes. Another signal would make the API drop its requests.
    if (signal !== 'SIGINT') serving?.process.kill('SIGTERM');
    setTimeout(() => serving?.process.kill('SIGTERM'), 5_000);
    await Promise.all([...running].map((worker) => once(worker, 'exit')));
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));

  return {
    reload,
    prepare: () => {
      spare ??= fork();
    },
    url: () => `http://${host}:${port}`,
  };
}
