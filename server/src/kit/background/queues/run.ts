// Owns a queue at work in one process: claims what is due, runs it, and closes the claim with what came of it.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../clock.ts';
import { prepared } from '../../db/database.ts';
import { runLoop } from '../workers/loop.ts';
import { WakeableSleep, type WakeUps } from '../workers/wake.ts';
import { type ClaimDeps, claimRows } from './claim.ts';
import { failedOutcome, type RunResult, startCompleter } from './complete.ts';
import type { Outcome, Queue, QueueRow } from './queue.ts';

const claimedAtOnce = 128;
const endedAtOnce = 32;
const partlyMs = 10;
const contendedMs = 100;
const failedMs = 500;
const strayMs = 10_000;

export interface RunningQueue {
  /** Claims nothing more, lets what runs end for as long, and gives back the rest. */
  stop(withinMs: number): Promise<void>;
}

export interface QueueDeps extends ClaimDeps {
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly onError: (queue: string, error: unknown) => void;
  /** Told of every run that ended: for figures. */
  readonly onRun?: (queue: string, outcome: RunResult, seconds: number) => void;
}

/** Runs one queue in this process until stopped. */
export function runQueue(queue: Queue, deps: QueueDeps): RunningQueue {
  const givenBack = new AbortController();
  const rest = new WakeableSleep();
  const running = new Map<Promise<void>, QueueRow>();
  /** Those that have run and are being closed: they are in nobody's way any more. */
  const over = new Set<QueueRow>();
  const nextDue = nextDueOf(queue);
  const close = startCompleter(queue, deps.db);
  let sweptAt = performance.now();
  let ended = 0;
  deps.wake.listen(queue.name, rest.wake);

  const runOne = async (row: QueueRow) => {
    const startedAt = performance.now();
    const outcome = await runInTime(queue, row, deps, givenBack.signal);
    over.add(row);
    ended += 1;
    // Woken for each row that ends, the claim would fetch one row at a time.
    if (ended >= endedAtOnce || running.size - over.size < endedAtOnce) rest.wake();
    const closed = await close(row, outcome);
    deps.onRun?.(queue.name, closed, (performance.now() - startedAt) / 1000);
  };
  const start = (row: QueueRow) => {
    const work = runOne(row)
      .catch((error: unknown) => {
        deps.onError(queue.name, error);
        sweptAt = 0; // its claim may still stand
      })
      .finally(() => {
        running.delete(work);
        over.delete(row);
      });
    running.set(work, row);
  };
  /** Gives how long there is nothing to do. */
  const turn = async (): Promise<number> => {
    if (performance.now() - sweptAt > strayMs) {
      await releaseStrays(queue, deps, [...running.values()]);
      sweptAt = performance.now();
    }
    const room = Math.min(queue.concurrency - (running.size - over.size), claimedAtOnce);
    if (room <= 0) return deps.wake.pollMs();
    ended = 0;
    const [next] = await nextDue(deps.db);
    if (next === undefined || next.in_ms > 0)
      return Math.min(next?.in_ms ?? Number.POSITIVE_INFINITY, deps.wake.pollMs());
    const rows = await claimRows(queue, deps, room, [...running.values()], over);
    for (const row of (await queue.load?.(deps.db, rows)) ?? rows) start(row);
    if (rows.length === room) return 0;
    // Less than there is room for, though something is due: it is of owners who have their share, or somebody was first.
    return rows.length > 0 ? partlyMs : contendedMs;
  };
  const loop = runLoop(rest, () =>
    turn().catch((error: unknown) => {
      deps.onError(queue.name, error);
      sweptAt = 0; // rows may have been claimed by a statement whose answer was lost
      return failedMs;
    }),
  );
  return {
    async stop(withinMs) {
      await loop.stop();
      await Promise.race([Promise.all(running.keys()), sleep(withinMs)]);
      await releaseStrays(queue, deps, []);
      givenBack.abort(new Error('the worker stops'));
    },
  };
}

const nextDueOf = (queue: Queue) =>
  prepared<{ in_ms: number }, []>(
    `next due of ${queue.name}`,
    `/* service */ select extract(epoch from due_at - statement_timestamp())::float * 1000 as in_ms
     from "${queue.name}" where claimed_slot is null and due_at is not null order by due_at limit 1`,
  );

/** Gives back what this worker has claimed and does not run: nobody else would, as long as it lives. */
async function releaseStrays(queue: Queue, { db, claim }: QueueDeps, running: readonly QueueRow[]): Promise<void> {
  await sql`/* service */ update ${sql.table(queue.name)} set claimed_slot = null, claimed_epoch = null
    where claimed_slot = ${claim.slot} and claimed_epoch = ${claim.epoch}
      and id <> all(${running.map((row) => row.id)}::uuid[])`.execute(db);
}

async function runInTime(
  queue: Queue,
  row: QueueRow,
  { db, clock }: QueueDeps,
  givenBack: AbortSignal,
): Promise<Outcome> {
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`took longer than ${queue.timeoutMs} ms`);
    limit.abort(error);
    late.reject(error); // what ignores the signal is no longer waited for
  }, queue.timeoutMs);
  try {
    return await Promise.race([
      queue.run(row, { db, now: clock.now(), signal: AbortSignal.any([limit.signal, givenBack]) }),
      late.promise,
    ]);
  } catch (error) {
    return failedOutcome(queue, row, error);
  } finally {
    clearTimeout(timer);
  }
}
