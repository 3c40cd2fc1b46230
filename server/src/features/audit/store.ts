// The queries on the audit log: pending entries, sealed entries, and each chain's start and end.
import { type RawBuilder, sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { type ChainPosition, type EntryContent, firstPrevHash, type SealedEntry } from './chain.ts';
import type { AuditQuery, AuditRow } from './contract.ts';

// ---- sealing

/** Polling query: returns a row if there are pending entries. */
export const sealingDueInMs = 'select 0 from audit_pending limit 1';

/**
 * Lists the workspaces with pending entries. Null stands for the installation's own chain. The query jumps from one
 * workspace to the next in the index, so a chain with many entries does not slow it down.
 */
export async function listChainsToSeal(db: Db): Promise<(string | null)[]> {
  const { rows } = await sql<{ workspace_id: string | null }>`/* service */ with recursive chains as (
      (select workspace_id from audit_pending where workspace_id is not null order by workspace_id limit 1)
      union all
      select (select p.workspace_id from audit_pending p where p.workspace_id > c.workspace_id order by p.workspace_id limit 1)
      from chains c where c.workspace_id is not null)
    select workspace_id from chains where workspace_id is not null
    union all select null where exists (select from audit_pending where workspace_id is null)`.execute(db);
  return rows.map((row) => row.workspace_id);
}

/**
 * Locks a chain until the transaction ends and returns its last position, or undefined if another worker holds the
 * lock.
 */
export async function lockChain(db: Db, workspace_id: string | null): Promise<ChainPosition | undefined> {
  const { rows } = await sql<ChainPosition>`
    /* service */ select last_sequence as sequence, last_hash as hash from audit_chains
    where ${whereChain(workspace_id)} for update skip locked`.execute(db);
  return rows[0];
}

export async function ensureChain(db: Db, workspace_id: string | null): Promise<void> {
  await db
    .insertInto('audit_chains')
    .values({
      chain_id: newId(),
      workspace_id,
      last_sequence: 0,
      last_hash: firstPrevHash,
      first_sequence: 1,
      first_prev_hash: firstPrevHash,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Deletes a chain's oldest pending entries and returns them in order. */
export async function removePending(db: Db, workspace_id: string | null, limit: number): Promise<EntryContent[]> {
  const { rows } = await sql<{ id: string; entry: EntryContent }>`
    /* service */ delete from audit_pending where ${whereChain(workspace_id)} and id in (
      select id from audit_pending where ${whereChain(workspace_id)} order by id limit ${limit}
    ) returning id, entry`.execute(db);
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map((row) => row.entry);
}

export async function insertSealed(
  db: Db,
  workspace_id: string | null,
  entries: readonly SealedEntry[],
): Promise<void> {
  const last = entries.at(-1);
  if (last === undefined) return;
  const column = (pick: (sealed: SealedEntry) => unknown) => entries.map(pick);
  const contents = column(({ entry }) => JSON.stringify(entry));
  await sql`
    insert into audit_entries
      (workspace_id, sequence, id, occurred_at, type, app_id, actor_email, outcome, request_id, entry, prev_hash, hash)
    select ${workspace_id}::uuid, sequence, (entry->>'id')::uuid, (entry->>'occurred_at')::timestamptz, entry->>'type',
      (entry->>'app_id')::uuid, entry->'actor'->>'email', entry->>'outcome', entry->>'request_id', entry, prev_hash, hash
    from unnest(${column(({ sequence }) => sequence)}::bigint[], ${contents}::jsonb[],
      ${column(({ prev_hash }) => prev_hash)}::text[], ${column(({ hash }) => hash)}::text[])
      as sealed (sequence, entry, prev_hash, hash)`.execute(db);
  await sql`
    /* service */ update audit_chains set last_sequence = ${last.sequence}, last_hash = ${last.hash}
    where ${whereChain(workspace_id)}`.execute(db);
}

// ---- reading

/** Lists sealed and pending entries together, newest first. */
export async function listEntries(
  db: Db,
  access: WorkspaceAccess,
  query: AuditQuery,
  after: Position | undefined,
): Promise<AuditRow[]> {
  const conditions = buildConditions(query, after);
  const sealed = conditions.reduce(
    (rows, condition) => rows.where(condition),
    db
      .selectFrom('audit_entries')
      .where('workspace_id', '=', access.workspace_id)
      .select(['id', 'sequence', 'entry', 'prev_hash', 'hash'])
      .orderBy('id', 'desc')
      .limit(query.limit + 1)
      .$narrowType<{ entry: EntryContent }>(),
  );
  if (query.after_sequence !== undefined) return sealed.where('sequence', '>', query.after_sequence).execute();
  const pending = conditions.reduce(
    (rows, condition) => rows.where(condition),
    db
      .selectFrom('audit_pending')
      .where('workspace_id', '=', access.workspace_id)
      .select(['id', 'entry'])
      .orderBy('id', 'desc')
      .limit(query.limit + 1)
      .$narrowType<{ entry: EntryContent }>(),
  );
  // Pending entries are read first, so an entry that is sealed between the two reads appears in both results rather
  // than in neither.
  const unsealed = (await pending.execute()).map((row) => ({ ...row, sequence: null, prev_hash: null, hash: null }));
  const pendingIds = new Set(unsealed.map((row) => row.id));
  const rows: AuditRow[] = [...unsealed, ...(await sealed.execute()).filter((row) => !pendingIds.has(row.id))];
  return rows.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, query.limit + 1);
}

/** The conditions apply to the entry's JSON, which is the same for pending and sealed entries. */
function buildConditions(query: AuditQuery, after: Position | undefined): RawBuilder<boolean>[] {
  const conditions: RawBuilder<boolean>[] = [];
  if (query.type) conditions.push(sql`entry->>'type' like any (${likePatternsFor(query.type)})`);
  if (query.actor_email) conditions.push(sql`entry->'actor'->>'email' = ${query.actor_email.toLowerCase()}`);
  if (query.app_id) conditions.push(sql`entry->>'app_id' = ${query.app_id}`);
  if (query.outcome) conditions.push(sql`entry->>'outcome' = ${query.outcome}`);
  if (query.from) conditions.push(sql`entry->>'occurred_at' >= ${query.from.toISOString()}`);
  if (query.to) conditions.push(sql`entry->>'occurred_at' <= ${query.to.toISOString()}`);
  if (after) conditions.push(sql`id < ${after[0]}::uuid`);
  return conditions;
}

/** `app.*,token.created` becomes `app.%` and `token.created`. */
const likePatternsFor = (types: readonly string[]): string[] =>
  types.map((type) => {
    const escaped = type.replace(/[\\%_]/g, '\\$&');
    return type.endsWith('.*') ? `${escaped.slice(0, -1)}%` : escaped;
  });

/** Lists sealed entries in a sequence range, in ascending order. */
export async function listSealed(
  db: Db,
  access: WorkspaceAccess,
  from: number,
  to: number | null,
  limit: number,
): Promise<SealedEntry[]> {
  let entries = db
    .selectFrom('audit_entries')
    .where('workspace_id', '=', access.workspace_id)
    .where('sequence', '>=', from)
    .select(['sequence', 'entry', 'prev_hash', 'hash'])
    .orderBy('sequence')
    .limit(limit)
    .$narrowType<{ entry: EntryContent }>();
  if (to !== null) entries = entries.where('sequence', '<=', to);
  return entries.execute();
}

/**
 * Returns the chain's start and end. Sealing writes entries together with the new end, so any entry after the end was
 * not sealed by us.
 */
export const findChain = (db: Db, access: WorkspaceAccess) =>
  db
    .selectFrom('audit_chains')
    .where('workspace_id', '=', access.workspace_id)
    .selectAll()
    .select((is) =>
      is
        .exists(
          is
            .selectFrom('audit_entries')
            .where('audit_entries.workspace_id', '=', access.workspace_id)
            .whereRef('audit_entries.sequence', '>', 'audit_chains.last_sequence'),
        )
        .as('has_more_entries'),
    )
    .executeTakeFirst();

export async function countUnsealed(db: Db, access: WorkspaceAccess): Promise<number> {
  const { count } = await db
    .selectFrom('audit_pending')
    .where('workspace_id', '=', access.workspace_id)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Returns how many unsealed entries there are in all chains. */
export async function countAllUnsealed(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* service */ select count(*)::int as count from audit_pending`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

/** Returns the oldest unsealed entry's age in seconds, or 0 if all entries are sealed. */
export async function readUnsealedSeconds(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`/* service */
    select extract(epoch from clock_timestamp() - (entry->>'occurred_at')::timestamptz)::float as seconds
    from audit_pending order by id limit 1`.execute(db);
  return Math.max(0, rows[0]?.seconds ?? 0);
}

export async function listChains(db: Db): Promise<{ workspace_id: string | null }[]> {
  const { rows } = await sql<{
    workspace_id: string | null;
  }>`/* service */ select workspace_id from audit_chains`.execute(db);
  return rows;
}

/**
 * Removes a chain's oldest expired entries and returns how many were removed. Entries can only be removed through this
 * database function.
 */
export async function removeExpired(db: Db, workspace_id: string | null, limit: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    /* service */ select remove_expired_audit_entries(${workspace_id}::uuid, ${limit}::integer) as removed`.execute(db);
  return rows[0]?.removed ?? 0;
}

/** Two forms, because `is not distinct from` can't use an index. */
const whereChain = (workspace_id: string | null) =>
  workspace_id === null ? sql`workspace_id is null` : sql`workspace_id = ${workspace_id}::uuid`;
