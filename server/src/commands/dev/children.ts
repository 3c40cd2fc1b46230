// Owns the processes that `plinth dev` starts beside the API: a worker, the sandbox, and the load of locations. All exit when
// this process does.
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config.ts';
import { prettyLog } from './log-lines.ts';

const plinth = fileURLToPath(new URL('../../../plinth.js', import.meta.url));
const sandbox = fileURLToPath(new URL('../../../../sandbox/src/main.ts', import.meta.url));

/** Advertising accounts and cards in it must outlive a restart, because Plinth's database refers to them. */
const sandboxFolder = '.data/sandbox';

/** Where the servers of the sandbox are (sandbox/README.md). */
export interface Sandbox {
  readonly smtpUrl: string;
  readonly inboxUrl: string;
  readonly modelUrl: string;
  readonly receiverUrl: string;
  /** The services of connectors. */
  readonly connectorUrl: string;
  readonly adPlatformUrl: string;
  readonly adPlatformManagerId: string;
  readonly adPlatformCredentials: string;
  readonly paymentsUrl: string;
  readonly paymentsSecretKey: string;
  readonly advisoriesUrl: string;
  readonly gitHostUrl: string;
  /** Also the address of its pages for people. */
  readonly gitHostCloneUrl: string;
  readonly gitHostToken: string;
  /** The repository of the demo. */
  readonly gitHostRepository: string;
}

export async function startSandbox(): Promise<Sandbox> {
  if (!existsSync(sandbox)) throw new ConfigError(`There is no sandbox here. ${withoutSandbox}`);
  const child = fork(sandbox, [sandboxFolder], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  child.stdout?.pipe(prettyLog('sandbox'));
  const started = new Promise<Sandbox>((resolve) => child.once('message', (message) => resolve(message as Sandbox)));
  const failed = new Promise<undefined>((resolve) => child.once('exit', () => resolve(undefined)));
  const addresses = await Promise.race([started, failed]);
  if (addresses === undefined) throw new ConfigError(`The sandbox did not start: see above. ${withoutSandbox}`);
  return addresses;
}

const withoutSandbox = 'To run without it: npm run dev -- --no-sandbox';

/** Starts a worker, and restarts it when it exits. Resolves once the first one has started, or after 30 seconds. */
export async function superviseWorker(): Promise<void> {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => (stopping = true));
  const start = (): ChildProcess => {
    const child = fork(plinth, ['worker'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    child.stdout?.pipe(prettyLog('worker'));
    child.once('exit', () => setTimeout(() => stopping || start(), 1_000));
    return child;
  };
  const started = new Promise((resolve) => start().once('message', resolve));
  await Promise.race([started, sleep(30_000, undefined, { ref: false })]);
}

/** Loads the catalogue of locations, if the database does not have it yet. Takes seconds, so nothing waits for it. */
export function startLoadingLocations(): void {
  const child = fork(plinth, ['migrate'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  process.once('exit', () => child.kill());
}
