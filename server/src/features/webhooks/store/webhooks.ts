// The queries on webhooks: their settings and health.
import { sql } from 'kysely';
import type { AppAccess, WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { prepared } from '../../../kit/db/database.ts';
import { sendWithCommit, sendWithNext } from '../../../kit/db/send.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import type { Db } from '../../../tables.ts';
import type { Scope, WebhookRow } from '../contract.ts';
import type { HealthUpdate } from '../health.ts';

export type WebhookKey = Pick<WebhookRow, 'workspace_id' | 'id'>;

export const listWebhooks = (db: Db, { app }: AppAccess, scope: Scope) =>
  db
    .selectFrom('webhooks')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('scope', '=', scope)
    .selectAll()
    .orderBy('id', 'desc')
    .$castTo<WebhookRow>()
    .execute();

/** The inserts are sent with the commit. */
export async function insertWebhook(db: Db, row: WebhookRow): Promise<void> {
  const sequence = { workspace_id: row.workspace_id, webhook_id: row.id };
  const webhook = { ...row, last_error: null };
  await sendWithCommit(db, db.insertInto('webhooks').values(webhook).compile());
  await sendWithCommit(db, db.insertInto('webhook_sequences').values(sequence).compile());
}

/** Changes to the webhook, and recording its attempts, wait until the transaction ends. */
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
  Omit<WebhookRow, 'workspace_id' | 'id' | 'app_id' | 'scope' | 'created_by_id' | 'created_date' | 'last_error'>
>;

/** Saves a webhook that the transaction has locked. */
export function saveWebhook(db: Db, { workspace_id, id }: WebhookKey, columns: WebhookColumns): Promise<void> {
  const saved = db.updateTable('webhooks').set(columns).where('workspace_id', '=', workspace_id).where('id', '=', id);
  return sendWithNext(db, saved.compile());
}

export function removeWebhook(db: Db, { workspace_id, id }: WebhookKey): Promise<void> {
  const removed = db.deleteFrom('webhooks').where('workspace_id', '=', workspace_id).where('id', '=', id);
  return sendWithNext(db, removed.compile());
}

/** Records that a pull webhook is read, at most once a minute. */
export async function recordRead(db: Db, { workspace_id, id }: WebhookKey, now: Date): Promise<void> {
  await sql`update webhooks set last_trigger_time = ${now} where workspace_id = ${workspace_id} and id = ${id} and mode = 'pull'
    and (last_trigger_time is null or last_trigger_time < ${now}::timestamptz - interval '1 minute')`.execute(db);
}

// ---- webhooks by creator

/**
 * Finds a member of the workspace, or a former member who created webhooks in it. The e-mail address is
 * case-insensitive.
 */
export const findWebhookCreator = (db: Db, { workspace_id }: WorkspaceAccess, email: string) =>
  db
    .selectFrom('users')
    .select(['id', 'email'])
    .where('email', '=', email.toLowerCase())
    .where((is) =>
      is.or([
        is.exists(
          is
            .selectFrom('memberships')
            .select('user_id')
            .where('workspace_id', '=', workspace_id)
            .whereRef('user_id', '=', 'users.id'),
        ),
        is.exists(
          is
            .selectFrom('webhooks')
            .select('webhooks.id')
            .where('workspace_id', '=', workspace_id)
            .whereRef('created_by_id', '=', 'users.id'),
        ),
      ]),
    )
    .executeTakeFirst();

/** Lists the webhooks that a user created for any agent or app, including those in the trash, newest first. */
export function listWebhooksOf(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  user_id: string,
  limit: number,
  after: Position | undefined,
) {
  let webhooks = db
    .selectFrom('webhooks')
    .innerJoin('apps', (join) =>
      join.onRef('apps.workspace_id', '=', 'webhooks.workspace_id').onRef('apps.id', '=', 'webhooks.app_id'),
    )
    .where('webhooks.workspace_id', '=', workspace_id)
    .where('webhooks.created_by_id', '=', user_id)
    .selectAll('webhooks')
    .select('apps.name as app_name')
    .orderBy('webhooks.id', 'desc')
    .limit(limit + 1);
  if (after) webhooks = webhooks.where(sql<boolean>`webhooks.id < ${after[0]}::uuid`);
  return webhooks.$castTo<WebhookRow & { app_name: string }>().execute();
}

/** Locks the webhooks in id order, as workers do. Returns the webhooks that were on. */
export async function turnOffWebhooksOf(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  user_id: string,
  now: Date,
): Promise<WebhookRow[]> {
  const { rows } = await sql<WebhookRow>`with running as (
      select id from webhooks where workspace_id = ${workspace_id} and created_by_id = ${user_id} and disabled_at is null
      order by id for no key update
    ) update webhooks set disabled_at = ${now}, resync_pending = true, updated_date = ${now}
    where workspace_id = ${workspace_id} and id in (select id from running) returning *`.execute(db);
  return rows;
}

// ---- for workers, across workspaces

/** Locks the webhooks in id order, so two workers can't deadlock. */
export const lockWebhooks = (db: Db, ids: readonly string[]): Promise<WebhookRow[]> => lockWebhookRows(db, ids);

const lockWebhookRows = prepared<WebhookRow, [readonly string[]]>(
  'lock webhooks',
  '/* service */ select * from webhooks where id = any($1::uuid[]) order by id for no key update',
);

/**
 * Has the same effect as `applyAttempts` if all attempts have succeeded. An attempt counts only if this transaction
 * completed its delivery, not if another worker did so first. `offset 0` keeps the planner from using a join, which
 * would read the whole log.
 */
export const recordSuccesses = (attempts: readonly SuccessfulAttempt[]) =>
  recordSuccessfulAttempts.query(JSON.stringify(attempts));

export interface SuccessfulAttempt {
  readonly webhook_id: string;
  readonly delivery_id: string;
  readonly claims: number;
  readonly attempted_at: Date;
}

const recordSuccessfulAttempts = prepared<object, [string]>(
  'record successful attempts',
  `/* service */ with succeeded as (
     select webhook_id, max(attempted_at) as attempted_at
     from json_to_recordset($1::json) as a(webhook_id uuid, delivery_id uuid, claims integer, attempted_at timestamptz)
     where exists (
       select 1 from webhook_deliveries d where d.id = a.delivery_id and d.claims = a.claims and d.claimed_slot is null offset 0)
     group by webhook_id),
   locked as (
     select w.id, s.attempted_at from webhooks w join succeeded s on s.webhook_id = w.id
     order by w.id for no key update of w)
   update webhooks w set last_trigger_time = greatest(w.last_trigger_time, locked.attempted_at), last_error = null,
     consecutive_failures = 0
   from locked where w.id = locked.id`,
);

/** Polling query: returns a row if a webhook has deliveries to resume or hold. */
export const resyncDueInMs = 'select 0 from webhooks where resync_pending limit 1';

/** Locks a webhook that was turned on or off and still has deliveries to resume or hold. */
export const lockNextPendingResync = async (db: Db): Promise<WebhookRow | undefined> =>
  (await lockPendingResyncRow(db))[0];

const lockPendingResyncRow = prepared<WebhookRow, []>(
  'lock next webhook with pending resync',
  '/* service */ select * from webhooks where resync_pending order by id limit 1 for no key update skip locked',
);

/** Turns off pull webhooks that nobody has read, created or changed since. Returns them. */
export async function turnOffUnreadWebhooks(
  db: Db,
  { since, limit }: { readonly since: Date; readonly limit: number },
  now: Date,
): Promise<WebhookRow[]> {
  const { rows } = await sql<WebhookRow>`/* service */ with unread as (
      select id from webhooks where mode = 'pull' and disabled_at is null and greatest(last_trigger_time, updated_date) < ${since}
      order by id limit ${limit} for no key update skip locked)
    update webhooks w set disabled_at = ${now} from unread where w.id = unread.id returning w.*`.execute(db);
  return rows;
}

/** A webhook that is turned off here is marked `resync_pending`, so a job holds its remaining deliveries. */
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
