// The drill's environment: the receiver, Plinth's processes, and workspaces whose apps have all scenarios'
// workflows.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Installation, Settings } from '../../harness/installation.ts';
import type { OwnPostgres } from '../../harness/postgres.ts';
import type { Processes } from '../../harness/processes.ts';
import type { OwnRedis } from '../../harness/redis.ts';
import { type Call, retryingClient } from '../../harness/retrying-client.ts';
import { startReceiver } from '../lib/receiver-process.ts';
import type { Scenario } from './scenario.ts';
import { createScenarios, entityNames, triggeredWorkflows } from './scenarios.ts';

export interface DrillApp {
  readonly id: string;
  readonly workspace: number;
  readonly token: string;
  /** Calls the API as the workspace's owner, and retries until it gets a final response. */
  readonly call: Call;
  /** The app's workflow ids, by name. */
  readonly workflowIds: ReadonlyMap<string, string>;
  /** The hook paths, by workflow name. Only some workflows have a hook. */
  readonly hooks: ReadonlyMap<string, string>;
}

export interface Environment {
  readonly processes: Processes;
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
  readonly settings: Settings;
  readonly scenarios: readonly Scenario[];
  readonly apps: readonly DrillApp[];
  /** Calls hooks without a credential. */
  readonly callHook: Call;
  /** The receiver's journal file. */
  readonly journal: string;
  /** The receiver's origin. */
  readonly origin: string;
}

export interface EnvironmentSize {
  readonly workspaces: number;
  readonly appsPerWorkspace: number;
}

const address = '127.20.0.1';

export async function startEnvironment(installation: Installation, size: EnvironmentSize): Promise<Environment> {
  const { folder, postgres, redis, ends } = installation;
  const journal = join(folder, 'received');
  const program = fileURLToPath(new URL('receiver.ts', import.meta.url));
  const receiver = await startReceiver(program, { folder, journal, addresses: [address] });
  ends.defer(receiver.stop);
  const more = { OUTBOUND_ALLOW: '127.20.0.0/16', NODE_EXTRA_CA_CERTS: receiver.authority };
  const settings = { ...installation.settings, ...more };
  const processes = await installation.startProcesses({ api: 2, worker: 2 }, more);
  const origin = `https://${address}:${receiver.port}`;
  const scenarios = createScenarios(origin);
  const apps: DrillApp[] = [];
  for (let workspace = 0; workspace < size.workspaces; workspace += 1) {
    const { token } = await installation.createWorkspace();
    for (let n = 0; n < size.appsPerWorkspace; n += 1)
      apps.push({ ...(await createDrillApp(retryingClient(processes.apis, token), scenarios)), workspace, token });
  }
  const callHook = retryingClient(processes.apis, '');
  return { processes, postgres, redis, settings, scenarios, apps, callHook, journal, origin };
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
