// Runs a worker: the worker recovers its slot, then runs the dispatcher, queues and jobs until it is stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.ts';
import type { AnyDb } from '../../db/database.ts';
import { eventsDueInMs, fullBatch, type RunningQueues } from '../events/dispatch.ts';
import { eventsTopic, removeDispatchedEvents } from '../events/event-bus.ts';
import { type KnownRows, queueDueInMs } from '../queues/claim.ts';
import { listAbandonedQueues, releaseClaims } from '../queues/complete.ts';
import type { Queue } from '../queues/queue.ts';
import { type QueueDeps, type RunningQueue, runQueue } from '../queues/run.ts';
import { type Loop, runLoop } from './loop.ts';
import { type DueWork, startPolling, wokenByPolling } from './poll.ts';
import { type Job, runJobs } from './schedule.ts';
import { defaultLeaseMs, type SlotEpoch, type WorkerSlot } from './slots.ts';
import { WakeableSleep, type WakeUps } from './wake.ts';

/** All of the product's background work. */
export interface BackgroundWork {
  readonly queues: readonly Queue[];
  readonly jobs: readonly Job[];
  /** Dispatches one batch of events. Returns how many events were handled. */
  dispatch(db: AnyDb, now: Date, queues?: RunningQueues): Promise<number>;
  /** What this process knows of the pending events, for polling. */
  knownEvents(): KnownRows;
  /** SQL conditions on `events.id` that are true while queued work needs a dispatched event's payload. */
  readonly eventNeededIf?: readonly string[];
}

export interface WorkerDeps {
  readonly db: AnyDb;
  readonly clock: Clock;
  readonly wake: WakeUps;
  readonly leaseMs?: number;
  readonly onError: (what: string, error: unknown) => void;
  readonly onRun?: QueueDeps['onRun'];
  readonly onClaim?: QueueDeps['onClaim'];
  readonly onMissed?: QueueDeps['onMissed'];
  readonly fullLookEveryMs?: QueueDeps['fullLookEveryMs'];
  /** Called after the work claimed by a slot's previous holder has been released. */
  readonly onRecovered?: (slot: number) => void;
  /** The queues that this worker runs. By default, all. */
  readonly queues?: readonly Queue[];
}

export interface RunningWorker {
  /** Stops claiming, waits for running work, and then releases any remaining claims and the slot. */
  stop(): Promise<void>;
}

// Work that takes longer to finish than this runs again in another worker, because waiting longer would block
// deployments.
const drainMs = 10_000;

export async function startWorker(work: BackgroundWork, slot: WorkerSlot, deps: WorkerDeps): Promise<RunningWorker> {
  const { db, clock, onError } = deps;
  const stopWatchdog = startWatchdog(deps.leaseMs ?? defaultLeaseMs);
  const recover = async ({ slot }: SlotEpoch) => {
    await releaseRows(db, work);
    deps.onRecovered?.(slot);
  };
  await recover(slot);
  await slot.markRecovered();
  const jobs: Job[] = [
    ...work.jobs,
    {
      name: 'remove dispatched events',
      everyMs: 60_000,
      run: (db, now) => removeDispatchedEvents(db, work.eventNeededIf ?? [], now),
    },
    // Normally finds nothing, because recovering a slot already releases its claims.
    { name: 'release claims', everyMs: 30_000, run: (db) => releaseRows(db, work) },
    { name: 'recover abandoned slots', everyMs: 500, run: () => slot.recoverAbandonedSlots(recover) },
  ];
  const wake = wokenByPolling(deps.wake);
  const queues = new Map(
    (deps.queues ?? work.queues).map((queue) => [queue.name, runQueue(queue, { ...deps, wake, slot })]),
  );
  const polling = startPolling(listDueWork(work, queues, jobs), deps);
  const dispatcher = runDispatcher(work, queues, { ...deps, wake });
  const runningJobs = runJobs(db, jobs, clock, wake, onError);
  return {
    async stop() {
      const dispatchEnded = dispatcher.stop();
      const stopped = Promise.all([
        polling.stop(),
        dispatchEnded,
        ...[...queues.values()].map((queue) => queue.stop(drainMs, dispatchEnded)),
        runningJobs.stop(),
      ]);
      // A job that takes longer is interrupted. This is safe, because jobs are idempotent and write in transactions.
      await Promise.race([stopped, sleep(drainMs + 2_000)]);
      await slot.release();
      await stopWatchdog();
    },
  };
}

const listDueWork = (
  work: BackgroundWork,
  queues: ReadonlyMap<string, RunningQueue>,
  jobs: readonly Job[],
): DueWork[] => [
  {
    topic: eventsTopic,
    dueInMs: eventsDueInMs(`($2::json -> '${eventsTopic}')`),
    known: () => work.knownEvents(),
  },
  ...[...queues].map(([name, queue]) => ({
    topic: name,
    dueInMs: queueDueInMs({ name }, `($2::json -> '${name}')`),
    known: () => queue.known,
  })),
  ...jobs.flatMap(({ name, everyMs, ...job }) =>
    job.dueInMs === undefined ? [] : [{ topic: name, everyMs, dueInMs: job.dueInMs, known: job.known }],
  ),
];

async function releaseRows(db: AnyDb, work: BackgroundWork): Promise<number> {
  const abandoned = await listAbandonedQueues(db, work.queues);
  let released = 0;
  for (const queue of abandoned) released += await releaseClaims(db, queue);
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
    return handled >= fullBatch ? 0 : wake.pollMs(); // events published in the meantime have already woken the loop
  });
}

/**
 * Kills the process when its main thread has been stuck for `timeoutMs`. Returns a function that stops the watchdog.
 */
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
