// The soak's worker processes, which are killed and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { clockMs } from '../journal.ts';
import { type Run, readJournal } from './journal.ts';
import { redisUrl } from './settings.ts';

const workers = 3;

interface WorkerProcess {
  readonly number: number;
  readonly child: ChildProcess;
  readonly journal: string;
  slot: number | undefined;
  endedAt?: number;
}

/** The workers. One that ends is started again. */
export class Fleet {
  readonly processes: WorkerProcess[] = [];
  /** The processes that did not end by themselves. */
  readonly interrupted = new Map<number, number>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'plinth-soak-'));
  readonly #url: string;
  readonly #prefix: string;
  readonly #recovered = new EventTarget();
  #isStopping = false;

  constructor(url: string, prefix: string) {
    this.#url = url;
    this.#prefix = prefix;
  }

  start(): void {
    for (let n = 0; n < workers; n += 1) this.#spawn();
  }

  #spawn(): void {
    const number = this.processes.length;
    const journal = join(this.#folder, `${number}`);
    writeFileSync(journal, ''); // read even if the worker never starts, such as while the database is down
    const child = spawn(process.execPath, [fileURLToPath(new URL('worker.ts', import.meta.url))], {
      env: {
        PATH: process.env.PATH,
        SOAK_URL: this.#url,
        SOAK_REDIS_URL: redisUrl,
        SOAK_PREFIX: this.#prefix,
        SOAK_JOURNAL: journal,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const worker: WorkerProcess = { number, child, journal, slot: undefined };
    this.processes.push(worker);
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = JSON.parse(line) as { working?: number; recovered?: number };
      if (said.working !== undefined) worker.slot = said.working;
      else this.#recovered.dispatchEvent(new Event(`slot ${said.recovered}`));
    });
    child.once('exit', () => {
      worker.endedAt ??= clockMs();
      if (!this.#isStopping) setTimeout(() => this.#isStopping || this.#spawn(), 500);
    });
  }

  listWorking = () => this.processes.filter(({ slot, endedAt }) => slot !== undefined && endedAt === undefined);

  async untilFull(): Promise<void> {
    while (this.listWorking().length < workers) await sleep(50);
  }

  /** Kills a worker, and waits until another one has released its rows. */
  async killAny(): Promise<void> {
    await this.untilFull();
    const working = this.listWorking();
    const worker = working[Math.floor(Math.random() * working.length)] as WorkerProcess;
    const recovered = new Promise((resolve) =>
      this.#recovered.addEventListener(`slot ${worker.slot}`, resolve, { once: true }),
    );
    worker.endedAt = clockMs();
    this.interrupted.set(worker.number, worker.endedAt);
    worker.child.kill('SIGKILL');
    await recovered;
  }

  /** The workers lose their slots, and exit. */
  noteCrash(at: number): void {
    for (const worker of this.processes.filter(({ endedAt }) => endedAt === undefined)) {
      this.interrupted.set(worker.number, at);
      worker.slot = undefined;
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { child } of this.processes) child.kill('SIGTERM');
    while (this.processes.some(({ child }) => child.exitCode === null && child.signalCode === null)) await sleep(50);
  }

  listRuns = (): Run[] =>
    this.processes.flatMap(({ number, journal, endedAt = clockMs() }) => readJournal(journal, number, endedAt));

  removeJournals = () => rmSync(this.#folder, { recursive: true, force: true });
}
