// The queries on the audit log: pending entries, sealed entries, and each chain's start and end.
import { type RawBuilder, sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { fromIdMs, type Log, logDueInMs, planForLog } from '../../kit/background/queues/logs.ts';
import { prepared } from '../../kit/db/database.ts';
import { sendTogether } from '../../kit/db/send.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import { type ChainPosition, type EntryContent, firstPrevHash, type SealedEntry } from './chain.ts';
import type { AuditQuery, AuditRow } from './contract.ts';

// ---- sealing

/** The installation's own chain has no workspace, and this owner. */
const installation = '-';

export const toWorkspaceId = (owner: string): string | null => (owner === installation ? null : owner);

const selectFirst = (found: string, chain: string) =>
  `select ${found} from audit_pending where ${chain} order by workspace_id, id limit 1`;

/** Pending entries, by chain. */
export const pendingLog: Log = {
  name: 'audit_pending',
  owner: `coalesce(workspace_id::text, '${installation}')`,
  isWaiting: 'true',
  // Jumps from one workspace to the next in the index, so a chain with many entries does not slow it down.
  owners: `chains as (
      (${selectFirst('workspace_id, id', 'workspace_id is not null')})
      union all
      select next.* from chains, lateral (${selectFirst('workspace_id, id', 'workspace_id > chains.workspace_id')}) next),
    owners as (
      select workspace_id::text as owner, id from chains
      union all
      (${selectFirst(`'${installation}', id`, 'workspace_id is null')}))`,
  findFirst: (owner, fromId) => `coalesce(
      (${selectFirst('id', `workspace_id = nullif(${owner}, '${installation}')::uuid and id >= ${fromId}`)}),
      (${selectFirst('id', `workspace_id is null and ${owner} = '${installation}' and id >= ${fromId}`)}))`,
};

/** SQL for polling. `known` is SQL for what the process knows of the pending entries. */
export const sealingDueInMs = (known: string): string => logDueInMs(pendingLog, known);

/** Two statements, because `is not distinct from` can't use an index. `$1` is the workspace. */
const preparedForChain = <Row, Rest extends readonly unknown[]>(name: string, write: (isOfChain: string) => string) => {
  const ofWorkspace = prepared<Row, [string | null, ...Rest]>(name, write('workspace_id = $1::uuid'));
  const ofInstallation = prepared<Row, [string | null, ...Rest]>(
    `${name} of the installation`,
    write('workspace_id is null and $1::uuid is null'),
  );
  return (workspace_id: string | null, ...rest: Rest) =>
    (workspace_id === null ? ofInstallation : ofWorkspace).query(workspace_id, ...rest);
};

const lockChainRow = preparedForChain<ChainPosition, []>(
  'lock audit chain',
  (isOfChain) => `/* service */ select last_sequence as sequence, last_hash as hash from audit_chains
    where ${isOfChain} for update skip locked`,
);

/**
 * Locks a chain until the transaction ends and returns its last position, or undefined if another worker holds the
 * lock, or if there is no chain yet. Later statements of the transaction are planned for the sorted indexes.
 */
export async function lockChain(db: Db, workspace_id: string | null): Promise<ChainPosition | undefined> {
  const [, [last]] = await sendTogether(db, planForLog.query(), lockChainRow(workspace_id));
  return last;
}

/** Creates a workspace's chain. Returns false if it already exists. */
export async function createChain(db: Db, workspace_id: string | null): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
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
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

const removePendingRows = preparedForChain<{ id: string; entry: EntryContent }, [fromMs: number, limit: number]>(
  'remove pending audit entries',
  (isOfChain) => `/* service */ delete from audit_pending where ctid = any(array(
      select ctid from audit_pending where ${isOfChain} and id >= ${fromIdMs('$2')} order by workspace_id, id limit $3
    )) returning id, entry`,
);

/** Deletes a chain's oldest pending entries whose ids are not before `fromMs`, and returns them in order. */
export async function removePending(
  db: Db,
  workspace_id: string | null,
  fromMs: number,
  limit: number,
): Promise<EntryContent[]> {
  const { rows } = await db.executeQuery(removePendingRows(workspace_id, fromMs, limit));
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((row) => row.entry);
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

/** Lists all chains with their starts and ends. */
export async function listWholeChains(db: Db) {
  const { rows } = await sql<Omit<Tables['audit_chains'], 'chain_id'>>`/* service */
    select workspace_id, first_sequence, first_prev_hash, last_sequence, last_hash from audit_chains
    order by workspace_id nulls first`.execute(db);
  return rows;
}

/** Lists a chain's sealed entries from this sequence number on, in ascending order. */
export async function listSealedOfChain(
  db: Db,
  workspace_id: string | null,
  from: number,
  limit: number,
): Promise<SealedEntry[]> {
  const { rows } = await sql<SealedEntry>`/* service */ select sequence, entry, prev_hash, hash from audit_entries
    where ${whereChain(workspace_id)} and sequence >= ${from} order by sequence limit ${limit}`.execute(db);
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
