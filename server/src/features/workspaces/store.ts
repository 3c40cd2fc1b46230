// The operators' queries on all workspaces, and the queries for exports and imports.
import { type RawBuilder, sql } from 'kysely';
import { monthlyCredits, type Plan } from '../../core/auth/plans.ts';
import type { SelfAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { saveWorkspace, selectAllWorkspaces } from '../../core/identity/workspaces.ts';
import type { ArchiveTable } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { ArchivePart } from './parts.ts';

export function listOperatorWorkspaces(db: Db, access: SelfAccess, limit: number, after: Position | undefined) {
  let found = selectAllWorkspaces(db, access)
    .orderBy('workspaces.id', 'desc')
    .limit(limit + 1);
  if (after) found = found.where(sql<boolean>`workspaces.id < ${after[0]}::uuid`);
  return found.execute();
}

export const findOperatorWorkspace = (db: Db, access: SelfAccess, id: string) =>
  selectAllWorkspaces(db, access).where('workspaces.id', '=', idOrNull(id)).executeTakeFirst();

export const getOperatorWorkspace = (db: Db, access: SelfAccess, id: string) =>
  selectAllWorkspaces(db, access).where('workspaces.id', '=', id).executeTakeFirstOrThrow();

/** Locks the workspace until the transaction ends, so it can be compared with a change. */
export async function lockOperatorWorkspace(db: Db, access: SelfAccess, id: string) {
  await sql`/* operator */ select 1 from workspaces where id = ${id} for no key update`.execute(db);
  return getOperatorWorkspace(db, access, id);
}

// ---- exports

export async function insertExport(db: Db, access: WorkspaceAccess, id: string, now: Date): Promise<void> {
  await db
    .insertInto('workspace_exports')
    .values({ workspace_id: access.workspace_id, id, state: 'queued', created_date: now })
    .execute();
}

export const findExport = (db: Db, access: WorkspaceAccess, id: string | null) =>
  db
    .selectFrom('workspace_exports')
    .selectAll()
    .where('workspace_id', '=', access.workspace_id)
    .where('id', '=', id)
    .executeTakeFirst();

export interface ExportKey {
  readonly workspace_id: string;
  readonly id: string;
}

export interface ClaimedExport extends ExportKey {
  readonly attempts: number;
  readonly claimed_until: Date;
}

export async function countLiveExports(db: Db, access: WorkspaceAccess, now: Date): Promise<number> {
  const { count } = await db
    .selectFrom('workspace_exports')
    .where('workspace_id', '=', access.workspace_id)
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))
    .where('state', '<>', 'failed')
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

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

/** SQL that returns 0 if an export can be claimed. */
export const exportDueInMs =
  "select 0 from workspace_exports where state = 'queued' or (state = 'running' and claimed_until < $1) limit 1";

/** Claims the oldest export that is queued, or whose worker's lease has expired. */
export async function claimExport(db: Db, until: Date, now: Date): Promise<ClaimedExport | undefined> {
  const { rows } = await sql<ClaimedExport>`/* service */ update workspace_exports
    set state = 'running', claimed_until = ${until}, attempts = attempts + 1
    where (workspace_id, id) in (
      select workspace_id, id from workspace_exports
      where state = 'queued' or (state = 'running' and claimed_until < ${now})
      order by created_date limit 1 for update skip locked)
    returning workspace_id, id, attempts, claimed_until`.execute(db);
  return rows[0];
}

export async function finishExport(
  db: Db,
  { workspace_id, id, claimed_until }: ClaimedExport,
  done: { state: 'ready' | 'failed'; counts: object; expires_at: Date; size_bytes: number },
): Promise<void> {
  await db
    .updateTable('workspace_exports')
    .set({ ...done, counts: JSON.stringify(done.counts), claimed_until: null })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('claimed_until', '=', claimed_until) // no row if another worker has claimed it in the meantime
    .execute();
}

export async function listExpiredExports(db: Db, now: Date): Promise<ExportKey[]> {
  const { rows } =
    await sql<ExportKey>`/* service */ select workspace_id, id from workspace_exports where expires_at <= ${now}`.execute(
      db,
    );
  return rows;
}

export async function removeExport(db: Db, { workspace_id, id }: ExportKey): Promise<void> {
  await db.deleteFrom('workspace_exports').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

const batchSize = 500;
const maxLineInBatch = 32 * 1024; // keeps a batch within 16 MiB; a larger row is read alone

/**
 * Yields a part's rows in batches. Each row is one line of JSON with the described columns. Binary values are written
 * as base64.
 */
export async function* readPart(
  db: Db,
  { table, owner, order, deleting }: ArchivePart,
  { columns, binary = [] }: ArchiveTable,
  workspaceId: string,
): AsyncGenerator<string[]> {
  const selected = Object.keys(columns).map((column) =>
    binary.includes(column)
      ? sql`replace(encode(t.${sql.ref(column)}, 'base64'), chr(10), '') as ${sql.ref(column)}`
      : sql`t.${sql.ref(column)}`,
  );
  const line = sql`(select to_json(r) from (select ${sql.join(selected)}) r)::text`;
  const from = sql`${sql.table(table)} t where ${
    owner === 'app_id'
      ? sql`t.app_id in (select a.id from apps a where a.workspace_id = ${workspaceId})`
      : sql`t.${sql.ref(owner)} = ${workspaceId}`
  }${deleting === undefined ? sql`` : sql` and t.${sql.ref(deleting)} is null`}`;
  // `offset 0` prevents PostgreSQL from computing the line twice.
  const rows = sql<{ line: string | null; place: string }>`
    select case when octet_length(line) <= ${sql.lit(maxLineInBatch)} then line end as line, place
    from (select ${line} as line, t.ctid::text as place from ${from} order by ${sql.raw(order)} offset 0) lines`;
  const readLine = async (place: string) => {
    const found = await sql<{ line: string }>`/* service */ select ${line} as line from ${from}
      and t.ctid = ${place}::tid`.execute(db);
    return found.rows[0]?.line ?? '';
  };
  for await (const batch of readInBatches(db, rows)) {
    let small: string[] = [];
    for (const { line, place } of batch) {
      if (line !== null) small.push(toOneLine(line));
      else {
        yield [...small, toOneLine(await readLine(place))];
        small = [];
      }
    }
    yield small;
  }
}

/** Replaces line breaks in columns of type `json`. Line breaks within strings are already escaped. */
const toOneLine = (json: string): string => json.replaceAll('\n', ' ');

async function* readInBatches<Row>(db: Db, query: RawBuilder<Row>): AsyncGenerator<Row[]> {
  await sql`/* service */ declare exported no scroll cursor for ${query}`.execute(db);
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(batchSize)} from exported`.execute(db);
    if (rows.length === 0) break;
    yield rows;
  }
  await sql`close exported`.execute(db);
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

/** Yields every user that the workspace's rows refer to, each as one line of JSON. */
export async function* readPeople(db: Db, workspaceId: string): AsyncGenerator<string[]> {
  const people = sql<{ line: string }>`
    select to_json(p)::text as line from (select u.id, u.email, u.full_name from users u where u.id in (
      select user_id from memberships where workspace_id = ${workspaceId}
      union select owner_id from apps where workspace_id = ${workspaceId}
      union select user_id from app_shares where workspace_id = ${workspaceId}
      union select u.id from entity_records r join apps a on a.id = r.app_id join users u on u.id::text = r.created_by_id
        where a.workspace_id = ${workspaceId}
      union select owner_id from folders where workspace_id = ${workspaceId}
      union select user_id from agent_conversations where workspace_id = ${workspaceId}
      union select user_id from agent_memories where workspace_id = ${workspaceId}
      union select created_by_id from webhooks where workspace_id = ${workspaceId}
      union select created_by from workflows where workspace_id = ${workspaceId}
      union select created_by from workflow_versions where workspace_id = ${workspaceId}
      union select owner_id from folder_items where workspace_id = ${workspaceId}
      union select user_id from credit_ledger where workspace_id = ${workspaceId}) order by u.email) p`;
  for await (const rows of readInBatches(db, people)) yield rows.map(({ line }) => line);
}

/** Counts the audit entries that are waiting to be sealed. Only sealed entries are exported. */
export async function countUnsealed(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`select count(*)::int as count from audit_pending where workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.count ?? 0;
}

export async function listSecretNames(db: Db, workspaceId: string) {
  const { rows } = await sql<{ app_id: string; name: string }>`/* service */
    select s.app_id, s.name from app_secrets s join apps a on a.id = s.app_id where a.workspace_id = ${workspaceId} order by 1, 2`.execute(
    db,
  );
  return rows;
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
    union all select 'a conversation ends before its last message' where exists (
      select from agent_conversations c where c.workspace_id = ${workspaceId} and c.last_position < (
        select max(m.position) from agent_messages m
        where m.workspace_id = ${workspaceId} and m.conversation_id = c.id))
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
