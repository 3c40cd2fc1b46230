// The queries on campaigns.
import { type Insertable, type RawBuilder, sql, type Updateable } from 'kysely';
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import type { CampaignMetrics } from '../../../gateways/ad-platform/campaign.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import { findLaunchKey } from '../rules/name.ts';
import type { CampaignKey, CampaignRow } from './rows.ts';

export type NewCampaignRow = Insertable<Tables['ads_campaigns']>;
/** All columns except those that identify the row. */
export type CampaignRowChange = Omit<
  Updateable<Tables['ads_campaigns']>,
  keyof CampaignKey | 'launch_id' | 'created_date'
>;
export type AppKey = Pick<CampaignRow, 'workspace_id' | 'app_id'>;

const campaignsOf = (db: Db, { workspace_id, app_id }: AppKey) =>
  db.selectFrom('ads_campaigns').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);

export const findCampaign = (db: Db, { app }: AppAccess, id: string): Promise<CampaignRow | undefined> =>
  campaignsOf(db, { workspace_id: app.workspace_id, app_id: app.id })
    .where('id', '=', idOrNull(id))
    .selectAll()
    .executeTakeFirst();

export const findCampaignByKey = (db: Db, key: CampaignKey): Promise<CampaignRow | undefined> =>
  campaignsOf(db, key).where('id', '=', key.id).selectAll().executeTakeFirst();

/**
 * Locks the row. Required before recording a change or a platform read. Undefined if the row was removed with its
 * launch.
 */
export const lockCampaign = (db: Db, key: CampaignKey): Promise<CampaignRow | undefined> =>
  campaignsOf(db, key).where('id', '=', key.id).selectAll().forNoKeyUpdate().executeTakeFirst();

/** Newest first. */
export const listCampaigns = (
  db: Db,
  { app }: AppAccess,
  limit: number,
  after: Position | undefined,
): Promise<CampaignRow[]> => {
  const found = campaignsOf(db, { workspace_id: app.workspace_id, app_id: app.id })
    .selectAll()
    .orderBy('created_date', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1);
  return (
    after ? found.where(sql<boolean>`(created_date, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`) : found
  ).execute();
};

/** Newest first. */
export const listAllCampaigns = (db: Db, key: AppKey): Promise<CampaignRow[]> =>
  campaignsOf(db, key).selectAll().orderBy('created_date', 'desc').orderBy('id', 'desc').execute();

export async function insertCampaign(db: Db, row: NewCampaignRow): Promise<CampaignRow> {
  return db.insertInto('ads_campaigns').values(row).returningAll().executeTakeFirstOrThrow();
}

/** Inserts a campaign that was found on the platform. Undefined if it is already listed. */
export const insertFoundCampaign = (db: Db, row: NewCampaignRow): Promise<CampaignRow | undefined> =>
  db
    .insertInto('ads_campaigns')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'app_id', 'platform_campaign_id'])
        .where('platform_campaign_id', '<>', '')
        .doNothing(),
    )
    .returningAll()
    .executeTakeFirst();

/** Undefined if the campaign no longer exists. */
export const saveCampaign = (db: Db, key: CampaignKey, change: CampaignRowChange): Promise<CampaignRow | undefined> =>
  db
    .updateTable('ads_campaigns')
    .set(change)
    .where('workspace_id', '=', key.workspace_id)
    .where('app_id', '=', key.app_id)
    .where('id', '=', key.id)
    .returningAll()
    .executeTakeFirst();

/** Removes the row of a launch that created nothing. Campaigns that are REMOVED on the platform keep their row. */
export async function removeCampaign(db: Db, key: CampaignKey): Promise<void> {
  await db
    .deleteFrom('ads_campaigns')
    .where('workspace_id', '=', key.workspace_id)
    .where('app_id', '=', key.app_id)
    .where('id', '=', key.id)
    .execute();
}

/** Removes a campaign that was adopted from the platform, with its changes, because its own launch now lists it. */
export async function removeAdopted(db: Db, { workspace_id, app_id }: AppKey, platformId: string): Promise<void> {
  await db
    .deleteFrom('ads_campaigns')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('platform_campaign_id', '=', platformId)
    .where('launch_id', 'is', null)
    .execute();
}

/** Undefined for a campaign that was found on the platform. */
export const findLaunchOfCampaign = (db: Db, { workspace_id, app_id, launch_id }: CampaignRow) =>
  db
    .selectFrom('ads_launches')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('id', '=', launch_id)
    .selectAll()
    .executeTakeFirst();

export interface Progress {
  /** Whether the launch or a change is still open. */
  readonly isBusy: boolean;
  /** Whether a change request still has no response. */
  readonly isUncertain: boolean;
  /**
   * The last change's number. It grows with each change, so readers can tell whether anything has changed in the
   * meantime.
   */
  readonly lastChange: number;
}

export async function readProgress(db: Db, key: CampaignKey): Promise<Progress> {
  const [found] = await selectProgress(db, key, sql`and c.id = ${key.id}`);
  return found ?? { isBusy: false, isUncertain: false, lastChange: 0 };
}

/** The progress of the app's campaigns, keyed by campaign id. */
export async function listProgress(db: Db, key: AppKey): Promise<ReadonlyMap<string, Progress>> {
  return new Map((await selectProgress(db, key, sql``)).map(({ id, ...progress }) => [id, progress]));
}

async function selectProgress(db: Db, { workspace_id, app_id }: AppKey, condition: RawBuilder<unknown>) {
  const { rows } = await sql<Progress & { id: string }>`select c.id,
      coalesce(bool_or(h.id is not null and h.ended_date is null), false)
        or coalesce(bool_or(l.id is not null and l.ended_date is null), false) as "isBusy",
      coalesce(bool_or(h.state in ('sent', 'unknown')), false) as "isUncertain",
      coalesce(max(h.number), 0) as "lastChange"
    from ads_campaigns c
    left join ads_changes h on h.workspace_id = c.workspace_id and h.campaign_id = c.id
    left join ads_launches l on l.workspace_id = c.workspace_id and l.id = c.launch_id
    where c.workspace_id = ${workspace_id} and c.app_id = ${app_id} ${condition}
    group by c.id`.execute(db);
  return rows;
}

/** Returns the launch keys in the given platform names that belong to the app's own launches. */
export async function listKnownKeys(
  db: Db,
  { workspace_id, app_id }: AppKey,
  named: readonly { readonly name: string }[],
): Promise<ReadonlySet<string>> {
  const keys = named.map(({ name }) => findLaunchKey(name)).filter((key) => key !== undefined);
  if (keys.length === 0) return new Set();
  const rows = await db
    .selectFrom('ads_launches')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where(sql<boolean>`launch_key = any(${keys})`)
    .select('launch_key')
    .execute();
  return new Set(rows.map(({ launch_key }) => launch_key));
}

/** The keys of open launches. A campaign with one of these keys belongs to that launch. */
export async function listOpenLaunchKeys(db: Db, { workspace_id, app_id }: AppKey): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('ads_launches')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('ended_date', 'is', null)
    .select('launch_key')
    .execute();
  return new Set(rows.map(({ launch_key }) => launch_key));
}

// ---- metrics

type Metrics = Pick<CampaignRow, 'impressions' | 'clicks' | 'cost_micros' | 'conversions' | 'metrics_read_at'>;

/**
 * Saves metrics by platform id. Campaigns missing from `read` keep their metrics. Returns all campaigns' metrics, keyed
 * by our ids.
 */
export async function saveMetrics(
  db: Db,
  { workspace_id, app_id }: AppKey,
  read: ReadonlyMap<string, CampaignMetrics>,
  now: Date,
): Promise<ReadonlyMap<string, Metrics>> {
  const columns = JSON.stringify([...read].map(([platform_id, each]) => ({ platform_id, ...each })));
  const { rows } = await sql<Metrics & { id: string }>`update ads_campaigns c
    set impressions = coalesce(f.impressions, c.impressions), clicks = coalesce(f.clicks, c.clicks),
      cost_micros = coalesce(f."costMicros", c.cost_micros), conversions = coalesce(f.conversions, c.conversions),
      metrics_read_at = ${now}
    from ads_campaigns same
    left join json_to_recordset(${columns}::json) as f(platform_id text, impressions bigint, clicks bigint,
      "costMicros" bigint, conversions double precision) on f.platform_id = same.platform_campaign_id
    where c.workspace_id = ${workspace_id} and c.app_id = ${app_id} and c.platform_campaign_id <> '' and c.id = same.id
      and same.workspace_id = ${workspace_id} and same.app_id = ${app_id}
    returning c.id, c.impressions, c.clicks, c.cost_micros, c.conversions, c.metrics_read_at`.execute(db);
  return new Map(rows.map(({ id, ...metrics }) => [id, metrics]));
}

// ---- waiting for tracking

/** Lists campaigns that are paused only for tracking. Campaigns on billing hold stay paused until the hold ends. */
export async function listWaitingForTracking(db: Db, { workspace_id, app_id }: AppKey): Promise<CampaignKey[]> {
  const { rows } = await sql<CampaignKey>`select c.workspace_id, c.app_id, c.id
    from ads_campaigns c join workspaces w on w.id = c.workspace_id
      join ads_accounts a on a.workspace_id = c.workspace_id and a.app_id = c.app_id
    where c.workspace_id = ${workspace_id} and w.id = ${workspace_id} and a.workspace_id = ${workspace_id}
      and c.app_id = ${app_id} and c.own_reasons = '{SERVICE_TRACKING_PENDING}' and c.status = 'PAUSED'
      and c.platform_campaign_id <> '' and not w.billing_hold
      and a.status = 'ACTIVE' and coalesce(a.billing_status, 'APPROVED') = 'APPROVED'`.execute(db);
  return rows;
}

export async function hasEnabledCampaign(db: Db, { app }: AppReach): Promise<boolean> {
  const row = await campaignsOf(db, { workspace_id: app.workspace_id, app_id: app.id })
    .where('status', '=', 'ENABLED')
    .select('id')
    .executeTakeFirst();
  return row !== undefined;
}

// ---- across workspaces

export type WatchedCampaign = CampaignRow & { readonly watched_until: Date; readonly customer_id: string };

/**
 * Takes workspaces in turn, starting with the longest-waiting campaigns. Campaigns with an open launch or change are
 * skipped, because their state is not yet settled.
 */
export async function takeWatched(db: Db, limit: number): Promise<WatchedCampaign[]> {
  const { rows } = await sql<WatchedCampaign>`/* service */ with waiting as (
      select c.id, c.watch_read_at,
        row_number() over (partition by c.workspace_id order by c.watch_read_at nulls first) as turn
      from ads_campaigns c
      where c.watched_until is not null and c.status <> 'REMOVED' and c.platform_campaign_id <> ''
        and not exists (select from ads_changes h where h.campaign_id = c.id and h.ended_date is null)
        and not exists (select from ads_launches l where l.id = c.launch_id and l.ended_date is null)
      order by turn, c.watch_read_at nulls first limit ${limit}),
    taken as (
      select c.id from ads_campaigns c join waiting on waiting.id = c.id for no key update of c skip locked)
    update ads_campaigns c set watch_read_at = clock_timestamp()
    from taken, ads_accounts a
    where c.id = taken.id and a.workspace_id = c.workspace_id and a.app_id = c.app_id and a.platform_customer_id is not null
    returning c.*, a.platform_customer_id as customer_id`.execute(db);
  return rows;
}

/** Ends the watch, unless another unanswered request has extended it or the status has changed. */
export async function endWatch(db: Db, watched: WatchedCampaign): Promise<void> {
  await db
    .updateTable('ads_campaigns')
    .set({ watched_until: null })
    .where('workspace_id', '=', watched.workspace_id)
    .where('app_id', '=', watched.app_id)
    .where('id', '=', watched.id)
    .where('watched_until', '=', watched.watched_until)
    .where('status', '=', watched.status)
    .execute();
}

/**
 * Lists enabled campaigns whose workspace or account is on billing hold. Skips campaigns that are being paused, and
 * campaigns that are being removed unless the removal has failed before.
 */
export async function listHeld(db: Db, limit: number): Promise<CampaignKey[]> {
  const { rows } = await sql<CampaignKey>`/* service */ select c.workspace_id, c.app_id, c.id
    from ads_campaigns c join workspaces w on w.id = c.workspace_id
      join ads_accounts a on a.workspace_id = c.workspace_id and a.app_id = c.app_id
    where c.status = 'ENABLED' and c.platform_campaign_id <> ''
      and (w.billing_hold or a.status = 'SUSPENDED' or a.billing_status <> 'APPROVED')
      and not exists (select from ads_changes h where h.workspace_id = c.workspace_id and h.campaign_id = c.id
        and (h.kind = 'pause' or (h.kind = 'remove' and h.failures = 0)) and h.ended_date is null)
    limit ${limit}`.execute(db);
  return rows;
}
