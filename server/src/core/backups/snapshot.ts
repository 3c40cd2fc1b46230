// A snapshot of the database that other programs can read, too.
import { sql } from 'kysely';
import type { AnyDb } from '../../kit/db/database.ts';

/** The limits of requests do not suit a session that waits for other programs, and reads whole tables. */
export async function liftTimeLimits(connection: AnyDb): Promise<void> {
  await sql`set statement_timeout = 0`.execute(connection);
  await sql`set idle_in_transaction_session_timeout = 0`.execute(connection);
  await sql`set idle_session_timeout = 0`.execute(connection);
}

export interface Snapshot {
  /** Other sessions can take it over by this id while the transaction is open. */
  readonly id: string;
  readonly taken_at: Date;
}

/** Runs `work` in a transaction that only reads, and whose snapshot others can take over. */
export async function withSnapshot<Result>(
  connection: AnyDb,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  await sql`begin isolation level repeatable read read only`.execute(connection);
  try {
    const { rows } = await sql<Snapshot>`
      select pg_export_snapshot() as id, clock_timestamp() as taken_at`.execute(connection);
    return await work(rows[0] as Snapshot);
  } finally {
    // The transaction has changed nothing, and the connection may be lost.
    await sql`rollback`.execute(connection).catch(() => {});
  }
}

export interface ServerFacts {
  readonly database: string;
  readonly system_identifier: string;
  /** Such as 15. */
  readonly server_version: number;
}

/** `system_identifier` is that of the data of the server: a new server has another one. */
export async function readServerFacts(db: AnyDb): Promise<ServerFacts> {
  const { rows } = await sql<ServerFacts>`/* service */ select current_database() as database,
      system_identifier::text, current_setting('server_version_num')::int / 10000 as server_version
    from pg_control_system()`.execute(db);
  return rows[0] as ServerFacts;
}

/** The name of the last migration that was applied. */
export async function findLatestMigration(db: AnyDb): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    /* service */ select name from migrations order by name desc limit 1`.execute(db);
  return rows[0]?.name ?? '';
}

/** Names the tables and the like that a user made. A new database has none. */
export async function listRelations(db: AnyDb): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`/* service */ select c.oid::regclass::text as name from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

export async function mayCreateDatabases(db: AnyDb): Promise<{ role: string; may: boolean }> {
  const { rows } = await sql<{ role: string; may: boolean }>`/* service */
    select rolname as role, rolcreatedb or rolsuper as may from pg_roles where rolname = current_user`.execute(db);
  return rows[0] ?? { role: '', may: false };
}

/** Databases that an interrupted `--verify` has left behind: their names are `prefix` and the id of its process. */
export async function listUnusedDatabases(db: AnyDb, prefix: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`/* service */ select datname as name from pg_database d
    where starts_with(datname, ${prefix}) and substr(datname, length(${prefix}) + 1) ~ '^[0-9]+$'
      and not exists (select from pg_stat_activity a where a.datid = d.oid)`.execute(db);
  return rows.map(({ name }) => name);
}

export const createDatabase = (db: AnyDb, name: string): Promise<unknown> =>
  sql`create database ${sql.id(name)} encoding 'UTF8' template template0`.execute(db);

export const dropDatabase = (db: AnyDb, name: string): Promise<unknown> =>
  sql`drop database if exists ${sql.id(name)} with (force)`.execute(db);
