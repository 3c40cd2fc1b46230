// What graphile-worker and pg-boss do for the same: a fetch of 10 jobs.
import { runMigrations } from 'graphile-worker';
import { CompiledQuery } from 'kysely';
import { PgBoss } from 'pg-boss';
import type { Opened, Services } from './part.ts';

const added = 10;
const jobName = 'bench_jobs';
const jobs = 'graphile_worker._private_jobs';

/** The statement with which version 0.18 fetches jobs; its own function is not exported. */
const fetchJobs = `with j_raw as (
    select jobs.job_queue_id, jobs.priority, jobs.run_at, jobs.id from ${jobs} as jobs
    where jobs.is_available = true and run_at <= now() and task_id = any($2::int[])
      and (jobs.job_queue_id is null or jobs.job_queue_id in (
        select id from graphile_worker._private_job_queues as job_queues
        where job_queues.is_available = true for update skip locked))
    order by priority asc, run_at asc limit ${added} for update skip locked),
  j as (
    select distinct on (job_queue_id, case when job_queue_id is null then id end) job_queue_id, priority, run_at, id
    from j_raw order by job_queue_id, case when job_queue_id is null then id end, priority asc, run_at asc),
  q as (
    update graphile_worker._private_job_queues as job_queues set locked_by = $1::text, locked_at = now()
    from j where job_queues.id = j.job_queue_id)
  update ${jobs} as jobs set attempts = jobs.attempts + 1, locked_by = $1::text, locked_at = now()
  from j where jobs.id = j.id returning *`;

export async function openGraphileWorker({ db, pool }: Services): Promise<Opened> {
  await runMigrations({ pgPool: pool });
  const add = (count: number) =>
    pool.query(
      `select count(*) from graphile_worker.add_jobs(array(
         select json_populate_record(null::graphile_worker.job_spec,
           json_build_object('identifier', '${jobName}', 'payload', json_build_object('number', n)))
         from generate_series(1, $1::integer) n))`,
      [count],
    );
  await add(1); // creates the task
  await pool.query(`delete from ${jobs}`);
  const { rows: tasks } = await pool.query('select id from graphile_worker._private_tasks');
  let fetched: readonly string[] = [];
  return {
    added,
    add: () => add(added),
    async work() {
      const { rows } = await db.executeQuery<{ id: string }>(CompiledQuery.raw(fetchJobs, ['bench', [tasks[0].id]]));
      fetched = rows.map(({ id }) => id);
      return fetched.length;
    },
    finish: () => pool.query(`delete from ${jobs} where id = any($1::bigint[])`, [fetched]),
    async complete(count) {
      await add(count);
      await pool.query(`update ${jobs} set attempts = attempts + 1, locked_by = 'other', locked_at = now()`);
      await pool.query(`delete from ${jobs}`);
    },
  };
}

export async function openPgBoss({ db, pool }: Services): Promise<Opened> {
  const executeSql = (text: string, values: unknown[] = []) => db.executeQuery(CompiledQuery.raw(text, values));
  const boss = new PgBoss({
    db: { executeSql: async (text, values) => ({ rows: [...(await executeSql(text, values)).rows] }) },
    supervise: false,
    schedule: false,
  });
  await boss.start();
  await boss.createQueue(jobName);
  const add = (count: number) =>
    boss.insert(
      jobName,
      Array.from({ length: count }, (_, number) => ({ data: { number } })),
    );
  let fetched: readonly string[] = [];
  const setState = (from: string, to: string, at: string) =>
    pool.query(`update pgboss.job set state = '${to}', ${at} = now() where name = '${jobName}' and state = '${from}'`);
  return {
    added,
    add: () => add(added),
    async work() {
      const found = await boss.fetch(jobName, { batchSize: added });
      fetched = found.map(({ id }) => id);
      return fetched.length;
    },
    finish: () => boss.complete(jobName, [...fetched]),
    async complete(count) {
      await add(count);
      await setState('created', 'active', 'started_on');
      await setState('active', 'completed', 'completed_on');
    },
    close: () => boss.stop({ graceful: false }),
  };
}
