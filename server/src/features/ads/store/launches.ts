// The queries on launches. A state change is applied only if the launch is in the expected state and the worker
// still holds its claim.
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';

export type LaunchRow = Selectable<Tables['ads_launches']> & QueueRow;
export type LaunchKey = Pick<LaunchRow, 'workspace_id' | 'app_id' | 'id'>;
type AppKey = Pick<LaunchRow, 'workspace_id' | 'app_id'>;

const launchesOf = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('ads_launches').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

/** Undefined if the id is unknown or malformed. */
export const findLaunch = (db: Db, { app }: AppAccess, id: string): Promise<LaunchRow | undefined> =>
  launchesOf(db, { workspace_id: app.workspace_id, app_id: app.id })
    .where('id', '=', idOrNull(id))
    .selectAll()
    .executeTakeFirst();

export const findLaunchByKey = (db: Db, key: LaunchKey): Promise<LaunchRow | undefined> =>
  launchesOf(db, key).where('id', '=', key.id).selectAll().executeTakeFirst();

/** A draft's latest launch. */
export const findLatestLaunch = (db: Db, { app }: AppAccess, identity: string): Promise<LaunchRow | undefined> =>
  launchesOf(db, { workspace_id: app.workspace_id, app_id: app.id })
    .where('identity', '=', identity)
    .orderBy('generation', 'desc')
    .limit(1)
    .selectAll()
    .executeTakeFirst();

/** Whether the app has ever launched a campaign. */
export const hasLaunched = async (db: Db, { app }: AppAccess): Promise<boolean> =>
  (await launchesOf(db, { workspace_id: app.workspace_id, app_id: app.id })
    .select('id')
    .limit(1)
    .executeTakeFirst()) !== undefined;

export type NewLaunch = Pick<
  Insertable<Tables['ads_launches']>,
  'id' | 'campaign_id' | 'identity' | 'generation' | 'launch_key' | 'content' | 'start_paused' | 'timezone' | 'user_id'
>;

export const insertLaunch = (db: Db, { app }: AppAccess, launch: NewLaunch, now: Date): Promise<LaunchRow> =>
  db
    .insertInto('ads_launches')
    .values({
      ...launch,
      workspace_id: app.workspace_id,
      app_id: app.id,
      state: 'recorded',
      created_date: now,
      due_at: sql<Date>`clock_timestamp()`, // queues use the database's clock
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Frees the draft for another launch, because this one created nothing or its campaign was removed. */
export async function releaseDraft(db: Db, key: LaunchKey): Promise<void> {
  await db
    .updateTable('ads_launches')
    .set({ is_current: false })
    .where('workspace_id', '=', key.workspace_id)
    .where('app_id', '=', key.app_id)
    .where('id', '=', key.id)
    .execute();
}

export type LaunchChange = Pick<
  Updateable<Tables['ads_launches']>,
  | 'state'
  | 'unknown_request'
  | 'account_created'
  | 'failure'
  | 'sent_at'
  | 'read_at'
  | 'empty_reads'
  | 'ended_date'
  | 'is_current'
>;

/** Undefined if another worker has claimed the row or the row no longer exists. */
export const moveLaunch = (db: Db, from: LaunchRow, change: LaunchChange): Promise<LaunchRow | undefined> =>
  db
    .updateTable('ads_launches')
    .set(change)
    .where('workspace_id', '=', from.workspace_id)
    .where('app_id', '=', from.app_id)
    .where('id', '=', from.id)
    .where('state', '=', from.state)
    .where('claims', '=', from.claims)
    .where('claimed_slot', 'is not', null)
    .returningAll()
    .executeTakeFirst();

/**
 * Keeps a launch due after the queue has given up on its row because of too many crashes. A launch that may be spending
 * is never given up.
 */
export async function keepLaunchDue(db: Db, key: LaunchKey, afterMs: number): Promise<void> {
  await db
    .updateTable('ads_launches')
    .set({ due_at: sql<Date>`clock_timestamp() + ${afterMs} * interval '1 ms'`, failed_at: null })
    .where('workspace_id', '=', key.workspace_id)
    .where('app_id', '=', key.app_id)
    .where('id', '=', key.id)
    .where('ended_date', 'is', null)
    .execute();
}

export interface Obstacles {
  /** Whether the app or its workspace has been deleted. */
  readonly is_app_deleted: boolean;
  readonly is_workspace_on_hold: boolean;
  /** As of the account's last read. */
  readonly is_account_on_hold: boolean;
  readonly is_tracking_verified: boolean;
  /** The reasons for the last pause or removal that is waiting for the launch to end. Null if there is none. */
  readonly stop_reasons: readonly string[] | null;
}

/** Reads the obstacles to enabling a campaign. Undefined if the app no longer exists. */
export async function readObstacles(
  db: Db,
  { workspace_id, app_id, campaign_id }: LaunchRow,
): Promise<Obstacles | undefined> {
  const { rows } = await sql<Obstacles>`select
      p.deleted_date is not null or w.deleted_date is not null as is_app_deleted,
      w.billing_hold as is_workspace_on_hold,
      coalesce(a.status = 'SUSPENDED' or a.billing_status <> 'APPROVED', false) as is_account_on_hold,
      exists (select from tracking_checks c where c.app_id = ${app_id} and c.deployment_id = p.live_deployment_id
        and c.verified) as is_tracking_verified,
      (select case when x.reasons = '{}' then '{SERVICE_PAUSED_BY_USER}' else x.reasons end from ads_changes x
        where x.workspace_id = ${workspace_id} and x.app_id = ${app_id} and x.campaign_id = ${campaign_id}
          and x.ended_date is null and x.kind in ('pause', 'remove')
        order by x.number desc limit 1) as stop_reasons
    from apps p
    join workspaces w on w.id = p.workspace_id
    left join ads_accounts a on a.workspace_id = ${workspace_id} and a.app_id = ${app_id}
    where p.workspace_id = ${workspace_id} and p.id = ${app_id} and w.id = ${workspace_id}`.execute(db);
  return rows[0];
}
