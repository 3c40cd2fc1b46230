// A measured worker's process. Starts it, and checks in its journal that it started every job exactly once.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { killProcess } from '../../harness/services.ts';
import { type Answer, clockMs, type Journal, type Order } from './journal.ts';
import type { System, SystemName } from './systems.ts';

const maxWaitMs = 120_000;

export interface Worked {
  /** Each job's start time, ordered by job number. */
  readonly startedAt: readonly number[];
  /** The last job's completion time. */
  readonly completedAt: number;
}

export class WorkerProcess {
  readonly system: System;
  readonly #child: ChildProcess;
  readonly #ended = new AbortController();

  private constructor(system: System, child: ChildProcess) {
    this.system = system;
    this.#child = child;
    child.once('exit', () => this.#ended.abort(new Error(`the worker of ${system.name} ended`)));
  }

  static async start(system: System): Promise<WorkerProcess> {
    const child = fork(system.program, {
      env: { PATH: process.env.PATH, ...system.environment },
      execArgv: ['--disable-warning=DeprecationWarning'], // pg warns about how DBOS calls it
    });
    const worker = new WorkerProcess(system, child);
    await worker.#nextAnswer();
    return worker;
  }

  get name(): SystemName {
    return this.system.name;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /**
   * Processes the jobs with these numbers, which `enqueue` enqueues. Calls `onCompleted` when all jobs are completed.
   * Throws unless each job was started exactly once.
   */
  async work(numbers: readonly number[], enqueue: () => Promise<unknown>, onCompleted = () => {}): Promise<Worked> {
    await this.#order({ kind: 'resume' });
    await this.#order({ kind: 'expect', first: numbers[0] as number, count: numbers.length });
    const allStarted = this.#nextAnswer();
    await Promise.all([enqueue(), allStarted]);
    const completedAt = await this.#untilCompleted();
    onCompleted();
    const { started, repeated, unexpected, startedAt } = (await this.#order({ kind: 'read' })) as Journal;
    await this.#order({ kind: 'pause' });
    if (started !== numbers.length || repeated > 0 || unexpected > 0)
      throw new Error(
        `${this.name}: of ${numbers.length} jobs ${started} were started, ${repeated} repeated, and ${unexpected} others started`,
      );
    return { startedAt, completedAt };
  }

  /** Waits until the system itself has recorded that no jobs are left. Returns the time. */
  async #untilCompleted(): Promise<number> {
    const { pool, hasOpenJobs } = this.system;
    for (const end = clockMs() + maxWaitMs; clockMs() < end; await sleep(5)) {
      const { rows } = await pool.query(`select ${hasOpenJobs} as open`);
      if (rows[0].open === false) return clockMs();
    }
    throw new Error(`${this.name}: jobs were started and never completed`);
  }

  #order(order: Order): Promise<Answer> {
    const answer = this.#nextAnswer();
    this.#child.send(order);
    return answer;
  }

  async #nextAnswer(): Promise<Answer> {
    const signal = AbortSignal.any([AbortSignal.timeout(maxWaitMs), this.#ended.signal]);
    return ((await once(this.#child, 'message', { signal })) as [Answer])[0];
  }

  stop(): Promise<void> {
    return killProcess(this.#child);
  }
}
