// The queries on spending ceilings, and on the budgets that count towards them.
import { type Selectable, sql } from 'kysely';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { takeAdvisoryLock } from '../../../kit/db/database.ts';
import type { Db, Tables } from '../../../tables.ts';

export type CeilingRow = Selectable<Tables['ads_ceilings']>;
export type NewCeiling = Pick<CeilingRow, 'currency_code' | 'app_daily_micros' | 'workspace_daily_micros'>;

export const findCeiling = (db: Db, { workspace_id }: WorkspaceAccess): Promise<CeilingRow | undefined> =>
  db.selectFrom('ads_ceilings').where('workspace_id', '=', workspace_id).selectAll().executeTakeFirst();

export async function saveCeiling(db: Db, { workspace_id }: WorkspaceAccess, ceiling: NewCeiling, now: Date) {
  const saved = { ...ceiling, updated_date: now };
  await db
    .insertInto('ads_ceilings')
    .values({ workspace_id, ...saved })
    .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet(saved))
    .execute();
}

/** Makes the launches and changes that a ceiling binds run one at a time. Taken after the lock of the app's row. */
export const lockBudgets = (db: Db, { workspace_id }: WorkspaceAccess): Promise<void> =>
  takeAdvisoryLock(db, `ads budgets of ${workspace_id}`);

export interface Budgeted {
  readonly app_id: string;
  /** Null if the app's account does not exist yet. */
  readonly currency_code: string | null;
  readonly daily_micros: number;
}

/**
 * The daily budgets of campaigns that spend, or will without anybody being asked: enabled ones, those that wait for
 * tracking or for a hold to end, and those with a resume under way. A budget that is being raised counts as raised. The
 * budget of a campaign that stopped, and a budget before it was lowered, count for another day.
 */
export async function listBudgeted(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  except: string | undefined,
): Promise<Budgeted[]> {
  const { rows } = await sql<Budgeted>`
    select c.app_id, a.currency_code, sum(greatest(
      case when spends then greatest(c.daily_budget_micros, x.micros) else 0 end,
      case when c.spent_until > now() then c.spent_budget_micros else 0 end))::bigint as daily_micros
    from ads_campaigns c
    left join ads_accounts a on a.workspace_id = c.workspace_id and a.app_id = c.app_id
    left join lateral (
      select max((x.content->'row'->>'daily_budget_micros')::bigint) as micros, bool_or(x.kind = 'resume') as is_resumed
      from ads_changes x
      where x.workspace_id = ${workspace_id} and x.app_id = c.app_id and x.campaign_id = c.id and x.ended_date is null
    ) x on true
    cross join lateral (select c.status <> 'REMOVED' and (c.status = 'ENABLED' or coalesce(x.is_resumed, false)
      or cardinality(c.own_reasons) > 0 and not c.own_reasons && '{SERVICE_PAUSED_BY_USER,SERVICE_APP_DELETED,SERVICE_ACCOUNT_CLOSED}'
    ) as spends) as now_or_soon
    where c.workspace_id = ${workspace_id} and c.id is distinct from ${except ?? null}::uuid
      and (spends or c.spent_until > now())
    group by c.app_id, a.currency_code`.execute(db);
  return rows;
}

/** What the campaign may spend a day once its changes have been applied. */
export async function readRaisedBudget(db: Db, { workspace_id, app_id, id, daily_budget_micros }: RaisedKey) {
  const { rows } = await sql<{ micros: number | null }>`
    select max((content->'row'->>'daily_budget_micros')::bigint) as micros from ads_changes
    where workspace_id = ${workspace_id} and app_id = ${app_id} and campaign_id = ${id} and ended_date is null`.execute(
    db,
  );
  return Math.max(daily_budget_micros, rows[0]?.micros ?? 0);
}

type RaisedKey = Pick<Selectable<Tables['ads_campaigns']>, 'workspace_id' | 'app_id' | 'id' | 'daily_budget_micros'>;
