// Owns the queue of mails about workflows that were made inactive because their runs fail.
import type { Db } from '../../../tables.ts';

export interface Warning {
  readonly id: string;
  readonly workspace_id: string;
  readonly workflow_id: string;
  readonly email: string;
}

export async function insertWarnings(db: Db, warnings: readonly Warning[], now: Date): Promise<void> {
  if (warnings.length === 0) return;
  await db
    .insertInto('workflow_warnings')
    .values(warnings.map((warning) => ({ ...warning, created_date: now, due_at: now })))
    .execute();
}

export const findWorkflowName = async (
  db: Db,
  { workspace_id, workflow_id }: Pick<Warning, 'workspace_id' | 'workflow_id'>,
): Promise<string | undefined> => {
  const row = await db
    .selectFrom('workflows')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', workflow_id)
    .select('name')
    .executeTakeFirst();
  return row?.name;
};
