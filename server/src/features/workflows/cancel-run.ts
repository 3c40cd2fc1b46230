// Cancels a run at a user's request.
import { audit } from '../../core/audit/audit.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { RunAccess } from './reads/run.ts';
import { type CancelDeps, cancelRun } from './runs/cancel.ts';

/** A run that has already ended keeps its status. */
export const cancelRunByPerson = (db: Db, deps: CancelDeps, access: RunAccess, now: Date) =>
  transaction(db, async (db) => {
    const { run } = access;
    const result = await cancelRun(db, deps, run, 'cancelled_by_user', now);
    if (result === undefined) throw notFound('run_not_found'); // removed in the meantime
    const { status, changed } = result;
    if (!changed) return unchanged({ status });
    const target = { kind: 'workflow_run', id: run.id };
    const after = { workflow_id: run.workflow_id, status };
    await audit(db, access, { type: 'workflow.run_cancelled', target, app_id: run.app_id, after }, now);
    return { status };
  });
