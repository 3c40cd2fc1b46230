// Deletes a flow (docs/internals/browser-tests.md#deleting-a-flow). Each step is recorded in the rows that it
// changes, so a repeated request or a job can continue with the next step.
//
//   step                           recorded in
//   1 mark the flow                test_flows.deleting_since
//   2 request the cancellation     test_executions.cancel_requested_at, browser_sessions.close_requested_at
//   3 close the browser            browser_sessions.closed_at, or an expired lease
//   4 cancel the run               test_executions.status
//   5 delete the flow              the row no longer exists
import { audit, auditService } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Clock } from '../../kit/clock.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { type Answer, answerWithFollowUp, withNotes } from '../../kit/http/answer.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { endRun } from './end.ts';
import { requestCancel, toRunTopic, type WaitDeps, waitUntil } from './execution.ts';
import { targetOf } from './flow.ts';
import {
  type ExecutionKey,
  findActiveExecution,
  findNewestExecution,
  lockActiveExecution,
} from './store/executions.ts';
import { type FlowKey, type FlowRow, listAbandonedDeletions, lockFlow, removeFlow, saveFlow } from './store/flows.ts';
import { hasLiveSession, requestClose } from './store/sessions.ts';

export type DeletionAccess = AppAccess & { readonly flow: FlowRow };

export interface DeletionDeps extends WaitDeps {
  readonly clock: Clock;
}

type Success = { success: true };

export async function deleteFlow(
  db: Db,
  deps: DeletionDeps,
  access: DeletionAccess,
  now: Date,
): Promise<Answer<Success>> {
  await markFlow(db, access, now);
  return answerWithFollowUp<Success>({ success: true }, async (db) => {
    const executionId = (await findActiveExecution(db, access.flow, access.flow.id))?.id;
    const startedAt = performance.now();
    const isGone = await waitUntil(deps, executionId ?? access.flow.id, deps.times.deleteWaitMs, () =>
      advanceDeletion(db, deps, access.flow, {
        access,
        kills: performance.now() - startedAt >= deps.times.killAfterMs,
      }),
    );
    if (!isGone) throw notClosed();
    return withNotes<Success>({ success: true }, {});
  });
}

/** Once marked, the flow can't be read, changed or run. */
const markFlow = (db: Db, access: DeletionAccess, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    const flow = await lockFlow(db, access.flow);
    if (flow === undefined) throw notFound('flow_not_found');
    if (flow.deleting_since !== null) return;
    await saveFlow(db, flow, { deleting_since: now });
    const before = { name: flow.name };
    await audit(db, access, { ...targetOf(flow), type: 'test_flow.delete_requested', before }, now);
  });

interface Deleter {
  /** Null if the service is continuing a deletion that a request started. */
  readonly access: DeletionAccess | null;
  readonly kills: boolean;
}

/** Takes every step that is currently possible. Returns whether the flow has been deleted. */
async function advanceDeletion(
  db: Db,
  deps: Pick<DeletionDeps, 'wake' | 'clock'>,
  flow: FlowKey,
  { access, kills }: Deleter,
): Promise<boolean> {
  // An ended run may still have a browser that its worker could not close.
  const run = (await findActiveExecution(db, flow, flow.id)) ?? (await findNewestExecution(db, flow, flow.id));
  if (run !== undefined) {
    await transaction(db, async (db) => {
      const outcome = await requestCancel(db, deps, run, deps.clock.now());
      if (access !== null && (outcome === 'cancelled' || outcome === 'requested')) {
        const target = { kind: 'test_run', id: run.id };
        const change = { type: 'test_run.cancelled', target, app_id: flow.app_id } as const;
        await audit(db, access, change, deps.clock.now());
      }
      if (!kills) return;
      await requestClose(db, run, 'kill', deps.clock.now());
      afterCommit(db, () => deps.wake.notify(toRunTopic(run.id)));
    });
    if (!(await endIfClosed(db, run, deps.clock.now()))) return false;
  }
  await transaction(db, (db) => removeMarkedFlow(db, access, flow, deps.clock.now()));
  return true;
}

/** Returns false if the run's browser is still open. Holds the run's lock, which starting a browser also requires. */
const endIfClosed = (db: Db, run: ExecutionKey, now: Date): Promise<boolean> =>
  transaction(db, async (db) => {
    const active = await lockActiveExecution(db, run);
    if (await hasLiveSession(db, run)) return false;
    if (active !== undefined) await endRun(db, active, { status: 'cancelled' }, now);
    return true;
  });

async function removeMarkedFlow(db: Db, access: Deleter['access'], { id, app_id, workspace_id }: FlowKey, now: Date) {
  const flow = await lockFlow(db, { id, app_id, workspace_id });
  if (flow === undefined) return; // another process has already deleted it
  await removeFlow(db, flow);
  const change = { ...targetOf(flow), type: 'test_flow.deleted', before: { name: flow.name } } as const;
  if (access === null) await auditService(db, workspace_id, change, now);
  else await audit(db, access, change, now);
}

const notClosed = () =>
  new Problem(
    'unavailable',
    'browser_unavailable',
    'The test is being deleted, but its browser is still closing. Send the request again in a few seconds.',
    { headers: { 'retry-after': '5' } },
  );

const flowsPerRun = 20;

/** Finishes deletions that a request left unfinished. If one fails, the others are still finished. */
export async function finishDeletions(db: Db, deps: DeletionDeps, now: Date): Promise<number> {
  const before = new Date(now.getTime() - deps.times.deleteWaitMs);
  const failures: unknown[] = [];
  let deleted = 0;
  for (const flow of await listAbandonedDeletions(db, before, flowsPerRun))
    try {
      if (await advanceDeletion(db, deps, flow, { access: null, kills: true })) deleted += 1;
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
  return deleted;
}
