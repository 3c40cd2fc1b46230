// Reads the rows of archives by page. Each page is a statement of its own, so none of them holds a snapshot for long.
import { type RawBuilder, sql } from 'kysely';
import type { ArchiveTable } from '../../../kit/archive/columns.ts';
import type { Db } from '../../../tables.ts';
import type { ArchivePart } from '../parts.ts';

/** Some of a part's rows: those of one owner that fulfil the condition. */
export interface Range {
  /** SQL for the rows of the owner. */
  readonly from: RawBuilder<unknown>;
  readonly condition: RawBuilder<unknown>;
}

/** The values of a row's key as text. */
export type Key = readonly string[];

export interface PageRow {
  readonly key: Key;
  /** The row as JSON. Null if it is too large to be read with others. */
  readonly line: string | null;
  /** The number of rows that were considered for the page. */
  readonly candidates: number;
}

export const maxPageBytes = 8 * 1024 * 1024;
/** Longer lines are read one at a time. */
export const maxSmallLine = 32 * 1024;

/**
 * Reads the next rows after a key, at most `limit`, and at most 8 MiB. `offset 0` prevents PostgreSQL from computing the
 * lines twice.
 */
export async function readPage(
  db: Db,
  part: ArchivePart,
  described: ArchiveTable,
  { range, after, limit }: { readonly range: Range; readonly after: Key | undefined; readonly limit: number },
): Promise<PageRow[]> {
  const key = keyOf(part);
  const { rows } = await sql<PageRow>`/* service */ select key, line, candidates::int as candidates from (
      select key, case when bytes <= ${sql.lit(maxSmallLine)} then line end as line, count(*) over () as candidates,
        sum(case when bytes <= ${sql.lit(maxSmallLine)} then bytes else 0 end) over (order by number) as total
      from (select key, line, octet_length(line) as bytes, row_number() over () as number from (
        select array[${sql.join(part.key.map((name) => sql`t.${sql.ref(name)}::text`))}] as key,
          ${lineOf(described)} as line
        from ${range.from} t where ${range.condition} and ${isAfter(part, after)}
        order by ${key} limit ${limit} offset 0) lines) numbered) measured
    where total <= ${sql.lit(maxPageBytes)}`.execute(db);
  return rows;
}

/** Reads one row. Returns undefined if it was removed in the meantime. */
export async function readLine(
  db: Db,
  part: ArchivePart,
  described: ArchiveTable,
  { range, key }: { readonly range: Range; readonly key: Key },
): Promise<string | undefined> {
  const { rows } = await sql<{ line: string }>`/* service */ select ${lineOf(described)} as line
    from ${range.from} t where ${range.condition} and (${keyOf(part)}) = (${sql.join(key)})`.execute(db);
  return rows[0]?.line;
}

/**
 * Finds the people that the next rows refer to. `last` is the key of the last of these rows, or null if there are none.
 */
export async function readPeoplePage(
  db: Db,
  part: ArchivePart,
  columns: readonly string[],
  { range, after, limit }: { readonly range: Range; readonly after: Key | undefined; readonly limit: number },
): Promise<{ readonly last: Key | null; readonly people: readonly string[] }> {
  const ids = columns.map((column) => sql`t.${sql.ref(column)}::text`);
  const { rows } = await sql<{ last: Key | null; people: readonly string[] }>`/* service */ with page as materialized (
      select array[${sql.join(part.key.map((name) => sql`t.${sql.ref(name)}::text`))}] as key,
        array[${sql.join(ids)}] as ids, row_number() over (order by ${keyOf(part)}) as number
      from ${range.from} t where ${range.condition} and ${isAfter(part, after)} order by ${keyOf(part)} limit ${limit}),
    named as materialized (select distinct unnest(ids) as id from page)
    select (select key from page order by number desc limit 1) as last, array(
      select u.id::text from users u where u.id in (select id::uuid from named where id ~ ${uuidPattern})) as people`.execute(
    db,
  );
  return rows[0] ?? { last: null, people: [] };
}

const uuidPattern = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** Returns people as lines of JSON, in the order of their e-mail addresses. */
export async function readPeople(db: Db, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`/* service */ select to_json(p)::text as line from (
    select id, email, full_name from users where id = any(${ids}::uuid[]) order by email) p`.execute(db);
  return rows.map(({ line }) => line);
}

const keyOf = (part: ArchivePart) => sql.join(part.key.map((name) => sql`t.${sql.ref(name)}`));

const isAfter = (part: ArchivePart, after: Key | undefined) =>
  after === undefined ? sql`true` : sql`(${keyOf(part)}) > (${sql.join(after)})`;

/** Binary values are written as base64. */
function lineOf({ columns, binary = [] }: ArchiveTable): RawBuilder<unknown> {
  const selected = Object.keys(columns).map((column) =>
    binary.includes(column)
      ? sql`replace(encode(t.${sql.ref(column)}, 'base64'), chr(10), '') as ${sql.ref(column)}`
      : sql`t.${sql.ref(column)}`,
  );
  return sql`(select to_json(r) from (select ${sql.join(selected)}) r)::text`;
}

// ---- which rows

const ofOwner = ({ owner, deleting }: ArchivePart, id: string) =>
  sql`t.${sql.ref(owner)} = ${id}${deleting === undefined ? sql`` : sql` and t.${sql.ref(deleting)} is null`}`;

export const allRows = (part: ArchivePart, ownerId: string): Range => ({
  from: sql.table(part.table),
  condition: ofOwner(part, ownerId),
});

/** Leaves out what was added after the greatest key at the start, as far as the key's first column says so. */
export const rowsUntil = (part: ArchivePart, ownerId: string, end: string): Range => ({
  from: sql.table(part.table),
  condition: sql`${ofOwner(part, ownerId)} and t.${sql.ref(part.key[0])} <= ${end}`,
});

/** Returns the greatest value of the key's first column for each owner that has rows. */
export async function readEnds(
  db: Db,
  part: ArchivePart,
  ownerIds: readonly string[],
): Promise<{ readonly id: string; readonly end: string }[]> {
  const first = sql`t.${sql.ref(part.key[0])}`;
  const { rows } = await sql<{ id: string; end: string }>`/* service */ select owner.id, last."end"
    from unnest(${ownerIds}::uuid[]) owner(id), lateral (
      select ${first}::text as "end" from ${sql.table(part.table)} t where t.${sql.ref(part.owner)} = owner.id
      order by ${first} desc limit 1) last`.execute(db);
  return rows;
}

export interface AppRevision {
  readonly id: string;
  readonly revision: number;
}

/** The rows of an app as they were at a revision. What later revisions replaced is among the past versions. */
export function rowsAtRevision({ table }: ArchivePart, { id, revision }: AppRevision): Range {
  const own = sql`t.app_id = ${id}`;
  if (table === 'app_revisions')
    return { from: sql.table(table), condition: sql`${own} and t.revision <= ${revision}` };
  if (table === 'app_past_versions')
    return { from: sql.table(table), condition: sql`${own} and t.until_revision <= ${revision}` };
  if (table === 'app_past_contents')
    return {
      from: sql.table(table),
      condition: sql`${own} and exists (select from app_past_versions v
        where v.app_id = t.app_id and v.sha256 = t.sha256 and v.until_revision <= ${revision})`,
    };
  if (table !== 'app_files') throw new Error(`${table} has no revisions`);
  return {
    from: sql`(select app_id, path, content, sha256, size, encoding, updated_date, since_revision from app_files
        where app_id = ${id} and since_revision <= ${revision}
      union all
      select v.app_id, v.name, c.content, v.sha256, v.size, v.encoding, v.updated_date, v.since_revision
        from app_past_versions v join app_past_contents c on c.app_id = v.app_id and c.sha256 = v.sha256
        where v.app_id = ${id} and v.kind = 'file' and v.since_revision <= ${revision}
          and v.until_revision > ${revision})`,
    condition: own,
  };
}

export interface SealedChain {
  readonly first_sequence: number;
  readonly last_sequence: number;
}

export const rowsOfChain = (
  part: ArchivePart,
  workspaceId: string,
  { first_sequence, last_sequence }: SealedChain,
): Range => ({
  from: sql.table(part.table),
  condition: sql`${ofOwner(part, workspaceId)} and t.sequence between ${first_sequence} and ${last_sequence}`,
});

/** A log's rows from this id on, and those that are open. */
export const recentRows = (part: ArchivePart, workspaceId: string, since: string): Range => ({
  from: sql.table(part.table),
  condition: sql`${ofOwner(part, workspaceId)} and (t.id >= ${since}${
    part.open === undefined ? sql`` : sql` or t.state = ${part.open}`
  })`,
});

/** A log's rows before this id, without those that were read with the recent ones. */
export const olderRows = (part: ArchivePart, workspaceId: string, since: string, read: readonly string[]): Range => ({
  from: sql.table(part.table),
  condition: sql`${ofOwner(part, workspaceId)} and t.id < ${since} and t.id <> all(${read}::uuid[])`,
});

// ---- what else is read at the start

export async function listAppRevisions(db: Db, workspaceId: string): Promise<AppRevision[]> {
  return db
    .selectFrom('apps')
    .where('workspace_id', '=', workspaceId)
    .select(['id', 'revision'])
    .orderBy('id')
    .execute();
}

export const findChain = (db: Db, workspaceId: string): Promise<SealedChain | undefined> =>
  db
    .selectFrom('audit_chains')
    .where('workspace_id', '=', workspaceId)
    .select(['first_sequence', 'last_sequence'])
    .executeTakeFirst();

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
