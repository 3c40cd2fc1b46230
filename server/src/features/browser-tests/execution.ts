// Starts, reads and cancels a flow's runs (docs/api/browser-tests.md#runs). Workers perform the runs
// (perform.ts).
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { requireCredits, reserve } from '../../core/credits/reservations.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import type { BrowserSessions } from '../../gateways/browser/session/types.ts';
import type { ModelState } from '../../gateways/language-model/index.ts';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { type Answer, answerWithFollowUp, unchanged, withNotes } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { newId } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type Execution, type NewExecution, presentExecution } from './contract.ts';
import { endRun } from './end.ts';
import { chooseRole } from './flow.ts';
import { runPrice } from './prices.ts';
import {
  type ExecutionKey,
  type ExecutionRow,
  findActiveExecution,
  findExecutionByKey,
  insertExecution,
  listLatestExecutions,
  lockActiveExecution,
  saveExecution,
} from './store/executions.ts';
import { type FlowRow, findFlow, lockFlow, toAppKey } from './store/flows.ts';
import { requestClose } from './store/sessions.ts';
import type { TestTimes } from './times.ts';
import { isTerminal, type Status } from './transitions.ts';

/** The name of both the run queue's table and its wake-up topic. */
export const runQueue = 'test_executions';

/** The topic on which a run's worker, and requests that wait for the run to end, are told about its changes. */
export const toRunTopic = (id: string): string => `test_run:${id}`;

/** Longer than a run can spend in the queue and running. */
const leaseMs = 2 * 60 * 60_000;

export interface WaitDeps {
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly times: TestTimes;
  readonly shutdownSignal: AbortSignal;
}

export interface StartDeps {
  readonly sessions: Pick<BrowserSessions, 'configured'>;
  readonly addresses: Pick<AppAddresses, 'urlOf'>;
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** Checks for refusals in the order given in docs/api/browser-tests.md#runs. */
export function startExecution(
  db: Db,
  deps: StartDeps,
  access: AppAccess,
  { input: { flow_id, url }, modelState }: { readonly input: NewExecution; readonly modelState: ModelState },
  now: Date,
): Promise<Execution> {
  const app = toAppKey(access);
  return transaction(db, async (db) => {
    const found = await findFlow(db, access, flow_id);
    // If two requests start the same flow, the lock makes the second see the first one's run.
    const flow = found && (await lockFlow(db, found));
    if (flow === undefined || flow.deleting_since !== null) throw notFound('flow_not_found');
    const address = chooseUrl(deps, access, url);
    if ((await findActiveExecution(db, app, flow.id)) !== undefined) throw runInProgress();
    const { workspace_id, caller } = access;
    await requireCredits(db, { workspace_id, user_id: caller.user_id, amount: runPrice }, now);
    if (!deps.sessions.configured) throw browserNotConfigured();
    if (modelState !== 'available' && !hasRecording(flow)) throw modelUnavailable(modelState);
    const row = await beginRun(db, access, flow, address, now);
    const after = { flow_id: flow.id, flow_revision: flow.revision, url: address };
    await audit(db, access, { ...targetOf(row), type: 'test_run.started', after }, now);
    afterCommit(db, () => deps.wake.notify(runQueue));
    return presentExecution(row);
  });
}

/** Returns the published address, or the caller's address, which must be below it. */
function chooseUrl({ addresses }: StartDeps, { app }: AppAccess, url: unknown): string {
  if (app.live_deployment_id === null) throw notPublished();
  const published = addresses.urlOf(app.slug);
  if (url === undefined || url === null) return published;
  const isKnown = typeof url === 'string' && url.length <= 2_048 && URL.canParse(url);
  const { href } = new URL(isKnown ? url : 'about:blank');
  if (href.startsWith(published)) return href;
  const msg = 'must be a URL on the published app';
  throw new ValidationError([{ loc: ['body', 'url'], msg, type: 'value_error' }]);
}

const hasRecording = ({ recording_revision, revision }: FlowRow): boolean => recording_revision === revision;

async function beginRun(db: Db, access: AppAccess, flow: FlowRow, url: string, now: Date): Promise<ExecutionRow> {
  const { workspace_id, caller } = access;
  const id = newId();
  const spend = { workspace_id, user_id: caller.user_id, app_id: flow.app_id, reference_id: id, leaseMs };
  const reservation = await reserve(db, { ...spend, operation: 'startExecution', amount: runPrice }, now);
  const { credential_id, request_id, ip } = caller;
  return insertExecution(db, toAppKey(access), {
    id,
    flow_id: flow.id,
    flow_name: flow.name,
    flow_revision: flow.revision,
    goal: flow.goal,
    role: flow.role ?? chooseRole(`${flow.name}\n${flow.goal}`),
    url,
    reservation_id: reservation.id,
    credential_id,
    request_id,
    ip,
    created_date: now,
  });
}

const targetOf = ({ id, app_id }: ExecutionKey) => ({ target: { kind: 'test_run', id }, app_id });

// ---- reading

export const latestExecutions = async (db: Db, access: AppAccess): Promise<Record<string, Execution>> =>
  Object.fromEntries(
    (await listLatestExecutions(db, toAppKey(access))).map((row) => [row.flow_id, presentExecution(row)]),
  );

// ---- cancelling

export type ExecutionAccess = AppAccess & { readonly execution: ExecutionRow };

interface Cancelled {
  readonly status: Status;
  readonly already_terminal: boolean;
}

/** Waits briefly for the worker to close the browser. */
export async function cancelExecution(
  db: Db,
  deps: WaitDeps,
  access: ExecutionAccess,
  now: Date,
): Promise<Answer<Cancelled>> {
  const { execution } = access;
  const outcome = await transaction(db, async (db) => {
    const outcome = await requestCancel(db, deps, execution, now);
    if (outcome === 'cancelled' || outcome === 'requested')
      await audit(db, access, { ...targetOf(execution), type: 'test_run.cancelled' }, now);
    return outcome;
  });
  const readStatus = async (db: Db) => (await findExecutionByKey(db, execution))?.status ?? 'cancelled';
  if (outcome === 'ended') return unchanged({ status: await readStatus(db), already_terminal: true });
  const begun = { status: await readStatus(db), already_terminal: false };
  return answerWithFollowUp(begun, async (db) => {
    await waitUntil(deps, execution.id, deps.times.cancelWaitMs, async () => isTerminal(await readStatus(db)));
    const notes = outcome === 'requested_before' ? ({ changed: false } as const) : {};
    return withNotes({ status: await readStatus(db), already_terminal: false }, notes);
  });
}

/**
 * Call this in a transaction. A run that no worker has claimed ends immediately. Otherwise the worker is told to close
 * the browser, and then ends the run.
 */
export async function requestCancel(
  db: Db,
  { wake }: Pick<WaitDeps, 'wake'>,
  execution: ExecutionKey,
  now: Date,
): Promise<'ended' | 'cancelled' | 'requested' | 'requested_before'> {
  const locked = await lockActiveExecution(db, execution);
  if (locked === undefined) return 'ended';
  if (locked.cancel_requested_at !== null) return 'requested_before';
  afterCommit(db, () => wake.notify(toRunTopic(execution.id)));
  if (locked.status === 'pending' && locked.claimed_slot === null) {
    await endRun(db, locked, { status: 'cancelled' }, now);
    return 'cancelled';
  }
  await saveExecution(db, locked, { cancel_requested_at: now });
  await requestClose(db, locked, 'close', now);
  return 'requested';
}

/**
 * Waits until the condition is true, checking it at intervals and whenever the run changes. Returns false if the time
 * is up.
 */
export async function waitUntil(
  { wake, shutdownSignal }: Pick<WaitDeps, 'wake' | 'shutdownSignal'>,
  executionId: string,
  maxMs: number,
  isTrue: () => Promise<boolean>,
): Promise<boolean> {
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toRunTopic(executionId), idle.wake);
  const until = performance.now() + maxMs;
  try {
    for (;;) {
      if (await isTrue()) return true;
      const leftMs = until - performance.now();
      if (leftMs <= 0 || shutdownSignal.aborted) return false;
      await idle.sleep(Math.min(wake.pollMs(), leftMs, maxPollMs), shutdownSignal);
    }
  } finally {
    unlisten();
  }
}

const maxPollMs = 500;

// ---- refusals

const notPublished = () =>
  new Problem(
    'conflict',
    'nothing_to_publish',
    'The app is not published. Tests run only on published apps. Publish it first.',
  );

const runInProgress = () =>
  new Problem(
    'conflict',
    'run_in_progress',
    'This test is already running. Wait until the run has ended, or cancel it with cancelExecution.',
  );

const browserNotConfigured = () =>
  new Problem(
    'unavailable',
    'browser_unavailable',
    'This installation has no browser. Ask its operator to set BROWSER_EXECUTABLE.',
    { headers: { 'retry-after': '60' } },
  );

export const modelUnavailable = (state: ModelState) =>
  new Problem(
    'unavailable',
    'model_unavailable',
    state === 'not_configured'
      ? 'This installation has no language model. Ask its operator to set MODEL_URL.'
      : 'The language model is unavailable. Nothing was charged. Send the request again in a few seconds.',
    { headers: { 'retry-after': state === 'not_configured' ? '60' : '5' } },
  );
