// Owns the operators' queries over all workspaces, and the queries of exports and imports.
import { sql } from 'kysely';
import { monthlyCredits, type Plan } from '../../core/auth/plans.ts';
import type { SelfAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { insertUser } from '../../core/identity/users.ts';
import { saveWorkspace, selectAllWorkspaces } from '../../core/identity/workspaces.ts';
import type { Row } from '../../kit/archive.ts';
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

/** Sets plan, credits and rates to this installation's values instead of the archive's. */
export async function resetPlan(db: Db, id: string, plan: Plan): Promise<void> {
  await saveWorkspace(db, id, {
    plan,
    monthly_limit: monthlyCredits[plan],
    rate_multiplier: null,
    storage_quota_bytes: null,
    features: '{}',
    billing_hold: false,
    deleted_date: null,
  });
}

/** Claims the oldest export that is queued, or whose worker's lease has expired. */
export async function claimExport(db: Db, now: Date, until: Date): Promise<ClaimedExport | undefined> {
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
    .where('claimed_until', '=', claimed_until) // no row if another worker has claimed it since
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
const binaryBatchSize = 4; // a file may be 5 MiB

/** Yields a part's rows as JSON in batches, binary columns as base64. Table and column names come from parts.ts only. */
export async function* readPart(db: Db, part: ArchivePart, workspaceId: string): AsyncGenerator<Row[]> {
  const bytes = (part.binary ?? []).map((column) => sql`${sql.lit(column)}, encode(t.${sql.ref(column)}, 'base64')`);
  const row = bytes.length > 0 ? sql`to_jsonb(t) || jsonb_build_object(${sql.join(bytes)})` : sql`to_json(t)`;
  const owned =
    part.owner === 'app_id'
      ? sql`t.app_id in (select a.id from apps a where a.workspace_id = ${workspaceId})`
      : sql`t.${sql.ref(part.owner)} = ${workspaceId}`;
  const size = sql.lit(part.binary ? binaryBatchSize : batchSize);
  await sql`/* service */ declare exported no scroll cursor for
    select ${row} as row from ${sql.table(part.table)} t where ${owned} order by ${sql.raw(part.order)}`.execute(db);
  for (;;) {
    const { rows } = await sql<{ row: Row }>`fetch ${size} from exported`.execute(db);
    if (rows.length === 0) break;
    yield rows.map(({ row }) => omitColumns(row, part.omit));
  }
  await sql`close exported`.execute(db);
}

export async function insertImportedRow(db: Db, part: ArchivePart, row: Row): Promise<void> {
  const columns = Object.keys(row);
  const source = sql`json_populate_record(null::${sql.table(part.table)}, ${JSON.stringify(omitColumns(row, part.binary))}::json)`;
  const list = columns.map((column) =>
    part.binary?.includes(column) ? sql`decode(${row[column]}, 'base64')` : sql`source.${sql.ref(column)}`,
  );
  await sql`insert into ${sql.table(part.table)} (${sql.join(columns.map((column) => sql.ref(column)))})
    select ${sql.join(list)} from ${source} as source`.execute(db);
}

const omitColumns = (row: Row, columns: readonly string[] = []): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)));

/** Lists every user that the workspace's rows refer to. */
export async function listPeople(db: Db, workspaceId: string) {
  const { rows } = await sql<{ id: string; email: string; full_name: string }>`/* service */
    select u.id, u.email, u.full_name from users u where u.id in (
      select user_id from memberships where workspace_id = ${workspaceId}
      union select owner_id from apps where workspace_id = ${workspaceId}
      union select user_id from app_shares where workspace_id = ${workspaceId}
      union select u.id from entity_records r join apps a on a.id = r.app_id join users u on u.id::text = r.created_by_id
        where a.workspace_id = ${workspaceId}
      union select owner_id from folders where workspace_id = ${workspaceId}
      union select user_id from agent_conversations where workspace_id = ${workspaceId}
      union select user_id from agent_memories where workspace_id = ${workspaceId}
      union select created_by_id from webhooks where workspace_id = ${workspaceId}
      union select owner_id from folder_items where workspace_id = ${workspaceId}
      union select user_id from credit_ledger where workspace_id = ${workspaceId}) order by u.email`.execute(db);
  return rows;
}

/** Audit entries that wait to be sealed. Only sealed entries are exported. */
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
 * Returns the id of the user with this e-mail address. Creates them without a password if there is none. Throws if somebody
 * has an account with this address without having proven it: they may not be the person of the archive.
 */
export async function findOrInsertUser(
  db: Db,
  person: { email: string; full_name: string },
  now: Date,
): Promise<string> {
  const known = await db
    .selectFrom('users')
    .leftJoin('passwords', 'passwords.user_id', 'users.id')
    .where('users.email', '=', person.email)
    .select(['users.id', 'users.email_verified_at', 'passwords.hash'])
    .executeTakeFirst();
  if (known === undefined)
    return insertUser(db, { email: person.email, full_name: person.full_name, email_verified: false }, now);
  if (known.email_verified_at === null && known.hash !== null)
    throw new Error(
      `The archive has a member ${person.email}, and the account with this e-mail address is not proven to be theirs. Send them the link that "plinth user reset --user ${person.email}" prints. Once they have set a password with it, repeat the import.`,
    );
  return known.id;
}

export const isSlugTaken = async (db: Db, slug: string): Promise<boolean> => {
  const { rows } = await sql`/* service */ select 1 from apps where slug = ${slug}`.execute(db);
  return rows.length > 0;
};
