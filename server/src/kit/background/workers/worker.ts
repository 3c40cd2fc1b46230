// Owns running a worker: recovers its slot, then runs dispatcher, queues and jobs under it until stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import { eventsDueInMs, fullBatch, type RunningQueues } from '../events/dispatch.ts';
import { eventsTopic, removeDispatchedEvents } from '../events/event-bus.ts';
import { queueDueInMs } from '../queues/claim.ts';
import { listAbandonedQueues, releaseClaims } from '../queues/complete.ts';
import type { Queue } from '../queues/queue.ts';
import { type QueueDeps, runQueue } from '../queues/run.ts';
import { type Loop, runLoop } from './loop.ts';
import { type DueWork, startPolling, wokenByPolling } from './poll.ts';
import { type Job, runJobs } from './schedule.ts';
import { defaultLeaseMs, type SlotEpoch, type WorkerSlot } from './slots.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

/** All background work of the product. */
export interface BackgroundWork {
  readonly queues: readonly Queue[];
  readonly jobs: readonly Job[];
  /** Dispatches one batch of events. Returns how many were handled. */
  dispatch(db: AnyDb, now: Date, queues?: RunningQueues): Promise<number>;
}

export interface WorkerDeps {
  readonly db: AnyDb;
  readonly clock: Clock;
  readonly wake: WakeUps;
  /** The lease of the slot. */
  readonly leaseMs?: number;
  readonly onError: (what: string, error: unknown) => void;
  readonly onRun?: QueueDeps['onRun'];
  /** Called when the work that a slot's earlier holder had claimed was released. */
  readonly onRecovered?: (slot: number) => void;
}

export interface RunningWorker {
  /** Claims nothing new, waits for running work, releases the rest, and releases the slot. */
  stop(): Promise<void>;
}

// Work that takes longer runs again elsewhere: a worker that never stops would block every deployment.
const drainMs = 10_000;

export async function startWorker(work: BackgroundWork, slot: WorkerSlot, deps: WorkerDeps): Promise<RunningWorker> {
  const { db, clock, onError } = deps;
  const stopWatchdog = startWatchdog(deps.leaseMs ?? defaultLeaseMs);
  const recover = async ({ slot }: SlotEpoch) => {
    await releaseRows(work, db);
    deps.onRecovered?.(slot);
  };
  await recover(slot);
  await slot.markRecovered();
  const jobs: Job[] = [
    ...work.jobs,
    { name: 'remove dispatched events', everyMs: 60_000, run: removeDispatchedEvents },
    // Normally finds nothing, because recovering a slot releases its work.
    { name: 'release claims', everyMs: 30_000, run: (db) => releaseRows(work, db) },
    { name: 'recover abandoned slots', everyMs: 500, run: () => slot.recoverAbandonedSlots(recover) },
  ];
  const polling = startPolling(listDueWork(work.queues, jobs), deps);
  const wake = wokenByPolling(deps.wake);
  const queues = new Map(work.queues.map((queue) => [queue.name, runQueue(queue, { ...deps, wake, slot })]));
  const dispatcher = runDispatcher(work, queues, { ...deps, wake });
  const runningJobs = runJobs(jobs, db, clock, wake, onError);
  return {
    async stop() {
      const dispatchEnded = dispatcher.stop();
      const stopped = Promise.all([
        polling.stop(),
        dispatchEnded,
        ...[...queues.values()].map((queue) => queue.stop(drainMs, dispatchEnded)),
        runningJobs.stop(),
      ]);
      // A job that takes longer is interrupted. Jobs are idempotent, and what they write is transactional.
      await Promise.race([stopped, sleep(drainMs + 2_000)]);
      await slot.release();
      await stopWatchdog();
    },
  };
}

const listDueWork = (queues: readonly Queue[], jobs: readonly Job[]): DueWork[] => [
  { topic: eventsTopic, dueInMs: eventsDueInMs },
  ...queues.map((queue) => ({ topic: queue.name, dueInMs: queueDueInMs(queue) })),
  ...jobs.flatMap(({ name, dueInMs, everyMs }) => (dueInMs === undefined ? [] : [{ topic: name, dueInMs, everyMs }])),
];

async function releaseRows(work: BackgroundWork, db: AnyDb): Promise<number> {
  const abandoned = await listAbandonedQueues(work.queues, db);
  let released = 0;
  for (const queue of abandoned) released += await releaseClaims(queue, db);
  return released;
}

function runDispatcher(
  work: BackgroundWork,
  queues: RunningQueues,
  { db, clock, wake, onError }: Pick<QueueDeps, 'db' | 'clock' | 'wake' | 'onError'>,
): Loop {
  const idle = new WakeableSleep();
  wake.listen(eventsTopic, idle.wake);
  return runLoop(idle, async () => {
    const handled = await work.dispatch(db, clock.now(), queues).catch((error: unknown) => {
      onError('dispatch events', error);
      return 0;
    });
    return handled >= fullBatch ? 0 : wake.pollMs(); // what was published meanwhile has woken it
  });
}

/** Kills the process when its main thread is stuck for as long as a lease. Returns a function that stops watching. */
function startWatchdog(timeoutMs: number): () => Promise<unknown> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { beats, timeoutMs };
  const thread = new Worker(new URL('watchdog.ts', import.meta.url), { workerData });
  thread.unref();
  const heartbeat = setInterval(() => Atomics.add(beats, 0, 1), timeoutMs / 16).unref();
  return () => {
    clearInterval(heartbeat);
    return thread.terminate();
  };
}
