// Makes a workflow inactive on behalf of the platform, with a reason and an audit entry in the same transaction.
import { audit, auditService } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import type { WorkflowRow } from './store/rows.ts';
import { deactivateWorkflow } from './store/runs.ts';
import { deactivateWorkflowsOf } from './store/workflows.ts';

interface WorkflowRef {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly workflow_id: string;
}

export const toRef = ({ workspace_id, app_id, id }: WorkflowRow): WorkflowRef => ({
  workspace_id,
  app_id,
  workflow_id: id,
});

type Reason = NonNullable<WorkflowRow['status_reason']>;

/** Turns off a workflow whose runs can't succeed. Does nothing if it is not active. */
export const turnOffWorkflow = (
  db: Db,
  workflow: WorkflowRef,
  reason: 'workflows_not_available' | 'definition_invalid',
  now: Date,
): Promise<void> =>
  transaction(db, async (db) => {
    if (await deactivateWorkflow(db, workflow, reason, now)) await auditTurnedOff(db, workflow, reason, now);
  });

export const auditTurnedOff = (db: Db, workflow: WorkflowRef, reason: Reason, now: Date): Promise<void> =>
  auditService(db, workflow.workspace_id, describe(workflow, reason), now);

/** Makes an app's workflows inactive when the app is moved to the trash. They stay inactive when it is restored. */
export const stopWorkflows = (db: Db, access: AppAccess, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    const { workspace_id, id: app_id } = access.app;
    for (const workflow_id of await deactivateWorkflowsOf(db, access.app, now))
      await audit(db, access, describe({ workspace_id, app_id, workflow_id }, null), now);
  });

const describe = ({ app_id, workflow_id }: WorkflowRef, status_reason: Reason | null) => ({
  type: 'workflow.turned_off' as const,
  target: { kind: 'workflow', id: workflow_id },
  app_id,
  before: { status: 'active' },
  after: { status: 'inactive', status_reason },
});
