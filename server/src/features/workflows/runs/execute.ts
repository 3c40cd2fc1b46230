// One claim of a run: loading its data, continuing the run, and ending it when it is finished.
import { findRequiredPlan } from '../../../core/auth/plans.ts';
import type { DataAccess } from '../../../core/auth/proofs.ts';
import { findAccessAsApp } from '../../../core/auth/proofs-without-guard.ts';
import { charge } from '../../../core/credits/reservations.ts';
import { type ByteCache, createByteCache } from '../../../kit/byte-cache.ts';
import { transaction } from '../../../kit/db/database.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { Definition, Json } from '../definition/model.ts';
import { findDefinition, findRunData, type RunEnd, type RunRow, saveBegun } from '../store/runs.ts';
import { turnOffWorkflow } from '../turn-off.ts';
import type { RunDeps } from './deps.ts';
import { cancelled, completed, endRun, failed } from './end.ts';
import { ClaimLost, type Failure, RunStopped, stop } from './errors.ts';
import { type Execution, openState } from './execution.ts';
import { interpret, type Pause } from './interpreter.ts';
import { createMask } from './mask.ts';
import { currentTask, findTask, rememberSecrets, startState, topOf } from './state.ts';
import { createStepRecorder, type RecordStep } from './step-recorder.ts';
import { createTurns, type TakeTurn } from './turns.ts';

/** How long a claim lasts before other runs get a turn. */
const sliceMs = 30_000;
/** A run's cost, not including agents' replies. */
export const runCredits = 0.05;

type Definitions = ByteCache<{ readonly definition: Definition | undefined; readonly bytes: number }>;

/** Versions never change, so each is parsed only once. */
const createDefinitions = (): Definitions => createByteCache(64 * 1024 * 1024, ({ bytes }) => bytes);

/** Data that a worker keeps between claims. */
export interface WorkerMemory {
  readonly definitions: Definitions;
  readonly takeTurn: TakeTurn;
  readonly recordStep: RecordStep;
}

export const createWorkerMemory = (): WorkerMemory => ({
  definitions: createDefinitions(),
  takeTurn: createTurns(),
  recordStep: createStepRecorder(),
});

export interface Claim {
  readonly signal: AbortSignal;
  /** Called if this claim has stored any progress. */
  readonly onProgress: () => void;
}

/**
 * Executes a run until it ends or has to wait. Returns the delay in milliseconds before the run continues, or undefined
 * if it has ended.
 */
export async function executeRun(
  db: Db,
  deps: RunDeps,
  run: RunRow,
  { definitions, takeTurn, recordStep }: WorkerMemory,
  claim: Claim,
): Promise<number | undefined> {
  const end = (end: RunEnd) => endClaimed(db, deps, run, end);
  if (run.completed_at !== null) return undefined;
  if (run.status === 'cancelling') return end(cancelled);
  const access = await findAccessAsApp(db, run);
  if (access === undefined) return end(cancelled); // the app was deleted
  const loaded = await loadDefinition(db, deps, run, definitions);
  if (loaded === undefined) return endInvalid(db, deps, run);
  if (run.begun_at === null) {
    const refusal = await begin(db, deps, access, run, takeTurn);
    if (refusal !== undefined)
      return refusal === 'plan'
        ? endWithoutPlan(db, deps, run)
        : end(failed(refusal.failure, undefined, refusal.reason));
  }
  const execution = await openExecution(db, deps, access, { run, definition: loaded, recordStep }, claim.signal);
  try {
    return await finish(execution, await interpretOrStop(execution), takeTurn);
  } finally {
    if (execution.hasProgress) claim.onProgress();
  }
}

async function endClaimed(db: Db, deps: RunDeps, run: RunRow, end: RunEnd): Promise<undefined> {
  await endRun(db, deps, run, { end, claims: run.claims }, deps.clock.now());
}

async function finish(
  execution: Execution,
  pause: Pause | RunStopped,
  takeTurn: TakeTurn,
): Promise<number | undefined> {
  const { db, run, deps, mask } = execution;
  const end = async (end: RunEnd) => {
    await takeTurn(run.workflow_id, () => endRun(db, deps, run, { end, claims: run.claims }, deps.clock.now()));
    return undefined;
  };
  if (pause === 'failed') return undefined; // the run ended with its last step
  if (pause === 'completed') return end(completed);
  if (pause === 'cancelled') return end(cancelled);
  if (pause instanceof RunStopped) return end(failed(mask(pause.failure), findStoppedTask(execution), pause.reason));
  return Math.max(0, pause.until - deps.clock.now().getTime());
}

async function interpretOrStop(execution: Execution): Promise<Pause | RunStopped> {
  try {
    return await interpret(execution);
  } catch (error) {
    if (error instanceof RunStopped) return error;
    throw error;
  }
}

/** Returns the task at which the run stopped. */
function findStoppedTask({ definition, state }: Execution) {
  const path = topOf(state)?.path ?? '';
  const task = currentTask(definition, state) ?? (path === '' ? undefined : findTask(definition, path));
  return task && { name: task.name, step: Math.max(1, state.steps) };
}

// ---- start

/** Charges for the run, but only once. If the run can't start, returns the reason. */
async function begin(
  db: Db,
  deps: RunDeps,
  access: DataAccess,
  run: RunRow,
  takeTurn: TakeTurn,
): Promise<RunStopped | 'plan' | undefined> {
  if (findRequiredPlan(access.plan, 'workflows') !== undefined) return 'plan';
  const { workspace_id, app_id, id: reference_id, started_by: user_id } = run;
  const price = { workspace_id, app_id, user_id, operation: 'runWorkflow', reference_id, amount: runCredits };
  try {
    await takeTurn(workspace_id, () =>
      transaction(db, async (db) => {
        const now = deps.clock.now();
        if (!(await saveBegun(db, run, now))) throw new ClaimLost();
        await charge(db, price, now);
      }),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Problem && error.kind === 'payment_required')
      return stop('insufficient_credits', error.message, 402);
    throw error;
  }
}

async function endWithoutPlan(db: Db, deps: RunDeps, run: RunRow): Promise<undefined> {
  await endAndDeactivate(db, deps, run, 'workflows_not_available', noPlan);
}

async function endInvalid(db: Db, deps: RunDeps, run: RunRow): Promise<undefined> {
  await endAndDeactivate(db, deps, run, 'definition_invalid', invalidDefinition);
}

const noPlan: Failure = {
  type: 'authorization',
  title: 'Workflows not available',
  status: 402,
  detail: "The workspace's plan doesn't include workflows, so the workflow was deactivated.",
  code: 'plan_required',
};

const invalidDefinition: Failure = {
  type: 'configuration',
  title: 'Invalid definition',
  status: 400,
  detail:
    "This run's definition can't be read, so the workflow was deactivated. Validate the definition and save it again.",
};

function endAndDeactivate(
  db: Db,
  deps: RunDeps,
  run: RunRow,
  status_reason: 'workflows_not_available' | 'definition_invalid',
  failure: Failure,
): Promise<void> {
  const now = deps.clock.now();
  return transaction(db, async (db) => {
    if (!(await endRun(db, deps, run, { end: failed(failure), claims: run.claims }, now))) throw new ClaimLost();
    await turnOffWorkflow(db, run, status_reason, now);
  });
}

/** Returns undefined if the definition no longer exists or this release can't read it. */
async function loadDefinition(
  db: Db,
  deps: RunDeps,
  run: RunRow,
  definitions: Definitions,
): Promise<Definition | undefined> {
  const { workspace_id, workflow_id, version_id } = run;
  const loaded = definitions.get(workspace_id, `${workflow_id} ${version_id}`, async () => {
    const source = await findDefinition(db, run);
    // In memory, a parsed definition is several times as large as its text.
    return { definition: tryToParse(source, deps), bytes: JSON.stringify(source ?? null).length * 4 };
  });
  return (await loaded).definition;
}

function tryToParse(source: unknown, { parseStored }: RunDeps): Definition | undefined {
  try {
    return source === undefined ? undefined : parseStored(source);
  } catch {
    return undefined; // an earlier release accepted this definition
  }
}

async function openExecution(
  db: Db,
  deps: RunDeps,
  access: DataAccess,
  {
    run,
    definition,
    recordStep,
  }: { readonly run: RunRow; readonly definition: Definition; readonly recordStep: RecordStep },
  signal: AbortSignal,
): Promise<Execution> {
  const values = await deps.readSecrets(db, access.app, definition.secretNames);
  const data = await findRunData(db, run);
  if (data === undefined) throw new ClaimLost();
  const stored = openState(run, data, deps.secrets) ?? startState(data.input as Json, deps.clock.now());
  const state = rememberSecrets(stored, values.values());
  return {
    db,
    run,
    definition,
    deps,
    access,
    secrets: Object.fromEntries(values),
    mask: createMask(state.secretValues ?? []),
    recordStep,
    signal,
    sliceEndsAt: performance.now() + sliceMs,
    state,
    reservationId: run.reservation_id,
    hasProgress: false,
    isCancelled: false,
    notifiedAt: 0,
  };
}
