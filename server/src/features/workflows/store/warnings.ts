// Owns the queue of mails about workflows that were made inactive because their runs fail.
import { sql } from 'kysely';
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

const keptMs = 30 * 24 * 60 * 60 * 1000;
const maxRemovedAtOnce = 1_000;

/** Removes mails that were sent, or could not be sent, 30 days ago. Returns how many. */
export async function removeOldWarnings(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from workflow_warnings where id in (
    select id from workflow_warnings where due_at is null and created_date < ${new Date(now.getTime() - keptMs)}
    limit ${maxRemovedAtOnce} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
