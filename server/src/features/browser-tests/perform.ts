// Performs a run: a temporary app user, a browser, the steps, and the report. Each status change is a separate
// transaction. A worker that takes over a run repeats its steps, or only the analysis if the steps have finished.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import { findAccessAsApp } from '../../core/auth/proofs-without-guard.ts';
import { ClaimLost } from '../../core/turns/claim.ts';
import type { LanguageModel } from '../../gateways/language-model/index.ts';
import { toStorable } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { createTestUser, removeTestUsers, type TestUserDeps } from './clean-up.ts';
import { asOwner, endClaimedRun, endRun, type RunEnd } from './end.ts';
import { createEvidenceStore, type EvidenceDeps, nameScreenshot, nameTrace, type StoreEvidence } from './evidence.ts';
import { findFault, messages } from './faults.ts';
import { makeReport, type StoredReport, type StoredResult, toStoredResult } from './report.ts';
import { hideCredentials } from './run/credentials.ts';
import { runLimits } from './run/limits.ts';
import { readRecording } from './run/recording.ts';
import { runFlow } from './run/run.ts';
import type { Recording, RunResult, TestUser } from './run/types.ts';
import {
  BrowserCrashed,
  BrowserNotClosed,
  closeEarlierSessions,
  closeSoon,
  type LeaseDeps,
  type LeasedBrowser,
  leaseBrowser,
} from './sessions.ts';
import { removeEvidence } from './store/evidence.ts';
import {
  type ExecutionRow,
  findExecutionByKey,
  findReport,
  saveExecution,
  saveReport,
  saveResult,
  saveStatus,
} from './store/executions.ts';
import { findRecording, saveRecording } from './store/flows.ts';
import { RunStopped, type RunWatch, type RunWatchDeps, watchRun } from './watch.ts';

export interface PerformDeps extends LeaseDeps, TestUserDeps, EvidenceDeps, RunWatchDeps {
  readonly wake: LeaseDeps['wake'] & RunWatchDeps['wake'];
  readonly model: LanguageModel;
}

const maxCrashes = 2;

/**
 * Returns the run's final status, or undefined if this worker no longer owns it. If it throws, the queue retries the
 * run.
 */
export async function performRun(
  db: Db,
  deps: PerformDeps,
  execution: ExecutionRow,
  signal: AbortSignal,
): Promise<RunEnd['status'] | undefined> {
  if (execution.completed_at !== null) return undefined; // cancelled before it was claimed
  const watch = watchRun(db, deps, execution);
  try {
    const outcome = await takeRunToEnd(db, deps, execution, watch, AbortSignal.any([signal, watch.signal]));
    return await saveOutcome(db, deps, execution, outcome);
  } catch (error) {
    if (error instanceof ClaimLost) return undefined;
    if (error instanceof BrowserNotClosed) throw error;
    signal.throwIfAborted(); // this worker is shutting down; another will take over
    const end = toEnd(error instanceof RunStopped ? error : watch.signal.reason) ?? endOfCrash(execution, error);
    if (end === undefined) throw error;
    return endIfOwned(db, deps, execution, end);
  } finally {
    watch.close();
    await cleanUpSoon(db, deps, execution);
  }
}

const endIfOwned = (db: Db, { clock }: PerformDeps, execution: ExecutionRow, end: RunEnd) =>
  endClaimedRun(db, execution, end, clock.now()).catch((error) => {
    if (error instanceof ClaimLost) return undefined;
    throw error;
  });

/** How a stopped run ends. Undefined if another process ends it, or if this is an ordinary error. */
function toEnd(reason: unknown): RunEnd | undefined {
  if (!(reason instanceof RunStopped) || reason.reason === 'claim_lost') return undefined;
  if (reason.reason === 'cancelled') return { status: 'cancelled' };
  return fail(reason.reason === 'access_lost' ? messages.accessLost : messages.tookTooLong);
}

/** The queue counts worker crashes and browser crashes separately, so this adds them up. */
const endOfCrash = ({ crash_count }: ExecutionRow, error: unknown): RunEnd | undefined =>
  error instanceof BrowserCrashed && crash_count + 1 >= maxCrashes ? fail(messages.crashed) : undefined;

const fail = (error_message: string): RunEnd => ({ status: 'error', error_message });

/** How a run ends, with its report if it has one. */
type RunOutcome = RunEnd & {
  readonly analysed?: { readonly report: StoredReport; readonly recording: Recording | null };
};

async function takeRunToEnd(
  db: Db,
  deps: PerformDeps,
  execution: ExecutionRow,
  watch: RunWatch,
  signal: AbortSignal,
): Promise<RunOutcome> {
  if (execution.status === 'analyzing') return endSteps(db, deps, execution, await readStored(db, execution));
  await closeEarlierSessions(db, deps, execution);
  if (execution.cancel_requested_at !== null) return { status: 'cancelled' };
  if (execution.crash_count >= maxCrashes) return fail(messages.crashed);
  if (execution.crash_count + execution.failures >= maxCrashes) return fail(messages.other);
  const access = await findAccessOnBehalf(db, execution, execution.app_id, 'editor');
  if (access === undefined) return fail(messages.accessLost);
  if (access.app.live_deployment_id === null) return fail(messages.notPublished);
  await removeEarlierTraces(db, deps, execution);
  const asApp = await findAccessAsApp(db, execution);
  if (asApp === undefined) return fail(messages.accessLost);
  const testUser = await createTestUser(db, deps, asApp, execution);
  const leased = await leaseBrowser(db, deps, execution, signal);
  if (typeof leased === 'string') {
    signal.throwIfAborted();
    return fail(leased === 'not_configured' ? messages.notConfigured : messages.noBrowser);
  }
  const stored = await useBrowser(db, deps, { execution, leased, watch, testUser }, signal);
  await saveSteps(db, deps, execution, stored);
  return endSteps(db, deps, execution, stored);
}

/** Removes the users, records and evidence left behind by earlier claims. */
async function removeEarlierTraces(db: Db, deps: PerformDeps, execution: ExecutionRow): Promise<void> {
  await removeTestUsers(db, deps, execution);
  await asOwner(db, execution, (db) => removeEvidence(db, execution));
}

async function useBrowser(
  db: Db,
  deps: PerformDeps,
  {
    execution,
    leased,
    watch,
    testUser,
  }: {
    readonly execution: ExecutionRow;
    readonly leased: LeasedBrowser;
    readonly watch: RunWatch;
    readonly testUser: TestUser;
  },
  signal: AbortSignal,
): Promise<StoredResult> {
  try {
    watch.begin(await saveRunning(db, deps, execution, leased.id));
    const either = AbortSignal.any([signal, leased.lost]);
    const store = createEvidenceStore(db, deps, execution, either);
    const result = await followFlow(db, deps, { execution, leased, testUser, store }, either);
    either.throwIfAborted();
    await leased.session.settle();
    const trace = await leased.session.endTrace();
    const evidence = hideCredentials(leased.session.evidence(), testUser);
    if (trace !== undefined) await store(nameTrace(execution), trace);
    either.throwIfAborted();
    return { result, evidence, claims: execution.claims };
  } catch (error) {
    leased.lost.throwIfAborted(); // if the browser was lost, that is the actual cause
    throw error;
  } finally {
    await leased.close();
  }
}

/** Returns the time when the run first had a browser. */
const saveRunning = (
  db: Db,
  { clock }: PerformDeps,
  execution: ExecutionRow,
  browser_session_id: string,
): Promise<Date> =>
  asOwner(db, execution, async (db, locked) => {
    const started_at = locked.started_at ?? clock.now();
    const change = { browser_session_id, started_at };
    if (locked.status === 'running') await saveExecution(db, execution, change);
    else if ((await saveStatus(db, execution, 'running', change)) === undefined) throw new ClaimLost();
    return started_at;
  });

async function followFlow(
  db: Db,
  deps: PerformDeps,
  {
    execution,
    leased: { session },
    testUser,
    store,
  }: {
    readonly execution: ExecutionRow;
    readonly leased: LeasedBrowser;
    readonly testUser: TestUser;
    readonly store: StoreEvidence;
  },
  signal: AbortSignal,
): Promise<RunResult> {
  const { goal, role, url, flow_revision } = execution;
  const recording = readRecording(await findRecording(db, { ...execution, id: execution.flow_id }, flow_revision));
  // Closing the browser also ends steps that do not watch the signal.
  signal.addEventListener('abort', () => closeSoon(session), { once: true });
  return runFlow(
    session,
    { goal, role, url, testUser, recording },
    {
      model: markCalls(db, deps, execution),
      clock: deps.clock,
      signal,
      onStep: (step, screenshot) => store(nameScreenshot(execution, step.number), screenshot),
    },
    { ...runLimits, checkMs: deps.times.checkMs },
  );
}

/** Records that the run has called the model before it does so for the first time in this claim. */
function markCalls(db: Db, { model }: PerformDeps, execution: ExecutionRow): Pick<LanguageModel, 'step'> {
  let marked: Promise<void> | undefined;
  return {
    async step(request, onText) {
      marked ??= asOwner(db, execution, (db) => saveExecution(db, execution, { has_called_model: true }));
      await marked;
      return model.step(request, onText);
    },
  };
}

/** Saves the steps' result. If the run is retried after this, only the analysis is repeated. */
const saveSteps = (db: Db, { clock }: PerformDeps, execution: ExecutionRow, stored: StoredResult): Promise<void> =>
  asOwner(db, execution, async (db) => {
    const moved = await saveStatus(db, execution, 'analyzing', { analysis_status: 'pending' });
    if (moved === undefined) throw new ClaimLost();
    await saveResult(db, execution, JSON.stringify(toStorable(stored)), clock.now());
  });

async function readStored(db: Db, execution: ExecutionRow): Promise<StoredResult> {
  const found = await findReport(db, execution);
  if (!found?.result) throw new Error('a run is being analysed without a result');
  return toStoredResult(found.result);
}

/** The trace contains the user's password, so the user is removed before anyone can fetch it. */
async function endSteps(db: Db, deps: PerformDeps, execution: ExecutionRow, stored: StoredResult): Promise<RunOutcome> {
  const run = await findExecutionByKey(db, execution);
  if (run !== undefined) await removeTestUsers(db, deps, run);
  return analyse(stored, deps);
}

function analyse(stored: StoredResult, { apiOrigin }: PerformDeps): RunOutcome {
  try {
    const report = makeReport(stored, [apiOrigin]);
    const fault = findFault(stored, report.verdict, apiOrigin);
    if (fault !== undefined) return fail(fault);
    return { status: report.verdict, analysed: { report, recording: stored.result.recording } };
  } catch {
    return fail(messages.notAnalysed); // a retry would fail the same way
  }
}

const saveOutcome = (
  db: Db,
  { clock }: PerformDeps,
  execution: ExecutionRow,
  { analysed, ...end }: RunOutcome,
): Promise<RunEnd['status']> =>
  asOwner(db, execution, async (db, locked) => {
    const now = clock.now();
    const status = await endRun(db, locked, end, now);
    if (analysed === undefined || status === 'cancelled') return status;
    await saveReport(db, execution, JSON.stringify(toStorable(analysed.report)), now);
    if (status !== 'passed' || analysed.recording === null) return status;
    const flow = { ...execution, id: execution.flow_id };
    await saveRecording(db, flow, execution.flow_revision, JSON.stringify(toStorable(analysed.recording)));
    return status;
  });

/** Cleans up as soon as the run has ended. A job repeats this later, so errors can be ignored here. */
async function cleanUpSoon(db: Db, deps: PerformDeps, execution: ExecutionRow): Promise<void> {
  try {
    const run = await findExecutionByKey(db, execution);
    if (run?.completed_at) await removeTestUsers(db, deps, run);
  } catch {}
}
