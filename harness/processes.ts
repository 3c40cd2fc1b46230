// Plinth's API and worker processes, started as an operator would start them and restarted whenever they exit.
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from './ports.ts';

export type Kind = 'api' | 'worker';

interface ManagedProcess {
  readonly kind: Kind;
  readonly settings: Readonly<Record<string, string>>;
  child?: ChildProcess;
  /** Set once the process has logged that it is ready. */
  ready?: boolean;
  readyAt?: number;
}

export interface Processes {
  readonly apis: readonly string[];
  /** The number of restarts so far. */
  readonly restarts: number;
  /** Returns the ids of the running processes of this kind. */
  pids(kind: Kind): number[];
  /** Counts the processes of this kind that are ready. */
  countReady(kind: Kind): number;
  allReady(): Promise<void>;
  /**
   * Kills a ready process. `choose` gets the number of ready processes and their ids, and returns the index of the
   * process to kill. Returns false if `choose` selects none.
   */
  kill(kind: Kind, choose: (count: number, pids: readonly (number | undefined)[]) => number): boolean;
  /** Kills all processes. None are restarted until `bringUp`. */
  takeDown(): void;
  /** Starts all processes again. Resolves when they are ready, with the time at which the first worker became ready. */
  bringUp(): Promise<number>;
  stop(): void;
}

const main = fileURLToPath(new URL('../server/src/main.ts', import.meta.url));
const readyMessages = { api: '"msg":"listening"', worker: '"msg":"worker started"' };
const restartDelayMs = 300;
const readyWithinMs = 120_000;

/**
 * `given` may be a function of the first API's address. `logFile` receives the processes' entire output. Without it,
 * only stderr is shown.
 */
export async function startProcesses(
  counts: Record<Kind, number>,
  given: Record<string, string> | ((api: string) => Record<string, string>),
  program = main,
  logFile?: string,
): Promise<Processes> {
  const log = logFile === undefined ? undefined : openSync(logFile, 'a');
  let stopping = false;
  let isDown = false;
  let starts = 0;

  function startAndRestart(member: ManagedProcess): void {
    if (stopping || isDown) return;
    starts += 1;
    const env = { PATH: process.env.PATH, ...member.settings };
    const child = spawn(process.execPath, [program, member.kind], {
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', log ?? 'inherit'],
    });
    child.stdout?.on('data', (chunk) => {
      if (log !== undefined) writeSync(log, chunk);
      if (member.ready || !String(chunk).includes(readyMessages[member.kind])) return;
      member.ready = true;
      member.readyAt = Date.now();
    });
    child.once('exit', () => {
      member.ready = false;
      setTimeout(startAndRestart, restartDelayMs, member);
    });
    member.child = child;
  }

  const ports = await Promise.all(Array.from({ length: counts.api }, freePort));
  const settings = typeof given === 'function' ? given(`http://127.0.0.1:${ports[0]}`) : given;
  const members: ManagedProcess[] = [
    ...ports.map((port) => ({ kind: 'api' as const, settings: { ...settings, PORT: String(port) } })),
    ...Array.from({ length: counts.worker }, () => ({ kind: 'worker' as const, settings })),
  ];
  members.forEach(startAndRestart);
  const allReady = async () => {
    const end = Date.now() + readyWithinMs;
    while (members.some((member) => !member.ready)) {
      if (Date.now() > end) throw new Error('not every process came to work');
      await sleep(50);
    }
  };
  const killAll = () => {
    for (const member of members) {
      member.ready = false;
      member.child?.kill('SIGKILL');
    }
  };
  return {
    apis: ports.map((port) => `http://127.0.0.1:${port}`),
    get restarts() {
      return starts - members.length;
    },
    pids: (kind) => members.flatMap((member) => (member.kind === kind ? (member.child?.pid ?? []) : [])),
    countReady: (kind) => members.filter((member) => member.kind === kind && member.ready).length,
    allReady,
    kill(kind, choose) {
      const ready = members.filter((member) => member.kind === kind && member.ready);
      const pids = ready.map(({ child }) => child?.pid);
      const member = ready[choose(ready.length, pids)];
      if (member === undefined) return false;
      member.ready = false;
      return member.child?.kill('SIGKILL') ?? false;
    },
    takeDown() {
      isDown = true;
      killAll();
    },
    async bringUp() {
      await sleep(2 * restartDelayMs); // lets pending restarts lapse while `isDown` is set
      isDown = false;
      members.forEach(startAndRestart);
      await allReady();
      return Math.min(...members.flatMap(({ kind, readyAt }) => (kind === 'worker' ? (readyAt ?? []) : [])));
    },
    stop() {
      stopping = true;
      killAll();
    },
  };
}
