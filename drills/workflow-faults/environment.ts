// Owns the environment of the drill: its own PostgreSQL and Redis, the receiver, Plinth's processes, and workspaces with apps
// that have the workflows of all scenarios. Everything is stopped by its pid.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBenchUser, createBenchWorkspace } from '../../bench/lib/fixtures.ts';
import { type OwnPostgres, startPostgres } from '../../bench/lib/postgres.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';
import { type Processes, startProcesses } from '../lib/processes.ts';
import { startReceiver } from '../lib/receiver-process.ts';
import { type OwnRedis, startRedis } from '../lib/redis.ts';
import { type Call, retryingClient } from '../lib/retrying-client.ts';
import type { Scenario } from './scenario.ts';
import { createScenarios, entityNames, triggeredWorkflows } from './scenarios.ts';

export interface DrillApp {
  readonly id: string;
  readonly workspace: number;
  readonly token: string;
  /** Calls as the owner of its workspace, and retries until it is answered. */
  readonly call: Call;
  /** By their name. */
  readonly workflowIds: ReadonlyMap<string, string>;
  /** The path of the hook of each workflow that has one. */
  readonly hooks: ReadonlyMap<string, string>;
}

export interface Environment {
  readonly processes: Processes;
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
  readonly settings: Readonly<Record<string, string>>;
  readonly scenarios: readonly Scenario[];
  readonly apps: readonly DrillApp[];
  /** Calls hooks: without a credential. */
  readonly callHook: Call;
  /** The journal of the receiver. */
  readonly journal: string;
  /** Where the receiver listens. */
  readonly origin: string;
  close(): Promise<void>;
}

export interface EnvironmentSize {
  readonly workspaces: number;
  readonly appsPerWorkspace: number;
}

export async function startEnvironment(size: EnvironmentSize): Promise<Environment> {
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { ...(await build(size, (end) => void ends.push(end))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

const address = '127.20.0.1';

async function build(size: EnvironmentSize, atEnd: (end: () => unknown) => void): Promise<Omit<Environment, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'workflow-faults-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const journal = join(folder, 'received');
  const program = fileURLToPath(new URL('receiver.ts', import.meta.url));
  const receiver = await startReceiver(program, { folder, journal, addresses: [address] });
  atEnd(receiver.stop);
  const postgres = await startPostgres();
  atEnd(postgres.stop);
  const redis = await startRedis();
  atEnd(redis.stop);
  const settings = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    OUTBOUND_ALLOW: '127.20.0.0/16',
    NODE_EXTRA_CA_CERTS: receiver.authority,
    STORAGE_FOLDER: folder,
  };
  await migrateAll(postgres.url);
  const tokens = await createTokens(settings, size.workspaces);
  const processes = await startProcesses({ api: 2, worker: 2 }, settings);
  atEnd(processes.stop);
  await processes.allReady();
  const origin = `https://${address}:${receiver.port}`;
  const scenarios = createScenarios(origin);
  const apps: DrillApp[] = [];
  for (const [workspace, token] of tokens.entries())
    for (let n = 0; n < size.appsPerWorkspace; n += 1)
      apps.push({ ...(await createDrillApp(retryingClient(processes.apis, token), scenarios)), workspace, token });
  const callHook = retryingClient(processes.apis, '');
  return { processes, postgres, redis, settings, scenarios, apps, callHook, journal, origin };
}

async function createTokens(settings: Record<string, string>, count: number): Promise<string[]> {
  const config = readConfig(settings);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const user_id = await createBenchUser(db);
  const tokens: string[] = [];
  for (let n = 0; n < count; n += 1) tokens.push((await createBenchWorkspace(db, config, user_id)).token);
  await close();
  return tokens;
}

const properties = { token: { type: 'string' }, n: { type: 'integer' } };

async function createDrillApp(
  call: Call,
  scenarios: readonly Scenario[],
): Promise<Omit<DrillApp, 'workspace' | 'token'>> {
  const { id } = (await call('POST', '/api/apps', { name: 'Drill' })).body;
  for (const name of entityNames) await call('PUT', `/api/apps/${id}/entity-schemas/${name}`, { name, properties });
  const workflowIds = new Map<string, string>();
  const hooks = new Map<string, string>();
  for (const { name, definition, trigger } of [...scenarios, ...triggeredWorkflows]) {
    const workflow = (await call('POST', `/api/apps/${id}/workflows`, { name, definition, trigger })).body;
    workflowIds.set(name, workflow.id);
    if (workflow.hook_url) hooks.set(name, new URL(workflow.hook_url).pathname);
  }
  return { id, call, workflowIds, hooks };
}
