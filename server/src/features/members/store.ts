// Owns the queries over the members' directory: reading a page, and keeping the copy of what was spent and seen.
import { CompiledQuery, sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import type { DirectoryRow } from './contract.ts';
import type { CursorPosition } from './cursor.ts';
import type { PagePosition, PageStatement } from './page.ts';

export interface MemberPage {
  /** How many rows the search terms hit, at most one more than are fetched. */
  readonly hits: number;
  readonly total: number;
  readonly stale: boolean;
  /** The oldest of what waits to be folded into the copy. */
  readonly noted_at: Date | null;
  readonly monthly_limit: number | null;
  readonly default_member_credit_limit: number | null;
  readonly members: (DirectoryRow & PagePosition)[];
}

type PageRow = Omit<MemberPage, 'members'> &
  Omit<DirectoryRow, 'id'> &
  Omit<PagePosition, 'id' | 'key'> & { id: string | null; key: unknown };

/** Every connection keeps them all. */
const maxPreparedPages = 200;
const preparedPages = new Map<string, (db: Db, ...values: readonly unknown[]) => Promise<PageRow[]>>();

export async function readPage(db: Db, { text, values, isFrequent: named }: PageStatement): Promise<MemberPage> {
  if (named && preparedPages.size < maxPreparedPages && !preparedPages.has(text))
    preparedPages.set(text, prepared<PageRow, readonly unknown[]>(`members_${preparedPages.size}`, text));
  const read = preparedPages.get(text);
  const rows = read
    ? await read(db, ...values)
    : (await db.executeQuery<PageRow>(CompiledQuery.raw(text, [...values]))).rows;
  const { hits, total, stale, noted_at, monthly_limit, default_member_credit_limit } = rows[0] as PageRow;
  return {
    hits,
    total,
    stale,
    // What waits since before time began came with a change of the members.
    noted_at: (noted_at as unknown) === Number.NEGATIVE_INFINITY ? new Date(0) : noted_at,
    monthly_limit,
    default_member_credit_limit,
    members: rows.filter(isMember).map((row) => ({ ...row, key: presentSortKey(row.key) })),
  };
}

/** A workspace in which nobody matches is one row without a member. */
const isMember = (row: PageRow): row is PageRow & { id: string } => row.id !== null;

/** A time as it fits into a cursor. */
const presentSortKey = (key: unknown): PagePosition['key'] =>
  key instanceof Date ? key.toISOString() : (key as PagePosition['key']);

/**
 * The whole position of a cursor whose texts were cut, while its row is still where it was; else the cut one, which is a
 * little before.
 */
export async function findFullPosition(
  db: Db,
  access: WorkspaceAccess,
  key: string | undefined,
  cut: CursorPosition,
): Promise<PagePosition> {
  const { rows } = await sql<Omit<PagePosition, 'key'> & { key: unknown }>`
    select ${key === undefined ? sql`0` : sql.ref(key)} as key, place, email, id
    from member_directory where workspace_id = ${access.workspace_id} and id = ${cut.id}`.execute(db);
  const row = rows[0] && { ...rows[0], key: presentSortKey(rows[0].key) };
  const begins = (whole: PagePosition['key'], start: PagePosition['key']) =>
    typeof whole === 'string' && typeof start === 'string' ? whole.startsWith(start) : whole === start;
  const isThere = row?.place === cut.place && begins(row.email, cut.email) && begins(row.key, cut.key);
  return isThere ? row : cut;
}

/** One process folds a workspace at a time; false while another does. */
export async function tryLockDirectory(db: Db, workspace_id: string): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`members of ${workspace_id}`}, 0)) as held`.execute(db);
  return rows[0]?.held ?? false;
}

export async function listWorkspacesWithActivity(db: Db, limit: number): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string }>`/* service */
    select distinct workspace_id from (select workspace_id from member_activity limit ${limit}) noted`.execute(db);
  return rows.map((row) => row.workspace_id);
}

/** Forgets what is noted of nobody: marks that the members changed, and people who have left. */
export async function removeOrphanActivity(db: Db, workspace_id: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from member_activity noted where noted.workspace_id = ${workspace_id} and not exists (
      select 1 from member_directory d where d.workspace_id = ${workspace_id} and d.id = noted.user_id)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

export async function listMembersWithActivity(db: Db, workspace_id: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ user_id: string }>`
    select distinct user_id from (
      select user_id from member_activity where workspace_id = ${workspace_id} order by noted_at limit ${limit}) noted`.execute(
    db,
  );
  return rows.map((row) => row.user_id);
}

/** Holds those of these members whom nobody else is changing: folding waits for nobody, so it stands in nobody's way. */
export async function lockUnlockedMembers(db: Db, workspace_id: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from member_directory where workspace_id = ${workspace_id} and id = any (${ids}::uuid[])
    for update skip locked`.execute(db);
  return rows.map((row) => row.id);
}

/** Adds what is noted of these members to their rows. Credits of months before `since` are history. */
export async function applyActivity(
  db: Db,
  workspace_id: string,
  ids: readonly string[],
  since: number,
): Promise<void> {
  await sql`
    with taken as (
      delete from member_activity where workspace_id = ${workspace_id} and user_id = any (${ids}::uuid[])
      returning user_id, case when month >= ${since} then month end as month, credits, active_at, seen_at),
    latest as (
      select user_id, max(active_at) as active_at, max(seen_at) as seen_at,
        max(month) filter (where month % 2 = 0) as even_month, max(month) filter (where month % 2 = 1) as odd_month
      from taken group by user_id),
    sums as (
      select latest.*,
        (select coalesce(sum(credits), 0) from taken where user_id = latest.user_id and month = even_month) as even,
        (select coalesce(sum(credits), 0) from taken where user_id = latest.user_id and month = odd_month) as odd
      from latest)
    update member_directory d set
      even_credits = case when s.even_month > d.even_month then s.even
        when s.even_month = d.even_month then d.even_credits + s.even else d.even_credits end,
      even_month = greatest(d.even_month, s.even_month),
      odd_credits = case when s.odd_month > d.odd_month then s.odd
        when s.odd_month = d.odd_month then d.odd_credits + s.odd else d.odd_credits end,
      odd_month = greatest(d.odd_month, s.odd_month),
      last_active = greatest(d.last_active, date_trunc('milliseconds', s.active_at)),
      last_seen = greatest(d.last_seen, s.seen_at)
    from sums s where d.workspace_id = ${workspace_id} and d.id = s.user_id`.execute(db);
}

/** Clears what a column still holds of months before this one, some rows at a time; gives how many. */
export async function clearCreditsBefore(
  db: Db,
  column: 'even' | 'odd',
  month: number,
  limit: number,
): Promise<number> {
  const credits = sql.ref(`${column}_credits`);
  const held = sql.ref(`${column}_month`);
  const { numAffectedRows } = await sql`/* service */
    update member_directory d set ${credits} = 0 from (
      select workspace_id, id from member_directory where ${credits} <> 0 and ${held} < ${month}
      limit ${limit} for update skip locked) past
    where d.workspace_id = past.workspace_id and d.id = past.id`.execute(db);
  return Number(numAffectedRows ?? 0);
}

export async function listWorkspacesToCompact(db: Db, limit: number): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string }>`/* service */
    select workspace_id from member_tallies group by workspace_id, place having count(*) > 1 limit ${limit}`.execute(
    db,
  );
  return rows.map((row) => row.workspace_id);
}

/** In one statement: a reader sees the rows before or after, never both or neither. */
export async function compactTally(db: Db, workspace_id: string): Promise<void> {
  await sql`
    with summed as (delete from member_tallies where workspace_id = ${workspace_id} returning place, members)
    insert into member_tallies select ${workspace_id}, place, sum(members) from summed
    group by place having sum(members) <> 0`.execute(db);
}

/** One person of the workspace: as a member, or while they are only invited. */
export async function getDirectoryRow(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  email: string,
  { column, month }: { column: 'even' | 'odd'; month: number },
): Promise<DirectoryRow & { default_limit: number | null }> {
  const { rows } = await sql<DirectoryRow & { default_limit: number | null }>`
    select d.id, coalesce(u.id, case when d.joined then d.id end) as user_id, d.joined, d.role, d.access_state,
      d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at, d.apps_owned, d.apps_shared, d.agents_owned,
      d.agents_shared, case when d.${sql.raw(`${column}_month`)} = ${month} then d.${sql.raw(`${column}_credits`)} else 0 end
        as credits_used, d.last_active, d.last_seen, w.default_member_credit_limit as default_limit
    from member_directory d join workspaces w on w.id = ${workspace_id} left join users u on u.email = d.email
    where d.workspace_id = ${workspace_id} and d.id in (
      select id from users where email = ${email}
      union all
      select id from invitations where workspace_id = ${workspace_id} and email = ${email} and accepted_at is null)
    order by d.joined desc limit 1`.execute(db);
  return rows[0] as DirectoryRow & { default_limit: number | null };
}
