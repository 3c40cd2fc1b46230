// Owns the queries on the campaigns of an app or a workspace that is to be deleted.
import { sql } from 'kysely';
import type { Db } from '../../../tables.ts';
import type { CampaignRow } from '../campaigns/contract.ts';

/** An app, or a whole workspace. */
export interface Owner {
  readonly workspace_id: string;
  readonly app_id?: string;
}

/** Those that are or may be enabled: by their status, because their launch is not confirmed, or because a resume has not ended. */
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

/** Whoever launches or resumes a campaign locks its app first, and so waits for the deletion. */
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

/** Without a pause that has not ended, of all workspaces. */
export async function listEnabledOfDeletedApps(db: Db, limit: number): Promise<CampaignRow[]> {
  const { rows } = await sql<CampaignRow>`/* service */ select c.* from ads_campaigns c
    join apps a on a.id = c.app_id join workspaces w on w.id = c.workspace_id
    where c.status = 'ENABLED' and (a.deleted_date is not null or w.deleted_date is not null)
      and not exists (select from ads_changes p where p.campaign_id = c.id and p.kind in ('pause', 'remove')
        and p.ended_date is null)
    order by c.id limit ${limit}`.execute(db);
  return rows;
}
