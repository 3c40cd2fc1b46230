// Owns the queries on the journal of campaigns: what was sent to the platform, and what it answered. Rows are only added.
import { type Selectable, sql } from 'kysely';
import { transaction } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { CampaignKey } from '../campaigns/contract.ts';
import { lockCampaign } from './campaigns.ts';

export type JournalRow = Selectable<Tables['ads_journal']>;

export type StepName =
  | 'account'
  | 'images'
  | 'dry_run'
  | 'create'
  | 'find_by_name'
  | 'enable'
  | 'read_status'
  | 'pause'
  | 'resume'
  | 'remove'
  | 'update'
  | 'add_asset'
  | 'adopt';

export interface Step extends Pick<JournalRow, 'outcome' | 'platform_request_id' | 'detail'> {
  readonly name: StepName;
}

/** The row of the campaign is locked, so that two processes do not take the same number. */
export async function appendStep(
  db: Db,
  { workspace_id, app_id, id }: CampaignKey,
  { name, outcome, platform_request_id, detail }: Step,
  now: Date,
): Promise<void> {
  await transaction(db, async (db) => {
    await lockCampaign(db, { workspace_id, app_id, id });
    await sql`insert into ads_journal
      (workspace_id, app_id, campaign_id, number, name, at, outcome, platform_request_id, detail)
      select ${workspace_id}::uuid, ${app_id}::uuid, ${id}::uuid, coalesce(max(number), 0) + 1, ${name}, ${now}::timestamptz,
        ${outcome}, ${platform_request_id}, ${detail}
      from ads_journal where workspace_id = ${workspace_id} and app_id = ${app_id} and campaign_id = ${id}`.execute(db);
  });
}

/** In their order. A campaign that is changed for years has many steps: only the last ones are shown. */
export async function listSteps(
  db: Db,
  { workspace_id, app_id, id }: CampaignKey,
  limit: number,
): Promise<JournalRow[]> {
  const rows = await db
    .selectFrom('ads_journal')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('campaign_id', '=', id)
    .orderBy('number', 'desc')
    .limit(limit)
    .selectAll()
    .execute();
  return rows.toReversed();
}
