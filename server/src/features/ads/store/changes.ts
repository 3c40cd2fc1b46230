// Owns the queries on changes of campaigns: what was asked for, in its order, and what became of it. Whoever writes a change has locked
// the row of its campaign, so that changes of one campaign are decided one after the other.
import { type Insertable, type Selectable, sql } from 'kysely';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { CampaignKey, CampaignRow } from '../campaigns/contract.ts';

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

/** Undefined if its campaign is gone. */
export const findChange = (db: Db, key: ChangeKey): Promise<ChangeRow | undefined> =>
  changesOf(db, key).where('id', '=', key.id).selectAll().executeTakeFirst();

/** In the order in which they were asked for. */
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

/** Committed before the request is sent: whoever finds the row in this state without an answer knows that one may have been sent. */
export const recordSending = (db: Db, key: ChangeKey): Promise<ChangeRow> =>
  updateOf(db, key)
    .set((is) => ({ state: 'sent', sent_count: is('sent_count', '+', 1) }))
    .where('id', '=', key.id)
    .returningAll()
    .executeTakeFirstOrThrow();

export async function saveChangeState(db: Db, key: ChangeKey, state: 'recorded' | 'unknown'): Promise<void> {
  await updateOf(db, key).set({ state }).where('id', '=', key.id).execute();
}

/** Of a pause that was not sent yet. */
export const saveChangeReasons = (db: Db, key: ChangeKey, reasons: string[]): Promise<ChangeRow> =>
  updateOf(db, key).set({ reasons }).where('id', '=', key.id).returningAll().executeTakeFirstOrThrow();

export type FinalState = 'applied' | 'refused' | 'superseded';

/** It is not run again. */
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

/** It is sent again at once, because somebody waits for it. */
export async function makeChangeDue(db: Db, key: ChangeKey): Promise<void> {
  await updateOf(db, key)
    .set({ due_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', key.id)
    .where('claimed_slot', 'is', null)
    .execute();
}

/** The unfinished changes of a campaign need not wait any longer. */
export async function makeChangesDue(db: Db, campaign: CampaignKey): Promise<void> {
  await updateOf(db, campaign)
    .set({ due_at: sql<Date>`clock_timestamp()` })
    .where('campaign_id', '=', campaign.id)
    .where('state', '=', 'recorded')
    .where('claimed_slot', 'is', null)
    .execute();
}

/** After a row was given up because workers crashed: it is run again. */
export async function reviveChange(db: Db, key: ChangeKey, inMs: number): Promise<void> {
  await updateOf(db, key)
    .set({ due_at: sql<Date>`clock_timestamp() + ${inMs} * interval '1 ms'`, failed_at: null })
    .where('id', '=', key.id)
    .execute();
}

/** Returns how many were removed. The journal keeps what was sent. */
export async function removeOldChanges(db: Db, now: Date): Promise<number> {
  const endedUntil = new Date(now.getTime() - 90 * 24 * 60 * 60 * 1000);
  const { numAffectedRows } = await sql`/* service */ delete from ads_changes where id in (
    select id from ads_changes where ended_date <= ${endedUntil} and claimed_slot is null limit 1000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

// ---- what a change depends on

/** Locks the app until the transaction ends. `isGone`: it, or its workspace, is in the trash. Undefined: it was purged. */
export async function lockAppOf(db: Db, { workspace_id, app_id }: AppKey): Promise<{ isGone: boolean } | undefined> {
  const app = await db
    .selectFrom('apps')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', app_id)
    .select('deleted_date')
    .forNoKeyUpdate()
    .executeTakeFirst();
  // A statement of its own: it must see a deletion of the workspace that the lock was waited for.
  const workspace = await db
    .selectFrom('workspaces')
    .where('id', '=', workspace_id)
    .select('deleted_date')
    .executeTakeFirst();
  if (app === undefined || workspace === undefined) return undefined;
  return { isGone: app.deleted_date !== null || workspace.deleted_date !== null };
}

/** The launch of a campaign, if it has not ended. Then it is not known whether the campaign exists, or whether it is enabled. */
export const findOpenLaunch = (db: Db, { workspace_id, app_id, launch_id }: CampaignRow) =>
  db
    .selectFrom('ads_launches')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', launch_id)
    .where('ended_date', 'is', null)
    .select(['id', 'state'])
    .executeTakeFirst();

/** A launch whose outcome is not known looks at once, and not only at its next turn. */
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

/** The draft of a removed campaign can be launched again. */
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

/** As the account was last read. Undefined if the workspace is gone. */
export async function readHolds(db: Db, { workspace_id, app_id }: AppKey) {
  const { rows } = await sql<{ is_workspace_on_hold: boolean; is_account_on_hold: boolean }>`select
      w.billing_hold as is_workspace_on_hold,
      coalesce(a.status = 'SUSPENDED' or a.billing_status <> 'APPROVED', false) as is_account_on_hold
    from workspaces w left join ads_accounts a on a.workspace_id = ${workspace_id} and a.app_id = ${app_id}
    where w.id = ${workspace_id}`.execute(db);
  return rows[0];
}

/** The id of the app's account at the platform. Null until it has one. */
export async function findCustomerId(db: Db, { workspace_id, app_id }: AppKey): Promise<string | null> {
  const row = await db
    .selectFrom('ads_accounts')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .select('platform_customer_id')
    .executeTakeFirst();
  return row?.platform_customer_id ?? null;
}
