// The queries on campaign changes: the requests in order, and their outcomes. Every writer locks the campaign's
// row first, so a campaign's changes are decided one at a time.
import { type Insertable, type Selectable, sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { CampaignKey, CampaignRow } from './rows.ts';

export type ChangeRow = Selectable<Tables['ads_changes']> & QueueRow;
export type ChangeKey = Pick<ChangeRow, 'workspace_id' | 'app_id' | 'id'>;
type NewChangeRow = Pick<
  Insertable<Tables['ads_changes']>,
  'id' | 'kind' | 'reasons' | 'content' | 'is_by_caller' | 'created_date'
>;
type AppKey = Pick<CampaignRow, 'workspace_id' | 'app_id'>;

const unfinished = ['recorded', 'sent', 'unknown'] as const;

const changesOf = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('ads_changes').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

const updateOf = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.updateTable('ads_changes').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

/** Undefined if the change's campaign no longer exists. */
export const findChange = (db: Db, key: ChangeKey): Promise<ChangeRow | undefined> =>
  changesOf(db, key).where('id', '=', key.id).selectAll().executeTakeFirst();

/** Whether the campaign got another change after this one. */
export const hasLaterChange = async (db: Db, { id, campaign_id, ...app }: ChangeKey & { campaign_id: string }) =>
  (await changesOf(db, app)
    .where('campaign_id', '=', campaign_id)
    .where('number', '>', (select) =>
      select
        .selectFrom('ads_changes')
        .where('workspace_id', '=', app.workspace_id)
        .where('app_id', '=', app.app_id)
        .where('id', '=', id)
        .select('number'),
    )
    .select('id')
    .limit(1)
    .executeTakeFirst()) !== undefined;

/**
 * The last change that was requested for this field of the platform's campaign, in any state. An accepted asset is a
 * change of the texts.
 */
export const findLastUpdate = (db: Db, campaign: CampaignKey, field: string): Promise<ChangeRow | undefined> =>
  changesOf(db, campaign)
    .where('campaign_id', '=', campaign.id)
    .where(
      sql<boolean>`(kind = 'update' and content->'change'->>'field' = ${field}
        or kind = 'accept_asset' and ${field === 'texts'})`,
    )
    .orderBy('number', 'desc')
    .limit(1)
    .selectAll()
    .executeTakeFirst();

/** Lists the changes in the order in which they were requested. */
export const listUnfinishedChanges = (db: Db, campaign: CampaignKey): Promise<ChangeRow[]> =>
  changesOf(db, campaign)
    .where('campaign_id', '=', campaign.id)
    .where('state', 'in', unfinished)
    .orderBy('number')
    .selectAll()
    .execute();

export const insertChange = (db: Db, campaign: CampaignKey, change: NewChangeRow): Promise<ChangeRow> =>
  db
    .insertInto('ads_changes')
    .values({
      ...change,
      workspace_id: campaign.workspace_id,
      app_id: campaign.app_id,
      campaign_id: campaign.id,
      state: 'recorded',
      due_at: sql<Date>`clock_timestamp()`, // queues use the database's clock
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Committed before the request is sent, so a row in this state may have been sent even if no response is recorded. */
export const recordSending = (db: Db, key: ChangeKey): Promise<ChangeRow> =>
  updateOf(db, key)
    .set((is) => ({ state: 'sent', sent_count: is('sent_count', '+', 1) }))
    .where('id', '=', key.id)
    .returningAll()
    .executeTakeFirstOrThrow();

export async function saveChangeState(db: Db, key: ChangeKey, state: 'recorded' | 'unknown'): Promise<void> {
  await updateOf(db, key).set({ state }).where('id', '=', key.id).execute();
}

/** Saves the reasons for a pause that has not yet been sent. */
export const saveChangeReasons = (db: Db, key: ChangeKey, reasons: string[]): Promise<ChangeRow> =>
  updateOf(db, key).set({ reasons }).where('id', '=', key.id).returningAll().executeTakeFirstOrThrow();

export type FinalState = 'applied' | 'refused' | 'superseded';

/** Ends the change and removes it from the queue. */
export async function endChange(
  db: Db,
  key: ChangeKey,
  state: FinalState,
  failure: object | null,
  now: Date,
): Promise<void> {
  await updateOf(db, key)
    .set({ state, failure: failure && JSON.stringify(failure), ended_date: now, due_at: null })
    .where('id', '=', key.id)
    .execute();
}

/** Makes the change due immediately, because a caller is waiting for it. */
export async function makeChangeDue(db: Db, key: ChangeKey): Promise<void> {
  await updateOf(db, key)
    .set({ due_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', key.id)
    .where('claimed_slot', 'is', null)
    .execute();
}

/** Makes a campaign's recorded changes due immediately. */
export async function makeChangesDue(db: Db, campaign: CampaignKey): Promise<void> {
  await updateOf(db, campaign)
    .set({ due_at: sql<Date>`clock_timestamp()` })
    .where('campaign_id', '=', campaign.id)
    .where('state', '=', 'recorded')
    .where('claimed_slot', 'is', null)
    .execute();
}

/** Requeues a change that was given up because its workers crashed. */
export async function reviveChange(db: Db, key: ChangeKey, inMs: number): Promise<void> {
  await updateOf(db, key)
    .set({ due_at: sql<Date>`clock_timestamp() + ${inMs} * interval '1 ms'`, failed_at: null })
    .where('id', '=', key.id)
    .execute();
}

/** Returns the number of removed changes. The journal keeps a record of the requests. */
export async function removeOldChanges(db: Db, now: Date): Promise<number> {
  const endedUntil = new Date(now.getTime() - 90 * 24 * 60 * 60 * 1000);
  return purge(db, { table: 'ads_changes', where: sql`ended_date <= ${endedUntil} and claimed_slot is null` });
}

// ---- a change's dependencies

/**
 * Locks the app until the transaction ends. `isGone` means that the app or its workspace is in the trash. Undefined if
 * the app was purged.
 */
export async function lockAppOf(db: Db, { workspace_id, app_id }: AppKey): Promise<{ isGone: boolean } | undefined> {
  const app = await db
    .selectFrom('apps')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', app_id)
    .select('deleted_date')
    .forNoKeyUpdate()
    .executeTakeFirst();
  // A separate statement, because it must see a workspace deletion that was committed while waiting for the lock.
  const workspace = await db
    .selectFrom('workspaces')
    .where('id', '=', workspace_id)
    .select('deleted_date')
    .executeTakeFirst();
  if (app === undefined || workspace === undefined) return undefined;
  return { isGone: app.deleted_date !== null || workspace.deleted_date !== null };
}

/**
 * The campaign's launch if it has not ended. Until it ends, it is unknown whether the campaign exists or is enabled.
 */
export const findOpenLaunch = (db: Db, { workspace_id, app_id, launch_id }: CampaignRow) =>
  db
    .selectFrom('ads_launches')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', launch_id)
    .where('ended_date', 'is', null)
    .select(['id', 'state'])
    .executeTakeFirst();

/** Makes a launch with an unknown outcome due immediately instead of at its next interval. */
export async function makeLaunchDue(db: Db, { workspace_id, app_id, launch_id }: CampaignRow): Promise<void> {
  await db
    .updateTable('ads_launches')
    .set({ due_at: sql<Date>`clock_timestamp()` })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', launch_id)
    .where('state', '=', 'unknown')
    .where('claimed_slot', 'is', null)
    .execute();
}

/** Frees a removed campaign's draft, so it can be launched again. */
export async function freeDraft(db: Db, { workspace_id, app_id, launch_id }: CampaignRow): Promise<void> {
  await db
    .updateTable('ads_launches')
    .set({ is_current: false })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', launch_id)
    .execute();
}

export async function findLaunchKey(db: Db, { workspace_id, app_id, launch_id }: CampaignRow) {
  const row = await db
    .selectFrom('ads_launches')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', launch_id)
    .select('launch_key')
    .executeTakeFirst();
  return row?.launch_key;
}

/** The holds as of the account's last read. Undefined if the workspace no longer exists. */
export async function readHolds(db: Db, { workspace_id, app_id }: AppKey) {
  const { rows } = await sql<{ is_workspace_on_hold: boolean; is_account_on_hold: boolean }>`select
      w.billing_hold as is_workspace_on_hold,
      coalesce(a.status = 'SUSPENDED' or a.billing_status <> 'APPROVED', false) as is_account_on_hold
    from workspaces w left join ads_accounts a on a.workspace_id = ${workspace_id} and a.app_id = ${app_id}
    where w.id = ${workspace_id}`.execute(db);
  return rows[0];
}

/** The id of the app's account on the platform. Null if it has none yet. */
export async function findCustomerId(db: Db, { workspace_id, app_id }: AppKey): Promise<string | null> {
  const row = await db
    .selectFrom('ads_accounts')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .select('platform_customer_id')
    .executeTakeFirst();
  return row?.platform_customer_id ?? null;
}
