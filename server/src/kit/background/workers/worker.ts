// Owns a worker at work: everything that happens later, run under one slot.
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import { eventsTopic, removeDispatchedEvents } from '../events/event-bus.ts';
import { releaseClaims } from '../queues/complete.ts';
import type { Queue } from '../queues/queue.ts';
import { type QueueDeps, runQueue } from '../queues/run.ts';
import { type RunningWorkflows, runWorkflows, toExecutorId } from '../workflows/engine.ts';
import type { Workflow, Workflows } from '../workflows/workflows.ts';
import { type Loop, runLoop } from './loop.ts';
import { type Job, runJobs } from './schedule.ts';
import { defaultLeaseMs, type SlotEpoch, type WorkerSlot } from './slots.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

/** What a product does later. */
export interface BackgroundWork {
  readonly queues: readonly Queue[];
  readonly workflows: readonly Workflow[];
  readonly jobs: readonly Job[];
  /** Lets one batch of events be heard; gives how many. */
  dispatch(db: AnyDb, now: Date): Promise<number>;
}

export interface WorkerDeps {
  readonly url: string;
  readonly db: AnyDb;
  readonly clock: Clock;
  readonly wake: WakeUps;
  readonly engine: Workflows;
  /** As the slot's. */
  readonly leaseMs?: number;
  readonly onError: (what: string, error: unknown) => void;
  readonly onRun?: QueueDeps['onRun'];
  /** Told when what a slot's earlier holder had begun was given back. */
  readonly onRecovered?: (slot: number) => void;
}

export interface RunningWorker {
  /** Takes nothing new, lets what runs end, gives the rest back to others, and lets go of the slot. */
  stop(): Promise<void>;
}

// What takes longer is begun again elsewhere: a worker that never stops would hold up every deploy.
const drainMs = 10_000;
const keptMs = 30 * 24 * 60 * 60 * 1000;

export async function startWorker(later: BackgroundWork, slot: WorkerSlot, deps: WorkerDeps): Promise<RunningWorker> {
  const { db, clock, onError } = deps;
  const executor = toExecutorId(slot.slot);
  const unwatch = watch(deps.leaseMs ?? defaultLeaseMs);
  const settle = async ({ slot, epoch }: SlotEpoch) => {
    await releaseRows(later, db);
    await deps.engine.recover(db, toExecutorId(slot), { crashId: `${slot}.${epoch}` });
    deps.onRecovered?.(slot);
  };
  await settle(slot);
  await slot.markRecovered();
  const running = await runWorkflows(later.workflows, {
    url: deps.url,
    db,
    executor,
    sessionName: slot.sessionName,
    onWarning: (text) => onError('workflows', text),
  });
  const dispatcher = runDispatcher(later, deps);
  const queues = later.queues.map((queue) => runQueue(queue, { ...deps, slot: slot }));
  const sweeps = [
    ...sweepsOf(later, deps, executor, running),
    { name: 'settle abandoned slots', everyMs: 500, run: () => slot.recoverAbandonedSlots(settle) },
  ];
  const jobs = runJobs([...later.jobs, ...sweeps], db, clock, onError);
  return {
    async stop() {
      const stopped = Promise.all([
        dispatcher.stop(),
        jobs.stop(),
        running.stop(drainMs),
        ...queues.map((queue) => queue.stop(drainMs)),
      ]);
      // A job in the middle of something long is cut: whatever it does is whole, or begun again.
      await Promise.race([stopped, sleep(drainMs + 2_000)]);
      await deps.engine.recover(db, executor);
      await slot.release();
      await unwatch();
    },
  };
}

const sweepsOf = (
  later: BackgroundWork,
  { engine }: WorkerDeps,
  executor: string,
  running: RunningWorkflows,
): Job[] => [
  // Normally nothing: claims are given back when a slot changes hands. These heal what that missed.
  { name: 'release claims', everyMs: 10_000, run: (db) => releaseRows(later, db) },
  {
    name: 'give back stray workflows',
    everyMs: 30_000,
    run: (db) => engine.recover(db, executor, { isStray: (id) => !running.isRunning(id) }),
  },
  { name: 'cancel workflows', everyMs: 5_000, run: (db) => engine.applyPendingCancels(db) },
  { name: 'apply schedules', everyMs: 60_000, run: () => running.applySchedules().then(() => 0) },
  { name: 'forget events', everyMs: 60_000, run: removeDispatchedEvents },
  {
    name: 'forget workflows',
    everyMs: 60_000,
    run: (db, now) => engine.removeFinished(db, new Date(now.getTime() - keptMs)),
  },
];

async function releaseRows(later: BackgroundWork, db: AnyDb): Promise<number> {
  let released = 0;
  for (const queue of later.queues) released += await releaseClaims(queue, db);
  return released;
}

function runDispatcher(later: BackgroundWork, { db, clock, wake, onError }: WorkerDeps): Loop {
  const rest = new WakeableSleep();
  wake.listen(eventsTopic, rest.wake);
  return runLoop(rest, async () => {
    const done = await later.dispatch(db, clock.now()).catch((error: unknown) => {
      onError('dispatch events', error);
      return 0;
    });
    return done > 0 ? 0 : wake.pollMs();
  });
}

/** A main thread that is stuck for as long as a lease ends with its process. */
function watch(patienceMs: number): () => Promise<unknown> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { beats, patienceMs };
  const thread = new Worker(new URL('watchdog.ts', import.meta.url), { workerData });
  thread.unref();
  const beating = setInterval(() => Atomics.add(beats, 0, 1), patienceMs / 16).unref();
  return () => {
    clearInterval(beating);
    return thread.terminate();
  };
}
