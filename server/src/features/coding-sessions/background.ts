// The session queue, and the jobs that clean up after lost workers.
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { sessionQueue } from './session/session.ts';
import { removeOldCheckpoints } from './store/checkpoints.ts';
import { isSessionClaimed, listOverdueCancels, overdueCancelDueInMs, type SessionRow } from './store/sessions.ts';
import { deadLetterTurn } from './turn/end.ts';
import { SessionFault } from './turn/fault.ts';
import { findKept } from './turn/kept.ts';
import { removeLeftovers } from './turn/provision.ts';
import { crashed, runSession, type TurnDeps } from './turn/turn.ts';

export interface SessionQueueDeps extends TurnDeps {
  readonly onTurn: (outcome: string, seconds: number) => void;
}

export const createSessionQueue = (deps: SessionQueueDeps): Queue<SessionRow> => ({
  name: sessionQueue,
  owner: 'workspace_id',
  byHand: {
    retry: 'The session keeps its saved work. Send it a message with sendSessionMessage.',
    cancel: 'Cancel the session with cancelSession.',
  },
  // A run mostly waits for the model, but it keeps a repository on disk and may run commands.
  concurrency: 8,
  perOwner: 4,
  quarantineAfter: 5, // runs take up to an hour, so two unrelated crashes must not quarantine sessions
  timeoutMs: deps.limits.turnMs + 10 * 60_000,
  retryMs: retries(1_000, 5_000, 15_000),
  async run(session, { db, signal }) {
    const row = await runSession(db, deps, session, signal);
    if (row !== undefined) report(row, deps);
    return {};
  },
  async onDeadLetter(db, session, error) {
    const fault = error.startsWith('the worker crashed') ? crashed() : platformError();
    const row = await deadLetterTurn(db, deps, { session, fault }, deps.clock.now());
    if (row !== undefined) report(row, deps);
  },
});

const platformError = () =>
  new SessionFault(
    'internal_error',
    'This session could not finish because of an internal error. The saved work is kept. Send a message to continue. If it happens again, contact the operator.',
  );

/** Reports an ended turn's outcome and duration. */
function report(
  { ended_at, turn_started_at, created_date, outcome, error_code, state }: SessionRow,
  deps: SessionQueueDeps,
) {
  if (ended_at === null) return;
  const seconds = (ended_at.getTime() - (turn_started_at ?? created_date).getTime()) / 1000;
  deps.onTurn(outcome ?? error_code ?? state, Math.max(0, seconds));
}

const dayMs = 24 * 60 * 60_000;
/** How long a new message can resume an ended session's unfinished work. */
const checkpointDays = 30;
const rowsAtOnce = 500;
// Leaves enough time to query the git host, so a caller sees the cancellation within 20 seconds.
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

/** Ends cancellations whose worker has crashed or hangs. The worker can then no longer write to the session. */
async function endOverdueCancels(db: Db, deps: SessionQueueDeps, now: Date): Promise<number> {
  const overdue = await listOverdueCancels(db, new Date(now.getTime() - cancelMs), cancelsAtOnce);
  const end = async (session: SessionRow) => {
    const kept = await findKept(db, deps, session);
    const row = await transaction(db, (db) => deadLetterTurn(db, deps, { session, fault: platformError(), kept }, now));
    if (row !== undefined) report(row, deps);
  };
  // Ends only a few at a time, to leave connections for other work. If one fails, the others are still ended.
  const failures: unknown[] = [];
  const left = overdue.values();
  const endSome = async () => {
    for (const session of left) await end(session).catch((error) => failures.push(error));
  };
  await Promise.all(Array.from({ length: cancelsInParallel }, endSome));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} sessions could not be cancelled`);
  return overdue.length;
}
