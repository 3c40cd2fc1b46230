// The queries on the campaign journal, an append-only table of the requests to the platform and their outcomes.
import { type Selectable, sql } from 'kysely';
import { transaction } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';
import { lockCampaign } from './campaigns.ts';
import type { CampaignKey } from './rows.ts';

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

/** The campaign's row must be locked, so two processes can't use the same number. */
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

/** Lists the last `limit` steps in order. A campaign may accumulate many steps over the years. */
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
