// Owns the queries on the webhooks themselves: their settings and their health.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { prepared } from '../../../kit/db/database.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { Scope, WebhookRow } from '../contract.ts';
import type { HealthUpdate } from '../health.ts';

export type WebhookKey = Pick<WebhookRow, 'workspace_id' | 'id'>;

export const listWebhooks = (db: Db, access: AppAccess, scope: Scope) =>
  selectWebhooks(db, access, scope).orderBy('id', 'desc').execute();

export const findWebhook = (db: Db, access: AppAccess, scope: Scope, id: string) =>
  selectWebhooks(db, access, scope).where('id', '=', idOrNull(id)).executeTakeFirst();

const selectWebhooks = (db: Db, { app }: AppAccess, scope: Scope) =>
  db
    .selectFrom('webhooks')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('scope', '=', scope)
    .selectAll()
    .$castTo<WebhookRow>();

export async function insertWebhook(db: Db, row: WebhookRow): Promise<void> {
  await db
    .insertInto('webhooks')
    .values({ ...row, last_error: null })
    .execute();
  await db.insertInto('webhook_sequences').values({ workspace_id: row.workspace_id, webhook_id: row.id }).execute();
}

/** Until the transaction ends, changes to the webhook and the recording of its attempts wait. */
export const lockWebhook = (db: Db, { workspace_id, id }: WebhookKey) =>
  db
    .selectFrom('webhooks')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .selectAll()
    .forNoKeyUpdate()
    .$castTo<WebhookRow>()
    .executeTakeFirst();

type WebhookColumns = Partial<
  Omit<WebhookRow, 'workspace_id' | 'id' | 'app_id' | 'scope' | 'created_date' | 'last_error'>
>;

export const saveWebhook = (db: Db, { workspace_id, id }: WebhookKey, columns: WebhookColumns) =>
  db
    .updateTable('webhooks')
    .set(columns)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .returningAll()
    .$castTo<WebhookRow>()
    .executeTakeFirstOrThrow();

export async function removeWebhook(db: Db, { workspace_id, id }: WebhookKey): Promise<void> {
  await db.deleteFrom('webhooks').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

// ---- for workers, across workspaces

/** Locks in the order of their ids, so that two workers can't deadlock. */
export const lockWebhooks = (db: Db, ids: readonly string[]): Promise<WebhookRow[]> => lockWebhookRows(db, ids);

const lockWebhookRows = prepared<WebhookRow, [readonly string[]]>(
  'lock webhooks',
  '/* service */ select * from webhooks where id = any($1::uuid[]) order by id for no key update',
);

/** Locks a webhook that was turned on or off and still has deliveries to resume or hold. */
export const lockNextPendingResync = async (db: Db): Promise<WebhookRow | undefined> =>
  (await lockPendingResyncRow(db))[0];

const lockPendingResyncRow = prepared<WebhookRow, []>(
  'lock next webhook with pending resync',
  '/* service */ select * from webhooks where resync_pending order by id limit 1 for no key update skip locked',
);

/** A webhook that this turns off is marked `resync_pending`, so that a job holds the rest of its deliveries. */
export const saveHealth = (db: Db, updates: readonly (HealthUpdate & { readonly id: string })[]) =>
  saveHealthRows(db, JSON.stringify(updates));

const saveHealthRows = prepared<object, [string]>(
  'save health of webhooks',
  `/* service */ update webhooks w set last_trigger_time = s.last_trigger_time, last_error = s.last_error,
     consecutive_failures = s.consecutive_failures, disabled_at = s.disabled_at,
     resync_pending = w.resync_pending or (w.disabled_at is null and s.disabled_at is not null)
   from json_to_recordset($1::json) as s(id uuid, last_trigger_time timestamptz, last_error jsonb,
     consecutive_failures integer, disabled_at timestamptz) where w.id = s.id`,
);
