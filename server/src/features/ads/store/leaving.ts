// The queries on campaigns whose app or workspace is about to be deleted.
import { sql } from 'kysely';
import type { Db } from '../../../tables.ts';
import type { CampaignRow } from './rows.ts';

/** An app, or a whole workspace. */
export interface Owner {
  readonly workspace_id: string;
  readonly app_id?: string;
}

/** Lists campaigns that may be spending: enabled ones, and those with an unconfirmed launch or an unfinished resume. */
export function listSpendingCampaigns(db: Db, { workspace_id, app_id }: Owner): Promise<CampaignRow[]> {
  const campaigns = db
    .selectFrom('ads_campaigns as c')
    .where('c.workspace_id', '=', workspace_id)
    .where('c.status', '!=', 'REMOVED')
    .where((is) =>
      is.or([
        is('c.status', '=', 'ENABLED'),
        is.exists(
          is
            .selectFrom('ads_launches as l')
            .where('l.workspace_id', '=', workspace_id)
            .whereRef('l.id', '=', 'c.launch_id')
            .where('l.ended_date', 'is', null)
            .select('l.id'),
        ),
        is.exists(
          is
            .selectFrom('ads_changes as r')
            .where('r.workspace_id', '=', workspace_id)
            .whereRef('r.campaign_id', '=', 'c.id')
            .where('r.kind', '=', 'resume')
            .where('r.ended_date', 'is', null)
            .select('r.id'),
        ),
      ]),
    )
    .selectAll('c')
    .orderBy('c.id');
  return (app_id === undefined ? campaigns : campaigns.where('c.app_id', '=', app_id)).execute();
}

export async function addReasonToPaused(db: Db, { workspace_id, app_id }: Owner, reason: string, now: Date) {
  const paused = db
    .updateTable('ads_campaigns')
    .set({ own_reasons: sql<string[]>`own_reasons || ${reason}::text`, updated_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('status', '=', 'PAUSED')
    .where(sql<boolean>`not ${reason}::text = any(own_reasons)`);
  await (app_id === undefined ? paused : paused.where('app_id', '=', app_id)).execute();
}

/** Launches and resumes lock their app first, so they wait for the deletion. */
export async function lockAppsOfWorkspace(db: Db, { workspace_id }: Owner): Promise<void> {
  await db
    .selectFrom('apps')
    .where('workspace_id', '=', workspace_id)
    .where('deleted_date', 'is', null)
    .orderBy('id')
    .select('id')
    .forNoKeyUpdate()
    .execute();
}

/** Covers all workspaces. Skips campaigns with an unfinished pause or removal. */
export async function listEnabledOfDeletedApps(db: Db, limit: number): Promise<CampaignRow[]> {
  const { rows } = await sql<CampaignRow>`/* service */ select c.* from ads_campaigns c
    join apps a on a.id = c.app_id join workspaces w on w.id = c.workspace_id
    where c.status = 'ENABLED' and (a.deleted_date is not null or w.deleted_date is not null)
      and not exists (select from ads_changes p where p.campaign_id = c.id and p.kind in ('pause', 'remove')
        and p.ended_date is null)
    order by c.id limit ${limit}`.execute(db);
  return rows;
}
