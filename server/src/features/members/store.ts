// The queries on the member directory: reading a page or one person, applying recent activity, and compacting
// counts.
import { CompiledQuery, sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import type { DirectoryRow } from './contract.ts';
import type { CursorPosition } from './cursor.ts';
import type { PagePosition, PageStatement } from './page.ts';

export interface MemberPage {
  /** How many rows the search terms found, at most `maxIndexHits` + 1. */
  readonly hits: number;
  readonly total: number;
  /** Whether the sort by credits still reflects an earlier month. */
  readonly is_stale: boolean;
  /** When the oldest activity occurred that is not yet in the directory, or null if there is none. */
  readonly oldest_activity_at: Date | null;
  readonly monthly_limit: number | null;
  readonly default_member_credit_limit: number | null;
  readonly members: (DirectoryRow & StoredPosition)[];
}

/** A position as returned by pg. Its key may be a time. */
type StoredPosition = Omit<PagePosition, 'key'> & { readonly key: PagePosition['key'] | Date };

type PageSummary = Omit<MemberPage, 'members' | 'oldest_activity_at'> & { oldest_activity_at: string | null };

/** Only the first row has a summary. */
type PageRow = { summary: PageSummary | null } & Omit<DirectoryRow & StoredPosition, 'id'> & { id: string | null };

/** Each connection keeps every prepared statement, so the number of statements is limited. */
const maxPreparedPages = 200;
const preparedPages = new Map<string, (db: Db, ...values: readonly unknown[]) => Promise<PageRow[]>>();

export async function readPage(db: Db, { text, values, isFrequent }: PageStatement): Promise<MemberPage> {
  if (isFrequent && preparedPages.size < maxPreparedPages && !preparedPages.has(text))
    preparedPages.set(text, prepared<PageRow, readonly unknown[]>(`list members ${preparedPages.size}`, text));
  const read = preparedPages.get(text);
  const rows = read
    ? await read(db, ...values)
    : (await db.executeQuery<PageRow>(CompiledQuery.raw(text, [...values]))).rows;
  const summary = rows[0]?.summary;
  if (summary == null) throw new Error('the workspace of a page of members does not exist');
  return {
    ...summary,
    oldest_activity_at: parseActivityTime(summary.oldest_activity_at),
    members: rows.filter(isMember),
  };
}

/** Changing members inserts a row with the time -infinity, which triggers an immediate refresh. */
function parseActivityTime(text: string | null): Date | null {
  if (text === null) return null;
  return text === '-infinity' ? new Date(0) : new Date(text);
}

/** If no member matches, the statement returns one row without a member. */
const isMember = (row: PageRow): row is PageRow & { id: string } => row.id !== null;

/** A member's position in the list sorted by this column. */
export const positionOf = (member: MemberPage['members'][number], key: string | undefined): PagePosition =>
  toPosition(key === 'last_active' ? { ...member, key: member.last_active } : member);

/** Cursors contain times as text. */
const toPosition = ({ key, place, email, id }: StoredPosition): PagePosition => ({
  key: key instanceof Date ? key.toISOString() : key,
  place,
  email,
  id,
});

/**
 * Returns a truncated cursor's full position, read from its row. If the row has moved in the meantime, returns the
 * truncated position, which sorts slightly before the full one.
 */
export async function findFullPosition(
  db: Db,
  access: WorkspaceAccess,
  key: string | undefined,
  truncated: CursorPosition,
): Promise<PagePosition> {
  const { rows } = await sql<StoredPosition>`
    select ${key === undefined ? sql`0` : sql.ref(key)} as key, place, email, id
    from member_directory where workspace_id = ${access.workspace_id} and id = ${truncated.id}`.execute(db);
  const row = rows[0] && toPosition(rows[0]);
  const startsWith = (full: PagePosition['key'], start: PagePosition['key']) =>
    typeof full === 'string' && typeof start === 'string' ? full.startsWith(start) : full === start;
  const isSameRow =
    row?.place === truncated.place && startsWith(row.email, truncated.email) && startsWith(row.key, truncated.key);
  return isSameRow ? row : truncated;
}

/**
 * Ensures that only one process at a time refreshes a workspace's directory. Returns false if another process is
 * refreshing it.
 */
export async function tryLockDirectory(db: Db, workspace_id: string): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`members of ${workspace_id}`}, 0)) as locked`.execute(db);
  return rows[0]?.locked ?? false;
}

/** Polling query: returns a row if activity is waiting to be applied. */
export const activityDueInMs = 'select 0 from member_activity order by workspace_id limit 1';

export async function listWorkspacesWithActivity(db: Db, limit: number): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string }>`/* service */
    select distinct workspace_id from (select workspace_id from member_activity limit ${limit}) activity`.execute(db);
  return rows.map((row) => row.workspace_id);
}

/** Removes activity that belongs to no current member, including the rows that mark changed members. */
export async function removeOrphanActivity(db: Db, workspace_id: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from member_activity activity where activity.workspace_id = ${workspace_id} and not exists (
      select 1 from member_directory d where d.workspace_id = ${workspace_id} and d.id = activity.user_id)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

export async function listMembersWithActivity(db: Db, workspace_id: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ user_id: string }>`
    select distinct user_id from (
      select user_id from member_activity where workspace_id = ${workspace_id} order by noted_at limit ${limit}) activity`.execute(
    db,
  );
  return rows.map((row) => row.user_id);
}

/**
 * Locks these members' rows, except those that another transaction has locked, because the refresh must not wait or
 * deadlock.
 */
export async function lockUnlockedMembers(db: Db, workspace_id: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from member_directory where workspace_id = ${workspace_id} and id = any (${ids}::uuid[])
    for update skip locked`.execute(db);
  return rows.map((row) => row.id);
}

/** Applies these members' activity to their rows and deletes it. Credits from months before `since` are dropped. */
export async function applyActivity(
  db: Db,
  workspace_id: string,
  ids: readonly string[],
  since: number,
): Promise<void> {
  await sql`
    with activity as (
      delete from member_activity where workspace_id = ${workspace_id} and user_id = any (${ids}::uuid[])
      returning user_id, case when month >= ${since} then month end as month, credits, active_at, seen_at),
    latest as (
      select user_id, max(active_at) as active_at, max(seen_at) as seen_at,
        max(month) filter (where month % 2 = 0) as even_month, max(month) filter (where month % 2 = 1) as odd_month
      from activity group by user_id),
    sums as (
      select latest.*,
        (select coalesce(sum(credits), 0) from activity where user_id = latest.user_id and month = even_month) as even,
        (select coalesce(sum(credits), 0) from activity where user_id = latest.user_id and month = odd_month) as odd
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

/** Sets credits from earlier months to 0 in one pair of columns. Returns the number of changed rows. */
export async function clearCreditsBefore(
  db: Db,
  parity: 'even' | 'odd',
  month: number,
  limit: number,
): Promise<number> {
  const credits = sql.ref(`${parity}_credits`);
  const creditsMonth = sql.ref(`${parity}_month`);
  const { numAffectedRows } = await sql`/* service */
    update member_directory d set ${credits} = 0 from (
      select workspace_id, id from member_directory where ${credits} <> 0 and ${creditsMonth} < ${month}
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

/** A single statement, so readers see the rows from either before or after it, never both or neither. */
export async function compactTally(db: Db, workspace_id: string): Promise<void> {
  await sql`
    with removed as (delete from member_tallies where workspace_id = ${workspace_id} returning place, members)
    insert into member_tallies select ${workspace_id}, place, sum(members) from removed
    group by place having sum(members) <> 0`.execute(db);
}

/** Selects one person in the workspace, as a member or, if they have not joined, as an invitation. */
export function selectDirectoryRow(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  email: string,
  { parity, month }: { parity: 'even' | 'odd'; month: number },
): CompiledQuery<DirectoryRow & { default_limit: number | null }> {
  return sql<DirectoryRow & { default_limit: number | null }>`
    select d.id, d.joined, d.role, d.access_state, d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at,
      d.apps_owned, d.apps_shared, d.agents_owned, d.agents_shared,
      case when d.${sql.raw(`${parity}_month`)} = ${month} then d.${sql.raw(`${parity}_credits`)} else 0 end
        as credits_used, d.last_active, d.last_seen, w.default_member_credit_limit as default_limit
    from member_directory d join workspaces w on w.id = ${workspace_id}
    where d.workspace_id = ${workspace_id} and d.id in (
      select id from users where email = ${email}
      union all
      select id from invitations where workspace_id = ${workspace_id} and email = ${email} and accepted_at is null)
    order by d.joined desc limit 1`.compile(db);
}
