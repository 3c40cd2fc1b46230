// Owns cancelling a run by a person.
import { audit } from '../../core/audit/audit.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { RunAccess } from './reads/run.ts';
import { type CancelDeps, cancelRun } from './runs/cancel.ts';

/** A run that has ended keeps its status. */
export const cancelRunByPerson = (db: Db, access: RunAccess, deps: CancelDeps, now: Date) =>
  transaction(db, async (db) => {
    const { run } = access;
    const result = await cancelRun(db, run, 'cancelled_by_user', deps, now);
    if (result === undefined) throw notFound('run_not_found'); // removed meanwhile
    const { status, changed } = result;
    if (!changed) return unchanged({ status });
    const target = { kind: 'workflow_run', id: run.id };
    const after = { workflow_id: run.workflow_id, status };
    await audit(db, access, { type: 'workflow.run_cancelled', target, app_id: run.app_id, after }, now);
    return { status };
  });
