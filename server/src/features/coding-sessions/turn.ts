// Owns running a session that a worker has claimed, from whichever state it is in: preparing it, the work of the agent, bringing the work
// to the git host, and stopping it. A worker that takes over goes on after what is recorded.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { Clock } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { computeSessionCredits } from './costs.ts';
import { readCredential } from './credential.ts';
import { type DeliverDeps, openPullRequest, pushWork } from './deliver.ts';
import { type CancelReason, cancelTurn, completeTurn, failTurn } from './end.ts';
import { SessionFault } from './fault.ts';
import { findKept } from './kept.ts';
import {
  isOnBaseBranch,
  type NewTurn,
  openWorkplace,
  type ProvisionDeps,
  prepareTurn,
  restoreTurn,
  type TurnStart,
  type Workplace,
} from './provision.ts';
import { runsByItself } from './run-files.ts';
import { appendLog, asWorker, ClaimLost, moveSession, SessionMoved, toSummary } from './session.ts';
import { removeCheckpoints } from './store/checkpoints.ts';
import { listPendingMessages } from './store/messages.ts';
import { lockSession, type SessionRow, saveWork } from './store/sessions.ts';
import { listSteps, type StepRow } from './store/steps.ts';
import { isEnded } from './transitions.ts';
import { SessionStopped, type WatchDeps, watchSession } from './watch.ts';
import { createClone } from './work/clone.ts';
import { type LoopDeps, type LoopRun, runLoop } from './work/loop.ts';
import { isFinish, type StepRecord } from './work/step.ts';

export interface TurnDeps extends LoopDeps, ProvisionDeps, DeliverDeps {
  readonly wake: LoopDeps['wake'] & WatchDeps['wake'];
  readonly clock: Clock;
}

const maxCrashes = 2;

/** What the worker has at hand when it must stop. */
interface Running {
  place?: Workplace;
  loop?: LoopRun;
}

/** Returns the session as it is when this worker is done with it; undefined if that is somebody else's business. */
export async function runSession(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  if (isEnded(session.state)) return undefined;
  await deps.onBoundary?.('claimed', session.id);
  const watch = watchSession(db, session, deps);
  const running: Running = {};
  try {
    return await takeOn(db, session, deps, running, AbortSignal.any([signal, watch.signal]));
  } catch (error) {
    const cause = watch.signal.aborted ? watch.signal.reason : error;
    return await stop(db, session, deps, running, cause, signal);
  } finally {
    watch.close();
    await running.place?.close().catch(() => {}); // a job removes what is left
  }
}

/** What becomes of a session that the worker can't go on with. */
async function stop(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  running: Running,
  cause: unknown,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  try {
    if (cause instanceof ClaimLost) return undefined;
    const reason = cause instanceof SessionStopped ? cause.reason : undefined;
    if (reason === 'claim_lost') return undefined;
    signal.throwIfAborted(); // the worker stops: another takes over
    if (reason !== undefined) return await cancel(db, session, deps, running, reason);
    if (cause instanceof SessionMoved && cause.state === 'cancelling')
      return await cancel(db, session, deps, running, 'cancelled');
    if (cause instanceof SessionFault) {
      const kept = await findKept(db, await getPresent(db, session), deps);
      return await failTurn(db, session, cause, kept, deps, deps.clock.now());
    }
  } catch (error) {
    if (error instanceof ClaimLost) return undefined;
    throw error;
  }
  throw cause;
}

async function cancel(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  { loop }: Running,
  reason: CancelReason,
): Promise<SessionRow> {
  const kept = await findKept(db, await getPresent(db, session), deps);
  return cancelTurn(db, session, reason, kept, loop?.inFlightCredits ?? 0, deps, deps.clock.now());
}

const getPresent = async (db: Db, session: SessionRow): Promise<SessionRow> =>
  (await lockSession(db, session)) ?? session;

function takeOn(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  running: Running,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  if (session.state === 'cancelling') throw new SessionStopped('cancelled');
  if (session.state === 'needs_input') throw inputTimeout();
  if (session.crash_count >= maxCrashes) throw crashed();
  return session.state === 'opening_pull_request'
    ? finishOpening(db, session, deps, signal)
    : workOn(db, session, deps, running, signal);
}

const inputTimeout = () =>
  new SessionFault(
    'input_timeout',
    'The question of this session was not answered within 7 days. What was done is kept: send a message to go on.',
  );

export const crashed = () =>
  new SessionFault(
    'sandbox_lost',
    'The worker of this session crashed twice at the same place. What was saved is kept: send a message to go on.',
  );

// ---- work

async function workOn(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  running: Running,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  const startedAt = performance.now();
  if ((await findAccessOnBehalf(db, session, session.app_id, 'editor')) === undefined)
    throw new SessionStopped('access_lost');
  const place = await openWorkplace(db, session, deps);
  running.place = place;
  const steps = await listSteps(db, session);
  const records = listRecords(steps, (turn) => turn === session.turn);
  const begun =
    session.state === 'queued'
      ? await prepareTurn(db, session, place, lastTree(listRecords(steps)), deps, signal)
      : undefined;
  const start = begun ?? (await restoreTurn(db, session, place, lastTree(records), deps, signal));
  await deps.onBoundary?.('fetched', session.id);
  const row = begun === undefined ? session : await beginTurn(db, session, begun, deps);
  await deps.onBoundary?.('provisioned', session.id);
  const loop = createLoop(db, row, deps, place, start, steps, startedAt, signal);
  running.loop = loop;
  for (;;) {
    const ended = await runLoop(loop);
    if (ended.end === 'waiting') {
      const waiting = await getPresent(db, session);
      if (waiting.state === 'cancelling') throw new SessionStopped('cancelled'); // it was not asked any more
      return waiting;
    }
    const completed = await deliver(db, row, deps, place, loop, ended.summary, signal);
    if (completed !== undefined) return completed;
  }
}

const listRecords = (steps: readonly StepRow[], isWanted = (_turn: number): boolean => true): StepRecord[] =>
  steps.flatMap(({ turn, record }) => (record === null || !isWanted(turn) ? [] : [record]));

const lastTree = (records: readonly StepRecord[]): string | null => records.at(-1)?.tree ?? null;

/** The branch and the place to work are ready. */
async function beginTurn(db: Db, session: SessionRow, start: NewTurn, deps: TurnDeps): Promise<SessionRow> {
  const now = deps.clock.now();
  const pending = await listPendingMessages(db, session);
  const row = await asWorker(db, session, async (db, locked) => {
    await saveWork(db, locked, { checkpoint_tree: start.tree, crash_count: 0, failures: 0 });
    const change = {
      branch_id: locked.branch_id ?? newId(),
      branch_name: locked.work_branch,
      // The launch began the first turn, whatever was written meanwhile.
      message_id: (locked.turn === 1 ? undefined : pending[0]?.id) ?? locked.message_id ?? newId(),
      base_commit: start.base,
      head_commit: start.head_commit,
      tried_commits: [],
      turn_started_at: now,
    };
    return moveSession(db, locked, { to: 'running', change }, deps, now);
  });
  await appendLog(db, row, [`Working on the branch ${row.work_branch}.`, ...start.notes], deps, now);
  return row;
}

function createLoop(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  { repository, folder }: Workplace,
  { base, tree }: TurnStart,
  steps: readonly StepRow[],
  startedAt: number,
  signal: AbortSignal,
): LoopRun {
  const earlier = Array.from({ length: session.turn - 1 }, (_, index) =>
    listRecords(steps, (turn) => turn === index + 1),
  );
  const records = listRecords(steps, (turn) => turn === session.turn);
  return {
    db,
    session,
    deps,
    work: { repository, startTree: tree, tree, writtenBytes: 0 },
    clone: createClone({ sandbox: deps.commandSandbox, repository, base, folder }),
    base,
    folder,
    earlier,
    earlierCredits: computeSessionCredits(earlier) + Number(session.stopped_credits),
    records,
    begunStep: steps.find(({ turn, record }) => turn === session.turn && record === null),
    inFlightCredits: 0,
    editFailures: new Map(),
    startedAt,
    signal,
  };
}

// ---- delivery

/** Undefined: the person has written something meanwhile, and the agent goes on. */
async function deliver(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  place: Workplace,
  { work, base, records }: LoopRun,
  summary: string,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  const { repository, credential } = place;
  const isChanged = work.tree !== (await repository.treeOf(base));
  // What an earlier turn has pushed still needs its pull request.
  const isUnopened = session.head_commit !== null && session.pull_request === null;
  if (!isChanged && !(isUnopened && !(await isOnBaseBranch(session, place, base, deps, signal)))) {
    const change = { outcome: 'answer', summary: summary || noSummary } as const;
    const row = await completeTurn(db, session, { to: 'completed', change }, deps, deps.clock.now());
    if (row !== undefined) await deps.onBoundary?.('completed', session.id);
    return row;
  }
  if ((await listPendingMessages(db, session)).length > 0 && records.length > 0) return undefined;
  const trees = records.map(({ tree }) => tree);
  const finished = { repository, credential, base, tree: work.tree, trees, summary };
  const changed = await repository.listChangedPaths(base, work.tree, runsByItself);
  const run_files = addNames(session.run_files, changed);
  const remember = async (tried_commits: string[]) => {
    if (!(await saveWork(db, session, { tried_commits, run_files }))) throw new ClaimLost();
  };
  const head_commit = isChanged ? await pushWork(session, finished, remember, deps, signal) : base;
  const row = await asWorker(db, session, async (db, locked) => {
    const change = { head_commit };
    const moved = await moveSession(db, locked, { to: 'opening_pull_request', change }, deps, deps.clock.now());
    await removeCheckpoints(db, moved);
    return moved;
  });
  await deps.onBoundary?.('moved_to_opening', session.id);
  const pushed = isChanged ? [`Pushed ${head_commit.slice(0, 12)} to ${row.work_branch}.`] : [];
  await appendLog(db, row, pushed, deps, deps.clock.now());
  return open(db, row, deps, credential, summary, signal);
}

const maxRunFiles = 200;

/** Of all turns: the pull request may be opened by a later one. */
const addNames = (known: readonly string[], changed: readonly string[]): string[] =>
  [...new Set([...known, ...changed.map(toStorableText)])].slice(0, maxRunFiles);

const noSummary = 'The agent finished without a summary.';

/** After a crash between the push and the pull request. */
async function finishOpening(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  if ((await findAccessOnBehalf(db, session, session.app_id, 'editor')) === undefined)
    throw new SessionStopped('access_lost');
  const credential = await readCredential(db, session, deps);
  if (credential === undefined)
    throw new SessionFault(
      'repository_unavailable',
      'The repository of this session is no longer connected to the app. The commit is on the branch. Connect the repository again, then send a message.',
    );
  const records = listRecords(await listSteps(db, session), (turn) => turn === session.turn);
  const summary = records.findLast(isFinish)?.content ?? '';
  return open(db, session, deps, credential, summary, signal);
}

async function open(
  db: Db,
  session: SessionRow,
  deps: TurnDeps,
  credential: Workplace['credential'],
  said: string,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  const summary = toSummary(said || noSummary);
  const pullRequest = await openPullRequest(session, credential, summary, deps, signal);
  const now = deps.clock.now();
  await appendLog(db, session, [`Pull request #${pullRequest.number}: ${pullRequest.html_url}`], deps, now);
  const change = {
    outcome: 'pull_request',
    summary,
    pull_request: JSON.stringify(pullRequest),
    pull_request_read_at: now,
  } as const;
  const row = await completeTurn(db, session, { to: 'completed', change }, deps, now);
  await deps.onBoundary?.('completed', session.id);
  return row;
}
