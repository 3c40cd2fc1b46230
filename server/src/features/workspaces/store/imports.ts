// The queries for imports.
import { sql } from 'kysely';
import { monthlyCredits, type Plan } from '../../../core/auth/plans.ts';
import { saveWorkspace } from '../../../core/identity/workspaces.ts';
import type { Row } from '../../../kit/archive/read-archive.ts';
import type { Db } from '../../../tables.ts';

/** Replaces the archive's plan, credits and rates with this installation's values. */
export async function resetPlan(db: Db, id: string, plan: Plan): Promise<void> {
  await saveWorkspace(db, id, {
    plan,
    monthly_limit: monthlyCredits[plan],
    rate_multiplier: null,
    storage_quota_bytes: null,
    features: '{}',
    billing_hold: false,
    billing_hold_reason: null,
  });
}

/** Inserts rows whose columns have been checked. Table and column names come only from the descriptions. */
export async function insertImportedRows(
  db: Db,
  table: string,
  columns: readonly string[],
  rows: readonly Row[],
): Promise<void> {
  const list = sql.join(columns.map((column) => sql.ref(column)));
  await sql`insert into ${sql.table(table)} (${list})
    select ${list} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::json)`.execute(db);
}

/**
 * Lists the users with these e-mail addresses. `is_unproven` means that the account has a password but its address is
 * not verified.
 */
export const listUsersByEmail = (db: Db, emails: readonly string[]) =>
  db
    .selectFrom('users')
    .leftJoin('passwords', 'passwords.user_id', 'users.id')
    .where('users.email', 'in', emails)
    .select(['users.id', 'users.email'])
    .select(sql<boolean>`users.email_verified_at is null and passwords.hash is not null`.as('is_unproven'))
    .execute();

/** Removes accounts that this transaction has created and that nothing refers to. */
export async function removeNewUsers(db: Db, ids: readonly string[]): Promise<void> {
  await sql`/* service */ delete from users where id = any(${ids}::uuid[])`.execute(db);
}

/** Conversations may have continued between the reading of their rows and that of their messages. */
export async function continueConversations(db: Db, workspaceId: string): Promise<void> {
  await sql`update agent_conversations c set last_position = m.last_position
    from (select conversation_id, max(position) as last_position from agent_messages
      where workspace_id = ${workspaceId} group by 1) m
    where c.workspace_id = ${workspaceId} and c.id = m.conversation_id and c.last_position < m.last_position`.execute(
    db,
  );
}

/** Returns the given slugs that another app uses or has recently released. */
export async function listTakenSlugs(
  db: Db,
  apps: readonly { readonly id: string; readonly slug: string }[],
): Promise<Set<string>> {
  const { rows } = await sql<{ slug: string }>`/* service */ select slug from unnest(
      ${apps.map(({ id }) => id)}::uuid[], ${apps.map(({ slug }) => slug)}::text[]) as imported (id, slug)
    where exists (select from apps a where a.slug = imported.slug)
      or exists (select from released_slugs r where r.slug = imported.slug and r.app_id <> imported.id)`.execute(db);
  return new Set(rows.map(({ slug }) => slug));
}

/** Lists the months for which an imported workspace has a credit pool. */
export const listPoolMonths = async (db: Db, workspace_id: string): Promise<Date[]> => {
  const pools = db.selectFrom('credit_pools').where('workspace_id', '=', workspace_id).select('period_start');
  return (await pools.execute()).map((pool) => pool.period_start);
};

/**
 * Describes inconsistencies that no operation could have caused, although each row is valid on its own. The list is
 * empty if there are none.
 */
export async function listInconsistencies(db: Db, workspaceId: string, month: Date): Promise<string[]> {
  const { rows } = await sql<{ what: string }>`with recursive levels as (
      select id, 1 as level from folders where workspace_id = ${workspaceId} and parent_folder_id is null
      union all select f.id, l.level + 1 from folders f join levels l on l.id = f.parent_folder_id
        where f.workspace_id = ${workspaceId} and l.level < 20)
    select 'the workspace does not have exactly one owner' as what
      where (select count(*) from memberships where workspace_id = ${workspaceId} and role = 'owner') <> 1
    union all select 'folders form a cycle or are nested deeper than 20 levels'
      where (select count(*) from folders where workspace_id = ${workspaceId}) <> (select count(*) from levels)
    union all select 'a folder is in a folder of another scope, type or owner' where exists (
      select from folders f join folders p on p.workspace_id = f.workspace_id and p.id = f.parent_folder_id
      where f.workspace_id = ${workspaceId}
        and (f.scope, f.app_type, f.owner_id) is distinct from (p.scope, p.app_type, p.owner_id))
    union all select 'an app is in a folder of another type or owner' where exists (
      select from folder_items i join folders f on f.workspace_id = i.workspace_id and f.id = i.folder_id
        join apps a on a.workspace_id = i.workspace_id and a.id = i.app_id
      where i.workspace_id = ${workspaceId} and (i.owner_id is distinct from f.owner_id
        or (a.app_type = 'user_agent') <> (f.app_type = 'user_agent')))
    union all select 'an app that is not an agent has instructions, conversations, memories or webhooks of an agent'
      where exists (select from apps a where a.workspace_id = ${workspaceId} and a.app_type <> 'user_agent' and (
        exists (select from agents x where x.workspace_id = ${workspaceId} and x.app_id = a.id)
        or exists (select from agent_conversations x where x.workspace_id = ${workspaceId} and x.app_id = a.id)
        or exists (select from agent_memories x where x.workspace_id = ${workspaceId} and x.app_id = a.id)
        or exists (select from webhooks x
          where x.workspace_id = ${workspaceId} and x.app_id = a.id and x.scope = 'agent')))
    union all select 'a webhook has no sequence number' where exists (
      select from webhooks w where w.workspace_id = ${workspaceId} and not exists (
        select from webhook_sequences s where s.workspace_id = ${workspaceId} and s.webhook_id = w.id))
    union all select 'the history of an app is newer than the app' where exists (
      select from apps a where a.workspace_id = ${workspaceId} and (
        exists (select from app_revisions r where r.app_id = a.id and r.revision > a.revision)
        or exists (select from app_past_versions v where v.app_id = a.id and v.until_revision > a.revision)
        or exists (select from app_files f where f.app_id = a.id and f.since_revision > a.revision)))
    union all select 'the ledger contains credits for a month that has no pool' where exists (
      select from credit_ledger l where l.workspace_id = ${workspaceId} and not exists (
        select from credit_pools p where p.workspace_id = ${workspaceId} and p.period_start = l.period_start))
    union all select 'it contains credits for a future month' where exists (
      select from credit_pools p where p.workspace_id = ${workspaceId} and p.period_start > ${month})`.execute(db);
  return rows.map(({ what }) => what);
}
