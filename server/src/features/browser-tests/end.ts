// Ends a run: its status and credits, in one transaction.
import { refund, settle } from '../../core/credits/reservations.ts';
import { countUnpaid } from '../../core/credits/unpaid.ts';
import { ClaimLost } from '../../core/turns/claim.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import { sayCharged } from './faults.ts';
import { runPrice } from './prices.ts';
import { removeEvidence } from './store/evidence.ts';
import {
  type ExecutionChange,
  type ExecutionRow,
  lockClaimedExecution,
  removeResult,
  saveStatus,
} from './store/executions.ts';

export type RunEnd =
  | { readonly status: 'passed' | 'failed' | 'inconclusive' | 'cancelled' }
  | { readonly status: 'error'; readonly error_message: string };

/**
 * Call this in a transaction that has locked the run. If a cancellation was requested, the run becomes cancelled,
 * whatever its result. A run that never started costs nothing. Nor does one that failed because of Plinth, but a page can
 * cause some of these faults on purpose: if the run has called the model, the app's number a day of free failures
 * applies. Returns the final status.
 */
export async function endRun(db: Db, execution: ExecutionRow, wanted: RunEnd, now: Date): Promise<RunEnd['status']> {
  const { workspace_id, reservation_id: id, cancel_requested_at } = execution;
  const asked: RunEnd = cancel_requested_at === null ? wanted : { status: 'cancelled' };
  const isFree =
    execution.status === 'pending' || (asked.status === 'error' && (await mayFailFree(db, execution, now)));
  const end =
    asked.status === 'error' && !isFree ? { ...asked, error_message: sayCharged(asked.error_message) } : asked;
  let credits_charged = 0;
  if (isFree) await refund(db, { workspace_id, id }, now);
  else credits_charged = (await settle(db, { workspace_id, id }, runPrice, now)).charged;
  const change = { ...describeEnd(execution, end), credits_charged, completed_at: now };
  if ((await saveStatus(db, execution, end.status, change)) === undefined) throw new ClaimLost();
  if (end.status === 'error' || end.status === 'cancelled') await removeFindings(db, execution);
  return end.status;
}

const mayFailFree = async (
  db: Db,
  { workspace_id, app_id, has_called_model }: ExecutionRow,
  now: Date,
): Promise<boolean> =>
  !has_called_model || (await countUnpaid(db, { workspace_id, kind: 'test_run', subject_id: app_id }, now));

/** Without a report, the result and evidence have no use. */
async function removeFindings(db: Db, execution: ExecutionRow): Promise<void> {
  await removeResult(db, execution);
  await removeEvidence(db, execution);
}

function describeEnd({ status }: ExecutionRow, end: RunEnd): ExecutionChange {
  if (end.status === 'error')
    return { error_message: end.error_message, analysis_status: status === 'analyzing' ? 'failed' : 'none' };
  return { analysis_status: end.status === 'cancelled' ? 'none' : 'completed' };
}

/** Runs a change to a run as the worker that has claimed it. */
export const asOwner = <Result>(
  db: Db,
  execution: ExecutionRow,
  change: (db: Db, locked: ExecutionRow) => Promise<Result>,
): Promise<Result> =>
  transaction(db, async (db) => {
    const locked = await lockClaimedExecution(db, execution);
    if (locked === undefined) throw new ClaimLost();
    return change(db, locked);
  });

export const endClaimedRun = (db: Db, execution: ExecutionRow, end: RunEnd, now: Date): Promise<RunEnd['status']> =>
  asOwner(db, execution, (db, locked) => endRun(db, locked, end, now));
