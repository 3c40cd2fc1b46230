// The processes that `plinth dev` starts besides the API: a worker, the sandbox, and a process that loads
// locations. They exit when this process exits.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config.ts';
import { prettyLog } from './log-lines.ts';

const plinth = fileURLToPath(new URL('../../../plinth.js', import.meta.url));
const sandbox = fileURLToPath(new URL('../../../../sandbox/src/main.ts', import.meta.url));

/** The sandbox's advertising accounts and cards must survive a restart, because Plinth's database refers to them. */
const sandboxFolder = '.data/sandbox';

let runningSandbox: ChildProcess | undefined;

/** The addresses of the sandbox's servers (sandbox/README.md). */
export interface Sandbox {
  /** A page with links to the sandbox's other pages. */
  readonly startPageUrl: string;
  readonly smtpUrl: string;
  readonly inboxUrl: string;
  readonly modelUrl: string;
  /** What the model can be asked for. */
  readonly modelRequests: readonly string[];
  readonly receiverUrl: string;
  /** Replaces the connectors' services. */
  readonly connectorUrl: string;
  readonly adPlatformUrl: string;
  readonly adPlatformManagerId: string;
  readonly adPlatformCredentials: string;
  readonly paymentsUrl: string;
  readonly paymentsSecretKey: string;
  readonly advisoriesUrl: string;
  readonly gitHostUrl: string;
  /** Also the address of the host's web pages. */
  readonly gitHostCloneUrl: string;
  readonly gitHostToken: string;
  /** The demo's repository. */
  readonly gitHostRepository: string;
}

/** Starts the sandbox, or restarts it with the current code. */
export async function startSandbox(): Promise<Sandbox> {
  if (!existsSync(sandbox)) throw new ConfigError(`There is no sandbox here. ${withoutSandbox}`);
  if (runningSandbox?.connected) {
    const exited = once(runningSandbox, 'exit');
    runningSandbox.kill();
    await exited; // frees its ports
  }
  const child = fork(sandbox, [sandboxFolder], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  runningSandbox = child;
  child.stdout?.pipe(prettyLog('sandbox'));
  const started = new Promise<Sandbox>((resolve) => child.once('message', (message) => resolve(message as Sandbox)));
  const failed = new Promise<undefined>((resolve) => child.once('exit', () => resolve(undefined)));
  const addresses = await Promise.race([started, failed]);
  if (addresses === undefined) throw new ConfigError(`The sandbox did not start: see above. ${withoutSandbox}`);
  return addresses;
}

const withoutSandbox = 'To run without it: npm run dev -- --no-sandbox';

export interface WorkerProcess {
  /**
   * Waits for the worker to finish its work and exit, and starts one with the current code. Returns whether it started
   * in time.
   */
  restart(): Promise<boolean>;
}

/** Starts a worker, and restarts it when it exits. Resolves once it has started, or after 30 seconds. */
export async function superviseWorker(): Promise<WorkerProcess> {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => (stopping = true));
  let started = Promise.withResolvers<unknown>();
  const start = (): ChildProcess => {
    const child = fork(plinth, ['worker'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    child.stdout?.pipe(prettyLog('worker'));
    child.once('message', started.resolve);
    child.once('exit', () => setTimeout(startAgain, isAskedToExit ? 0 : 1_000));
    isAskedToExit = false;
    return child;
  };
  const startAgain = () => {
    if (!stopping) current = start();
  };
  const waitUntilStarted = (): Promise<boolean> =>
    Promise.race([started.promise.then(() => true), sleep(30_000, false, { ref: false })]);
  let isAskedToExit = false;
  let current = start();
  await waitUntilStarted();
  return {
    restart() {
      started = Promise.withResolvers();
      // A second signal would make the worker drop its work. If the worker has already exited, the signal has no
      // effect, and the next worker is about to start.
      if (!isAskedToExit) current.kill('SIGTERM');
      isAskedToExit = true;
      return waitUntilStarted();
    },
  };
}

/**
 * Loads the location catalogue if the database does not have it yet. This takes several seconds, so nothing waits for
 * it.
 */
export function startLoadingLocations(): void {
  const child = fork(plinth, ['migrate'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  process.once('exit', () => child.kill());
}
