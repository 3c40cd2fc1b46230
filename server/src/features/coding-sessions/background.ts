// Owns the queue of sessions, and the jobs that finish what processes left behind.
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { deadLetterTurn } from './end.ts';
import { SessionFault } from './fault.ts';
import { findKept } from './kept.ts';
import { removeLeftovers } from './provision.ts';
import { sessionQueue } from './session.ts';
import { removeOldCheckpoints } from './store/checkpoints.ts';
import { isSessionClaimed, listOverdueCancels, overdueCancelDueInMs, type SessionRow } from './store/sessions.ts';
import { crashed, runSession, type TurnDeps } from './turn.ts';

export interface SessionQueueDeps extends TurnDeps {
  readonly onTurn: (outcome: string, seconds: number) => void;
}

export const createSessionQueue = (deps: SessionQueueDeps): Queue<SessionRow> => ({
  name: sessionQueue,
  owner: 'workspace_id',
  // A run mostly waits for the model, but has a repository on the disk, and may run commands.
  concurrency: 8,
  perOwner: 4,
  quarantineAfter: 5, // runs take up to an hour: two unrelated crashes must not make sessions run one at a time
  timeoutMs: deps.limits.turnMs + 10 * 60_000,
  retryMs: retries(1_000, 5_000, 15_000),
  async run(session, { db, signal }) {
    const row = await runSession(db, session, deps, signal);
    if (row !== undefined) report(row, deps);
    return {};
  },
  async onDeadLetter(db, session, error) {
    const fault = error.startsWith('the worker crashed') ? crashed() : platformError();
    const row = await deadLetterTurn(db, session, fault, deps, deps.clock.now());
    if (row !== undefined) report(row, deps);
  },
});

const platformError = () =>
  new SessionFault(
    'internal_error',
    'An error of the platform kept this session from finishing. What was saved is kept: send a message to go on. If it happens again, tell the operator.',
  );

/** Turns that have ended, by how, with the time since they began. */
function report(
  { ended_at, turn_started_at, created_date, outcome, error_code, state }: SessionRow,
  deps: SessionQueueDeps,
) {
  if (ended_at === null) return;
  const seconds = (ended_at.getTime() - (turn_started_at ?? created_date).getTime()) / 1000;
  deps.onTurn(outcome ?? error_code ?? state, Math.max(0, seconds));
}

const dayMs = 24 * 60 * 60_000;
/** A message may go on with what an ended session left unfinished. */
const checkpointDays = 30;
const rowsAtOnce = 500;
// Those who wait for it get it after 20 seconds at the latest, although the git host is asked what is there.
const cancelMs = 12_000;
const cancelsAtOnce = 20;
const cancelsInParallel = 5;

export const sessionJobs = (deps: SessionQueueDeps): Job[] => [
  {
    name: 'end overdue cancellations of sessions',
    everyMs: 2_000,
    dueInMs: overdueCancelDueInMs(cancelMs),
    run: (db, now) => endOverdueCancels(db, deps, now),
  },
  {
    name: 'remove folders of lost sessions',
    everyMs: 60_000,
    run: (db) => removeLeftovers(deps, (claim) => isSessionClaimed(db, claim)),
  },
  {
    name: 'remove old checkpoints of sessions',
    everyMs: 10 * 60_000,
    run: (db, now) => removeOldCheckpoints(db, new Date(now.getTime() - checkpointDays * dayMs), rowsAtOnce),
  },
];

/** The worker that should have stopped them is gone, or hangs: it can write nothing more. */
async function endOverdueCancels(db: Db, deps: SessionQueueDeps, now: Date): Promise<number> {
  const overdue = await listOverdueCancels(db, new Date(now.getTime() - cancelMs), cancelsAtOnce);
  const end = async (session: SessionRow) => {
    const kept = await findKept(db, session, deps);
    const row = await transaction(db, (db) => deadLetterTurn(db, session, platformError(), deps, now, kept));
    if (row !== undefined) report(row, deps);
  };
  // A few at a time, so that they leave connections to the others; one that fails does not keep the rest.
  const failures: unknown[] = [];
  const left = overdue.values();
  const endSome = async () => {
    for (const session of left) await end(session).catch((error) => failures.push(error));
  };
  await Promise.all(Array.from({ length: cancelsInParallel }, endSome));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} sessions could not be cancelled`);
  return overdue.length;
}
