// Tests that migration 0064 removes the schema of the workflow engine from older releases, but fails while that schema
// contains unfinished work.
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { cloneTemplate, type TestDatabase } from '../../test/support/template.ts';
import { checkMigrations, MigrationError, readMigrations } from '../kit/db/migrate.ts';
import { migrationsFolder } from '../release.ts';
import { migrateAll } from './migrate.ts';

const migrations = await readMigrations(migrationsFolder);
const databases: TestDatabase[] = [];
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

/** The schema that the engine created, reduced to the tables for unfinished work and one object of every other kind. */
const engineSchema = `
  create schema dbos;
  create table dbos.workflow_status (
    workflow_uuid text primary key, status text, name text, authenticated_user text, assumed_role text,
    authenticated_roles text, request text, output text, error text, executor_id text,
    created_at bigint not null default ((extract(epoch from now()) * 1000.0))::bigint,
    updated_at bigint not null default ((extract(epoch from now()) * 1000.0))::bigint,
    application_version text, application_id text, class_name varchar(255), config_name varchar(255),
    recovery_attempts bigint default 0, queue_name text, workflow_timeout_ms bigint, workflow_deadline_epoch_ms bigint,
    inputs text, started_at_epoch_ms bigint, deduplication_id text, priority integer not null default 0,
    queue_partition_key text, forked_from text, owner_xid text, parent_workflow_id text, serialization text,
    delay_until_epoch_ms bigint, was_forked_from boolean not null default false,
    rate_limited boolean not null default false, completed_at bigint
  );
  create index idx_workflow_status_pending on dbos.workflow_status (created_at) where status = 'PENDING';
  create table dbos.notifications (
    message_uuid text primary key default gen_random_uuid(),
    destination_uuid text not null references dbos.workflow_status on update cascade on delete cascade,
    topic text, message text not null
  );
  create function dbos.notifications_function() returns trigger language plpgsql as $$ begin
    perform pg_notify('dbos_notifications_channel', new.destination_uuid || '::' || new.topic);
    return new;
  end; $$;
  create trigger dbos_notifications_trigger after insert on dbos.notifications
    for each row execute function dbos.notifications_function();`;

/** Restores the objects that migrations 0063 and 0064 removed, so both are pending. */
const undoMigrations = `
  create index events_waiting on events (id) where dispatched_at is null;
  create table workflow_run_state (workflow_id text primary key, crash_count integer not null default 0);
  delete from migrations where name >= '0063' and name < '0065'`;

async function cloneDatabase(): Promise<TestDatabase> {
  const database = await cloneTemplate();
  databases.push(database);
  return database;
}

/** Creates a database from an older release, with the engine's tables and the run role's rights on them. */
async function createOlderDatabase(): Promise<TestDatabase> {
  const database = await cloneDatabase();
  const role = new URL(database.url).username;
  await database.runAsOwner(`${undoMigrations}; ${engineSchema}
    grant usage on schema dbos to ${role};
    grant select, insert, update, delete on all tables in schema dbos to ${role};
    alter default privileges in schema dbos grant select, insert, update, delete on tables to ${role}`);
  return database;
}

const addWorkflows = (database: TestDatabase, ...statuses: string[]) =>
  database.runAsOwner(`
    insert into dbos.workflow_status (workflow_uuid, status, name)
      select gen_random_uuid(), status, 'a workflow' from unnest('{${statuses.join()}}'::text[]) status;
    insert into dbos.notifications (destination_uuid, topic, message) select workflow_uuid, 't', 'm' from dbos.workflow_status`);

/**
 * Reads everything that a migration could change: each object with its owner and rights, and the applied migrations.
 */
async function readState({ ownerUrl }: TestDatabase) {
  const client = new pg.Client(ownerUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ object: string }>(`
      select format('%s %s %s %s', n.nspname, n.nspacl, c.relname, c.relacl) as object
        from pg_namespace n left join pg_class c on c.relnamespace = n.oid
        where n.nspname in ('public', 'dbos')
      union all select format('%s %s', defaclnamespace::regnamespace, defaclacl) from pg_default_acl
      union all select name from migrations order by 1`);
    return rows.map(({ object }) => object);
  } finally {
    await client.end();
  }
}
const migrateDatabase = ({ ownerUrl, url }: TestDatabase) => migrateAll(ownerUrl, url);

const pending = migrations.filter(({ name }) => name >= '0063' && name < '0065');
const migrated = await cloneTemplate();
const migratedState = await readState(migrated);
afterAll(migrated.drop);

describe('a database with the schema of the workflow engine', () => {
  it('loses it, with the rights on it, if all work in it is finished', async () => {
    const database = await createOlderDatabase();
    await addWorkflows(database, 'SUCCESS', 'ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED');
    expect(await migrateDatabase(database)).toEqual(pending.map(({ name }) => name));
    expect(await readState(database)).toEqual(migratedState);
  });

  it.each(['PENDING', 'ENQUEUED', 'DELAYED'])('refuses to be migrated while a workflow is %s', async (status) => {
    const database = await createOlderDatabase();
    await addWorkflows(database, 'SUCCESS', status);
    const before = await readState(database);
    const refusal =
      "The table dbos.workflow_status has unfinished workflows, which this release can't run: let the previous release finish them, or cancel them as docs/operate/upgrade.md#unfinished-workflows says, then run plinth migrate again.";
    await expect(migrateDatabase(database)).rejects.toThrow(new MigrationError(refusal));
    expect(await readState(database)).toEqual(before);

    await database.runAsOwner(`update dbos.workflow_status set status = 'CANCELLED' where status = '${status}'`);
    await migrateDatabase(database);
    expect(await readState(database)).toEqual(migratedState);
  });

  it('refuses in the migration itself, if a workflow is started after the check', async () => {
    const database = await createOlderDatabase();
    const client = new pg.Client(database.ownerUrl);
    await client.connect();
    try {
      await checkMigrations(client, pending);
      await addWorkflows(database, 'ENQUEUED');
      const before = await readState(database);
      await expect(client.query(pending.map(({ text }) => text).join('\n'))).rejects.toThrow('unfinished workflows');
      expect(await readState(database)).toEqual(before);
    } finally {
      await client.end();
    }
  });
});

it('a database without that schema is migrated', async () => {
  const database = await cloneDatabase();
  await database.runAsOwner(undoMigrations);
  expect(await migrateDatabase(database)).toEqual(pending.map(({ name }) => name));
  expect(await readState(database)).toEqual(migratedState);
});
