// Runs a session that a worker has claimed, whatever its state: preparing it, running the agent, delivering the
// work to the git host, and stopping it. A worker that takes over a session continues from its recorded state.
//
//   state                 worker's next action                      ended by
//   queued                prepares the branch and the workplace     the worker: running; cancelSession: cancelled
//   running               runs the agent and pushes its work        the worker: opening_pull_request, completed, failed
//   needs_input           none; fails if the answer is overdue      the user: running; the worker after 7 days: failed
//   opening_pull_request  opens or finds the pull request           the worker: completed, failed
//   cancelling            stops it and logs what was kept           the worker, or a job after 12 seconds: cancelled
//   a final state         none                                      the user, with another message: queued
//
// If a worker crashes, the state is unchanged and another worker continues. After the second crash at the same point,
// the session fails. If the user may no longer change the app, the worker cancels the session.
import { findAccessOnBehalf } from '../../../core/auth/on-behalf.ts';
import { ClaimLost } from '../../../core/turns/claim.ts';
import type { WatchDeps } from '../../../core/turns/watch.ts';
import type { Clock } from '../../../kit/clock.ts';
import { newId } from '../../../kit/ids.ts';
import { toStorableText } from '../../../kit/text.ts';
import type { Db } from '../../../tables.ts';
import { appendLog, asWorker, moveSession, SessionMoved, toSummary } from '../session/session.ts';
import { removeCheckpoints } from '../store/checkpoints.ts';
import { listPendingMessages } from '../store/messages.ts';
import { lockSession, type SessionRow, saveWork } from '../store/sessions.ts';
import { listSteps, type StepRow } from '../store/steps.ts';
import { isEnded } from '../transitions.ts';
import { type AgentDeps, type AgentRun, runAgent } from '../work/agent.ts';
import { createClone } from '../work/clone.ts';
import { isFinish, type StepRecord } from '../work/step.ts';
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
import { SessionStopped, watchSession } from './watch.ts';

export interface TurnDeps extends AgentDeps, ProvisionDeps, DeliverDeps {
  readonly wake: AgentDeps['wake'] & WatchDeps['wake'];
  readonly clock: Clock;
}

const maxCrashes = 2;

/** The resources that the worker holds when it must stop. */
interface Running {
  place?: Workplace;
  agent?: AgentRun;
}

/** Returns the session after this run, or undefined if this worker no longer owns it. */
export async function runSession(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  if (isEnded(session.state)) return undefined;
  await deps.onBoundary?.('claimed', session.id);
  const watch = watchSession(db, deps, session);
  const running: Running = {};
  try {
    return await takeOn(db, deps, session, running, AbortSignal.any([signal, watch.signal]));
  } catch (error) {
    const cause = watch.signal.aborted ? watch.signal.reason : error;
    return await stop(db, deps, session, running, cause, signal);
  } finally {
    watch.close();
    await running.place?.close().catch(() => {}); // a job removes leftovers
  }
}

/** Ends a session that the worker can't continue. */
async function stop(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  running: Running,
  cause: unknown,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  try {
    if (cause instanceof ClaimLost) return undefined;
    const reason = cause instanceof SessionStopped ? cause.reason : undefined;
    signal.throwIfAborted(); // this worker is shutting down; another will take over
    if (reason !== undefined) return await cancel(db, deps, session, running, reason);
    if (cause instanceof SessionMoved && cause.state === 'cancelling')
      return await cancel(db, deps, session, running, 'cancelled');
    if (cause instanceof SessionFault) {
      const kept = await findKept(db, deps, await getPresent(db, session));
      return await failTurn(db, deps, { session, fault: cause, kept }, deps.clock.now());
    }
  } catch (error) {
    if (error instanceof ClaimLost) return undefined;
    throw error;
  }
  throw cause;
}

async function cancel(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  { agent }: Running,
  reason: CancelReason,
): Promise<SessionRow> {
  const kept = await findKept(db, deps, await getPresent(db, session));
  return cancelTurn(db, deps, { session, reason, kept, stoppedCredits: agent?.inFlightCredits ?? 0 }, deps.clock.now());
}

const getPresent = async (db: Db, session: SessionRow): Promise<SessionRow> =>
  (await lockSession(db, session)) ?? session;

function takeOn(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  running: Running,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  if (session.state === 'cancelling') throw new SessionStopped('cancelled');
  if (session.state === 'needs_input') throw inputTimeout();
  if (session.crash_count >= maxCrashes) throw crashed();
  return session.state === 'opening_pull_request'
    ? finishOpening(db, deps, session, signal)
    : workOn(db, deps, session, running, signal);
}

const inputTimeout = () =>
  new SessionFault(
    'input_timeout',
    "This session's question was not answered within 7 days. The work so far is kept. Send a message to continue.",
  );

export const crashed = () =>
  new SessionFault(
    'sandbox_lost',
    "This session's worker crashed twice at the same point. The saved work is kept. Send a message to continue.",
  );

// ---- work

async function workOn(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  running: Running,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  const startedAt = performance.now();
  if ((await findAccessOnBehalf(db, session, session.app_id, 'editor')) === undefined)
    throw new SessionStopped('access_lost');
  const place = await openWorkplace(db, deps, session);
  running.place = place;
  const steps = await listSteps(db, session);
  const records = listRecords(steps, (turn) => turn === session.turn);
  const begun =
    session.state === 'queued'
      ? await prepareTurn(db, deps, session, place, lastTree(listRecords(steps)), signal)
      : undefined;
  const start = begun ?? (await restoreTurn(db, deps, session, place, lastTree(records), signal));
  await deps.onBoundary?.('fetched', session.id);
  const row = begun === undefined ? session : await startWork(db, deps, session, begun);
  await deps.onBoundary?.('provisioned', session.id);
  const agent = openAgent(db, deps, { session: row, place, start, steps, startedAt }, signal);
  running.agent = agent;
  for (;;) {
    const ended = await runAgent(agent);
    if (ended.end === 'waiting') {
      const waiting = await getPresent(db, session);
      if (waiting.state === 'cancelling') throw new SessionStopped('cancelled'); // cancelled before asking
      return waiting;
    }
    const completed = await deliver(db, deps, { session: row, place, run: agent, summary: ended.summary }, signal);
    if (completed !== undefined) return completed;
  }
}

const listRecords = (steps: readonly StepRow[], isWanted = (_turn: number): boolean => true): StepRecord[] =>
  steps.flatMap(({ turn, record }) => (record === null || !isWanted(turn) ? [] : [record]));

const lastTree = (records: readonly StepRecord[]): string | null => records.at(-1)?.tree ?? null;

/** Moves the session to `running` once its branch and workplace are ready. */
async function startWork(db: Db, deps: TurnDeps, session: SessionRow, start: NewTurn): Promise<SessionRow> {
  const now = deps.clock.now();
  const pending = await listPendingMessages(db, session);
  const row = await asWorker(db, session, async (db, locked) => {
    await saveWork(db, locked, { checkpoint_tree: start.tree, crash_count: 0, failures: 0 });
    const change = {
      branch_id: locked.branch_id ?? newId(),
      branch_name: locked.work_branch,
      // The first turn belongs to the launch, even if messages have arrived in the meantime.
      message_id: (locked.turn === 1 ? undefined : pending[0]?.id) ?? locked.message_id ?? newId(),
      base_commit: start.base,
      head_commit: start.head_commit,
      tried_commits: [],
      turn_started_at: now,
    };
    return moveSession(db, deps, { locked, move: { to: 'running', change } }, now);
  });
  await appendLog(db, deps, row, [`Working on the branch ${row.work_branch}.`, ...start.notes], now);
  return row;
}

function openAgent(
  db: Db,
  deps: TurnDeps,
  {
    session,
    place: { repository, folder },
    start: { base, tree },
    steps,
    startedAt,
  }: {
    readonly session: SessionRow;
    readonly place: Workplace;
    readonly start: TurnStart;
    readonly steps: readonly StepRow[];
    readonly startedAt: number;
  },
  signal: AbortSignal,
): AgentRun {
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
    steps: { records, begun: steps.find(({ turn, record }) => turn === session.turn && record === null) },
    inFlightCredits: 0,
    editFailures: new Map(),
    startedAt,
    signal,
  };
}

// ---- delivery

/** Returns undefined if the user has sent a message in the meantime; the agent then continues. */
async function deliver(
  db: Db,
  deps: TurnDeps,
  {
    session,
    place,
    run,
    summary,
  }: { readonly session: SessionRow; readonly place: Workplace; readonly run: AgentRun; readonly summary: string },
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  const { repository, credential } = place;
  const { work, base } = run;
  const { records } = run.steps;
  const isChanged = work.tree !== (await repository.treeOf(base));
  // Work pushed by an earlier turn still needs its pull request.
  const isUnopened = session.head_commit !== null && session.pull_request === null;
  if (!isChanged && !(isUnopened && !(await isOnBaseBranch(session, place, base, deps, signal)))) {
    const change = { outcome: 'answer', summary: summary || noSummary } as const;
    const row = await completeTurn(db, deps, session, { to: 'completed', change }, deps.clock.now());
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
    const moved = await moveSession(
      db,
      deps,
      { locked, move: { to: 'opening_pull_request', change } },
      deps.clock.now(),
    );
    await removeCheckpoints(db, moved);
    return moved;
  });
  await deps.onBoundary?.('moved_to_opening', session.id);
  const pushed = isChanged ? [`Pushed ${head_commit.slice(0, 12)} to ${row.work_branch}.`] : [];
  await appendLog(db, deps, row, pushed, deps.clock.now());
  return open(db, deps, row, credential, summary, signal);
}

const maxRunFiles = 200;

/** Keeps the file names from all turns, because a later turn may open the pull request. */
const addNames = (known: readonly string[], changed: readonly string[]): string[] =>
  [...new Set([...known, ...changed.map(toStorableText)])].slice(0, maxRunFiles);

const noSummary = 'The agent finished without a summary.';

/** Continues after a crash between the push and the pull request. */
async function finishOpening(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  if ((await findAccessOnBehalf(db, session, session.app_id, 'editor')) === undefined)
    throw new SessionStopped('access_lost');
  const credential = await readCredential(db, deps, session);
  if (credential === undefined)
    throw new SessionFault(
      'repository_unavailable',
      "This session's repository is no longer connected to the app. The commit is on the branch. Connect the repository again, then send a message.",
    );
  const records = listRecords(await listSteps(db, session), (turn) => turn === session.turn);
  const summary = records.findLast(isFinish)?.content ?? '';
  return open(db, deps, session, credential, summary, signal);
}

async function open(
  db: Db,
  deps: TurnDeps,
  session: SessionRow,
  credential: Workplace['credential'],
  said: string,
  signal: AbortSignal,
): Promise<SessionRow | undefined> {
  const summary = toSummary(said || noSummary);
  const pullRequest = await openPullRequest(session, credential, summary, deps, signal);
  const now = deps.clock.now();
  await appendLog(db, deps, session, [`Pull request #${pullRequest.number}: ${pullRequest.html_url}`], now);
  const change = {
    outcome: 'pull_request',
    summary,
    pull_request: JSON.stringify(pullRequest),
    pull_request_read_at: now,
  } as const;
  const row = await completeTurn(db, deps, session, { to: 'completed', change }, now);
  await deps.onBoundary?.('completed', session.id);
  return row;
}
