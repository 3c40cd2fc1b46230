// Tests migrations of an existing installation with data. Steps of workflows get partitions while they are written: none
// is lost, and no write waits for long. Tokens keep their schedule when their refresh becomes a queue.
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPartitions } from '../../src/kit/background/partitions.ts';
import { type AnyDb, openDatabase } from '../../src/kit/db/database.ts';
import { migrate, readMigrations } from '../../src/kit/db/migrate.ts';
import { newId } from '../../src/kit/ids.ts';
import { migrationsFolder } from '../../src/release.ts';
import { createEmptyDatabase } from '../support/template.ts';

const migrations = await readMigrations(migrationsFolder);
const ofSteps = migrations.filter(({ name }) => /^015[456]_/.test(name));
const refreshQueue = migrations.filter(({ name }) => name.startsWith('0161_'));
const database = await createEmptyDatabase();
const client = new pg.Client(database.ownerUrl);
const writer = new pg.Client(database.ownerUrl);
afterAll(async () => {
  await Promise.all([client.end(), writer.end()]);
  await database.drop();
});

const runs = Array.from({ length: 2_000 }, newId);
const stepsPerRun = 50;
const columns = 'workspace_id, run_id, number, task_path, name, task_type, status, started_at';
const insertStep = `insert into workflow_steps (${columns})
  select workspace_id, id, $2, '/do/0/a', 'a', 'set', 'completed', now() from workflow_runs where id = $1`;

beforeAll(async () => {
  await migrate(
    database.ownerUrl,
    migrations.filter((migration) => !ofSteps.includes(migration) && !refreshQueue.includes(migration)),
  );
  await Promise.all([client.connect(), writer.connect()]);
  await client.query('set session_replication_role = replica'); // runs without workspaces, apps and workflows
  await client.query(
    `insert into workflow_runs (id, workspace_id, app_id, workflow_id, workflow_name, version_id, trigger_type, input, started_at)
     select id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'w', 'v', 'manual', '{}', now() from unnest($1::uuid[]) id`,
    [runs],
  );
  await client.query(
    `insert into workflow_steps (${columns})
     select workspace_id, id, n, '/do/0/a', 'a', 'set', 'completed', now() from workflow_runs, generate_series(1, $1::integer) n`,
    [stepsPerRun],
  );
  await client.query(`insert into connections (id, workspace_id, app_id, integration_type, status, access_token_sealed,
      refresh_token_sealed, next_refresh_at, connected_at, created_date, updated_date)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'slack', 'active', 'sealed', 'sealed',
      case when n <= 3 then now() + n * interval '1 hour' end, now(), now(), now() from generate_series(1, 5) n`);
  await client.query('reset session_replication_role');
});

/** Adds steps as workers do, until `stop` is called, which returns how many there are and the longest wait. */
function startWriting() {
  let isStopped = false;
  let [written, longestMs] = [0, 0];
  const ended = (async () => {
    while (!isStopped) {
      const startedAt = performance.now();
      await writer.query(insertStep, [runs[written % runs.length], 1_000 + written]);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      written += 1;
    }
  })();
  const stop = async () => {
    isStopped = true;
    await ended;
    return { written, longestMs };
  };
  return { stop };
}

const count = async (from: string) => (await client.query(`select count(*)::int as count from ${from}`)).rows[0].count;

it('steps are moved to partitions by week, also after an interruption, while workers add more', async () => {
  const writing = startWriting();
  await migrate(
    database.ownerUrl,
    migrations.filter((migration) => migration !== ofSteps[2]),
  ); // interrupted
  expect(await count("pg_inherits where inhparent = 'workflow_steps'::regclass")).toBe(0);
  expect(await migrate(database.ownerUrl, migrations)).toEqual([ofSteps[2]?.name]);
  const { written, longestMs } = await writing.stop();
  expect(written).toBeGreaterThan(0);
  expect(longestMs).toBeLessThan(5_000); // `bench history` judges a second, with ten million rows
  expect(await count('workflow_steps')).toBe(runs.length * stepsPerRun + written);
  expect(await count("list_partitions('workflow_steps')")).toBe(1); // two weeks from now on

  const { rows } = await client.query("select partition::text, from_id, to_id from list_partitions('workflow_steps')");
  expect(rows).toMatchObject([{ partition: expect.stringMatching(/^partitions\.workflow_steps_until_\d{8}$/) }]);
  await expect(writer.query(insertStep, [runs[0], 1])).rejects.toThrow('duplicate key');
  await client.query('delete from workflow_runs where id = $1', [runs[0]]);
  expect(await count(`workflow_steps where run_id = '${runs[0]}'`)).toBe(0);

  const opened = openDatabase<never>({ url: database.ownerUrl, poolSize: 1 });
  expect(await createPartitions(opened.db as AnyDb)).toBe(0);
  await opened.close();
});

it('tokens are due when they were, and reconnecting one that had no schedule gives it one', async () => {
  const list = async () =>
    (
      await client.query(`select c.next_refresh_at, r.due_at, r.changed_in is not null as noted
        from connections c left join connection_refreshes r using (id) order by c.next_refresh_at`)
    ).rows;
  const before = await list();
  expect(before).toHaveLength(5);
  for (const { next_refresh_at, due_at } of before) expect(due_at).toEqual(next_refresh_at);
  await client.query(
    "update connections set next_refresh_at = now() + interval '9 hours' where next_refresh_at is null",
  );
  for (const row of await list()) expect(row).toMatchObject({ due_at: row.next_refresh_at, noted: true });
});
