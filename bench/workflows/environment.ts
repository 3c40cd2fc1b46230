// The measurement's environment: its own PostgreSQL and Redis, one API and one worker process with the default
// settings, and apps in separate workspaces, each with the measured workflows.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { type OwnPostgres, startPostgres } from '../../harness/postgres.ts';
import { type Processes, startProcesses } from '../../harness/processes.ts';
import { startRedis } from '../../harness/redis.ts';
import { type Call, retryingClient } from '../../harness/retrying-client.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { type NewRun, startRuns } from '../../server/src/features/workflows/runs/start.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import { newId } from '../../server/src/kit/ids.ts';
import type { Db, Tables } from '../../server/src/tables.ts';
import { definitions, type WorkflowName } from './definitions.ts';

export interface BenchWorkflowApp {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly call: Call;
  readonly workflows: Readonly<Record<WorkflowName, NewRun['workflow']>>;
}

export interface Environment {
  readonly db: Db;
  readonly postgres: OwnPostgres;
  readonly settings: Readonly<Record<string, string>>;
  readonly processes: Processes;
  /** Each app has its own workspace, because concurrent runs are also limited per workspace. */
  readonly apps: readonly BenchWorkflowApp[];
  /** Adds a second app to another app's workspace. */
  addSibling(of: BenchWorkflowApp): Promise<BenchWorkflowApp>;
  /** Adds many apps, ten per workspace, each with a copy of the first app's workflow `short`. */
  addMany(count: number): Promise<BenchWorkflowApp[]>;
  /** Starts runs in one transaction. Returns their ids. */
  start(name: WorkflowName, apps: readonly BenchWorkflowApp[], runsPerApp: number): Promise<string[]>;
  /** Waits until these runs have ended. */
  waitUntilEnded(ids: readonly string[], withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

export async function startEnvironment(appCount: number): Promise<Environment> {
  const postgres = await startPostgres();
  await migrateAll(postgres.url);
  const redis = await startRedis();
  const settings = { ...newKeys(), DATABASE_URL: postgres.url, REDIS_URL: redis.url, LOG_LEVEL: 'info' };
  const config = readConfig(settings);
  const database = openDatabase<Tables>({ url: postgres.url, poolSize: 4 });
  const { db } = database;
  const wake = openWakeUps(config.REDIS_URL, config.REDIS_PREFIX);
  const processes = await startProcesses({ api: 1, worker: 1 }, settings);
  await processes.allReady();
  const user_id = await createBenchUser(db);
  const workspaces = new Map<string, Awaited<ReturnType<typeof createBenchWorkspace>>>();
  const addApp = async (workspace: Awaited<ReturnType<typeof createBenchWorkspace>>): Promise<BenchWorkflowApp> => {
    const { id } = await createBenchApp(db, workspace, 'user_app');
    const call = retryingClient(processes.apis, workspace.token);
    workspaces.set(id, workspace);
    return { workspace_id: workspace.workspace_id, app_id: id, call, workflows: await addWorkflows(call, id) };
  };
  const apps: BenchWorkflowApp[] = [];
  for (let n = 0; n < appCount; n += 1) apps.push(await addApp(await createBenchWorkspace(db, config, user_id)));
  const countUnfinished = async (ids: readonly string[]): Promise<number> =>
    (
      await sql<{ count: number }>`select count(*)::int as count from workflow_runs
        where id = any(${ids}::uuid[]) and completed_at is null`.execute(db)
    ).rows[0]?.count ?? 0;
  return {
    db,
    postgres,
    settings,
    processes,
    apps,
    addSibling: ({ app_id }) => addApp(workspaces.get(app_id) as Awaited<ReturnType<typeof createBenchWorkspace>>),
    async addMany(count) {
      const [original] = apps as [BenchWorkflowApp];
      const many: BenchWorkflowApp[] = [];
      for (let n = 0; n < count / appsPerWorkspace; n += 1) {
        const workspace = await createBenchWorkspace(db, config, user_id);
        for (let m = 0; m < appsPerWorkspace; m += 1) {
          const { id: app_id } = await createBenchApp(db, workspace, 'user_app');
          many.push(await copyShort(db, original, { ...original, workspace_id: workspace.workspace_id, app_id }));
        }
      }
      return many;
    },
    start: (name, of, runsPerApp) => startRuns(db, { wake }, listRuns(name, of, runsPerApp), new Date()),
    async waitUntilEnded(ids, withinMs = 120_000) {
      for (const end = performance.now() + withinMs; (await countUnfinished(ids)) > 0; await sleep(100))
        if (performance.now() > end) throw new Error('not every run ended in time');
    },
    async close() {
      processes.stop();
      wake.close();
      await database.close();
      redis.stop();
      postgres.stop();
    },
  };
}

const appsPerWorkspace = 10;

async function copyShort(db: Db, from: BenchWorkflowApp, to: BenchWorkflowApp): Promise<BenchWorkflowApp> {
  const { id: original } = from.workflows.short;
  const id = newId();
  await sql`insert into workflows select copy.* from workflows original, lateral jsonb_populate_record(original,
      jsonb_build_object('id', ${id}::uuid, 'workspace_id', ${to.workspace_id}::uuid, 'app_id', ${to.app_id}::uuid)) copy
    where original.id = ${original}`.execute(db);
  await sql`insert into workflow_versions select copy.* from workflow_versions original,
      lateral jsonb_populate_record(original, jsonb_build_object('workspace_id', ${to.workspace_id}::uuid, 'workflow_id', ${id}::uuid)) copy
    where original.workflow_id = ${original}`.execute(db);
  return { ...to, workflows: { ...to.workflows, short: { ...to.workflows.short, id } } };
}

const listRuns = (name: WorkflowName, apps: readonly BenchWorkflowApp[], runsPerApp: number): NewRun[] =>
  apps.flatMap(({ workspace_id, app_id, workflows }) =>
    Array.from({ length: runsPerApp }, () => ({
      workspace_id,
      app_id,
      workflow: workflows[name],
      trigger_type: 'manual' as const,
      input: { n: 0 },
      depth: 0,
      is_test_run: false,
    })),
  );

async function addWorkflows(call: Call, appId: string): Promise<BenchWorkflowApp['workflows']> {
  await call('PUT', `/api/apps/${appId}/entity-schemas/Task`, { name: 'Task', properties: { n: { type: 'integer' } } });
  const created: [string, NewRun['workflow']][] = [];
  for (const [name, workflow] of Object.entries(definitions)) {
    const { id, current_version_id } = (await call('POST', `/api/apps/${appId}/workflows`, { name, ...workflow })).body;
    created.push([name, { id, name, current_version_id }]);
  }
  return Object.fromEntries(created) as BenchWorkflowApp['workflows'];
}
