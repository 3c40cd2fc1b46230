// The queue for warning mails about failing webhooks.
import type { Db } from '../../../tables.ts';

export interface Warning {
  readonly id: string;
  readonly workspace_id: string;
  readonly webhook_id: string;
  readonly email: string;
  readonly consecutive_failures: number;
}

export async function insertWarnings(db: Db, warnings: readonly Warning[], now: Date): Promise<void> {
  if (warnings.length === 0) return;
  await db
    .insertInto('webhook_warnings')
    .values(warnings.map((warning) => ({ ...warning, created_date: now, due_at: now })))
    .execute();
}
