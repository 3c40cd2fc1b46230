// Owns the queries over the audit log: entries waiting to be sealed, sealed ones, and the ends of the chains.
import { type SelectQueryBuilder, sql } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import { firstPrevHash, type SealedEntry } from './chain.ts';
import type { AuditQuery, AuditRow, EntryContent } from './contract.ts';

// ---- sealing

/** Workspaces with entries to seal; null is the installation's own chain. */
export async function listChainsToSeal(db: Db, limit: number): Promise<(string | null)[]> {
  const { rows } = await sql<{ workspace_id: string | null }>`
    /* service */ select distinct workspace_id from (select workspace_id from audit_pending order by id limit ${limit}) waiting`.execute(
    db,
  );
  return rows.map((row) => row.workspace_id);
}

/** The end of a chain, held until the transaction ends; undefined while another sealer holds it. */
export async function lockChain(
  db: Db,
  workspace_id: string | null,
): Promise<{ sequence: number; hash: string } | undefined> {
  const { rows } = await sql<{ sequence: number; hash: string }>`
    /* service */ select last_sequence as sequence, last_hash as hash from audit_chains
    where ${ofChain(workspace_id)} for update skip locked`.execute(db);
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

/** Takes the oldest waiting entries of a chain out of the waiting room. */
export async function removePending(db: Db, workspace_id: string | null, limit: number): Promise<EntryContent[]> {
  const { rows } = await sql<{ id: string; entry: EntryContent }>`
    /* service */ delete from audit_pending where ${ofChain(workspace_id)} and id in (
      select id from audit_pending where ${ofChain(workspace_id)} order by id limit ${limit}
    ) returning id, entry`.execute(db);
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map((row) => row.entry);
}

export async function insertSealed(db: Db, workspace_id: string | null, links: readonly SealedEntry[]): Promise<void> {
  const last = links.at(-1);
  if (last === undefined) return;
  const column = (pick: (link: SealedEntry) => unknown) => links.map(pick);
  const entries = column((link) => JSON.stringify(link.entry));
  await sql`
    insert into audit_entries
      (workspace_id, sequence, id, occurred_at, type, app_id, actor_email, outcome, request_id, entry, prev_hash, hash)
    select ${workspace_id}::uuid, sequence, (entry->>'id')::uuid, (entry->>'occurred_at')::timestamptz, entry->>'type',
      (entry->>'app_id')::uuid, entry->'actor'->>'email', entry->>'outcome', entry->>'request_id', entry, prev_hash, hash
    from unnest(${column((link) => link.sequence)}::bigint[], ${entries}::jsonb[],
      ${column((link) => link.prev_hash)}::text[], ${column((link) => link.hash)}::text[])
      as sealed (sequence, entry, prev_hash, hash)`.execute(db);
  await sql`
    /* service */ update audit_chains set last_sequence = ${last.sequence}, last_hash = ${last.hash}
    where ${ofChain(workspace_id)}`.execute(db);
}

// ---- reading

/** Sealed and waiting entries as one list, newest first. */
export async function listEntries(
  db: Db,
  access: WorkspaceAccess,
  query: AuditQuery,
  after: Position | undefined,
): Promise<AuditRow[]> {
  const sealed = filtered(
    db
      .selectFrom('audit_entries')
      .where('workspace_id', '=', access.workspace_id)
      .select(['id', 'sequence', 'entry', 'prev_hash', 'hash']),
    query,
    after,
  );
  if (query.after_sequence !== undefined)
    return sealed.where('sequence', '>', query.after_sequence).execute() as Promise<AuditRow[]>;
  const waiting = filtered(
    db
      .selectFrom('audit_pending')
      .where('workspace_id', '=', access.workspace_id)
      .select([
        'id',
        sql<number | null>`null`.as('sequence'),
        'entry',
        sql<string | null>`null`.as('prev_hash'),
        sql<string | null>`null`.as('hash'),
      ]) as never,
    query,
    after,
  );
  // An entry sealed between the two reads would be in both or in neither: read the waiting ones first.
  const unsealed = (await waiting.execute()) as AuditRow[];
  const known = new Set(unsealed.map((row) => row.id));
  const rows = [...unsealed, ...((await sealed.execute()) as AuditRow[]).filter((row) => !known.has(row.id))];
  return rows.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, query.limit + 1);
}

type Entries = SelectQueryBuilder<Tables, 'audit_entries', object>;

// The filters read the entry itself, so that they are the same for waiting and sealed ones.
function filtered(entries: Entries, query: AuditQuery, after: Position | undefined): Entries {
  let found = entries.orderBy('id', 'desc').limit(query.limit + 1);
  if (query.type) {
    const patterns = query.type
      .split(',')
      .filter(Boolean)
      .map((type) => {
        const exact = type.replace(/[\\%_]/g, '\\$&');
        return type.endsWith('.*') ? `${exact.slice(0, -1)}%` : exact;
      });
    found = found.where(sql<boolean>`entry->>'type' like any (${patterns})`);
  }
  if (query.actor_email)
    found = found.where(sql<boolean>`entry->'actor'->>'email' = ${query.actor_email.toLowerCase()}`);
  if (query.app_id) found = found.where(sql<boolean>`entry->>'app_id' = ${query.app_id}`);
  if (query.outcome) found = found.where(sql<boolean>`entry->>'outcome' = ${query.outcome}`);
  if (query.from) found = found.where(sql<boolean>`entry->>'occurred_at' >= ${query.from.toISOString()}`);
  if (query.to) found = found.where(sql<boolean>`entry->>'occurred_at' <= ${query.to.toISOString()}`);
  if (after) found = found.where(sql<boolean>`id < ${after[0]}::uuid`);
  return found;
}

/** A run of sealed entries, ascending. */
export async function listSealed(
  db: Db,
  access: WorkspaceAccess,
  from: number,
  to: number | null,
  limit: number,
): Promise<SealedEntry[]> {
  let found = db
    .selectFrom('audit_entries')
    .where('workspace_id', '=', access.workspace_id)
    .where('sequence', '>=', from)
    .select(['sequence', 'entry', 'prev_hash', 'hash'])
    .orderBy('sequence')
    .limit(limit);
  if (to !== null) found = found.where('sequence', '<=', to);
  return (await found.execute()) as unknown as SealedEntry[];
}

export const findChain = (db: Db, access: WorkspaceAccess) =>
  db.selectFrom('audit_chains').where('workspace_id', '=', access.workspace_id).selectAll().executeTakeFirst();

export async function countUnsealed(db: Db, access: WorkspaceAccess): Promise<number> {
  const { count } = await db
    .selectFrom('audit_pending')
    .where('workspace_id', '=', access.workspace_id)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

export async function listChains(db: Db): Promise<{ workspace_id: string | null }[]> {
  const { rows } = await sql<{
    workspace_id: string | null;
  }>`/* service */ select workspace_id from audit_chains`.execute(db);
  return rows;
}

/**
 * Drops a chain's oldest entries, up to the first that is not older than `before`, some at a time, and keeps the place
 * where the rest begins. Only ever from the front: a chain with a hole would prove nothing.
 */
export async function removeOldest(db: Db, workspace_id: string | null, before: Date, limit: number): Promise<number> {
  await sql`set local plinth.audit_retention = 'on'`.execute(db);
  const ours = ofChain(workspace_id);
  const { rows } = await sql<{ sequence: number; hash: string }>`/* service */
    delete from audit_entries where ${ours} and sequence in (
      select sequence from audit_entries where ${ours}
        and sequence < coalesce((select min(sequence) from audit_entries where ${ours} and occurred_at >= ${before}), 9007199254740991)
      order by sequence limit ${limit})
    returning sequence, hash`.execute(db);
  const last = rows.reduce<{ sequence: number; hash: string } | undefined>(
    (a, b) => (a && a.sequence > b.sequence ? a : b),
    undefined,
  );
  if (last !== undefined) {
    await sql`/* service */ update audit_chains set first_sequence = ${last.sequence + 1}, first_prev_hash = ${last.hash} where ${ours}`.execute(
      db,
    );
  }
  return rows.length;
}

/** Written so that an index can be used: a comparison that takes null for a value cannot. */
const ofChain = (workspace_id: string | null) =>
  workspace_id === null ? sql`workspace_id is null` : sql`workspace_id = ${workspace_id}::uuid`;
