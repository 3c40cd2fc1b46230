// The drill's environment: its own database, two API processes and a worker, a webhook endpoint, two workspaces
// with three apps, and the callers.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createDatabase, killProcess, startApi } from '../../harness/services.ts';
import { type ReceivedRequest, startWebhookEndpoint } from '../../sandbox/src/webhook-endpoint.ts';
import { createApp } from '../../server/src/app.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { readConfig } from '../../server/src/config.ts';
import { issueProof } from '../../server/src/core/auth/issue-proof.ts';
import type { WorkspaceAccess } from '../../server/src/core/auth/proofs.ts';
import type { Route } from '../../server/src/core/auth/route.ts';
import { insertApp } from '../../server/src/core/identity/apps.ts';
import { createLog } from '../../server/src/kit/log.ts';
import type { Db } from '../../server/src/tables.ts';
import type { CallerKind, TenantLetter } from './caller-kinds.ts';
import { createCallerKinds } from './callers.ts';
import { call, openClient, type Send } from './client.ts';
import { createFixtures, type Fixtures, marker } from './fixtures.ts';
import { fillTenant, type Tenant } from './tenant.ts';

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export interface Environment {
  readonly send: Send;
  readonly db: Db;
  readonly routes: readonly Route[];
  readonly tenants: Readonly<Record<TenantLetter, Tenant>>;
  readonly kinds: readonly CallerKind[];
  close(): Promise<void>;
}

export async function startEnvironment(
  connections: number,
  records: number,
  onReceived: (received: ReceivedRequest) => void,
): Promise<Environment> {
  const database = await createDatabase('tenant_isolation');
  const receiver = await startWebhookEndpoint({ address: '127.0.0.1', onRequest: onReceived });
  const environment = {
    ...newKeys(),
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '16',
    REDIS_PREFIX: `bench:${process.pid}:`,
    OUTBOUND_ALLOW: `http://127.0.0.1:${receiver.port}`,
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'error',
  };
  const env = { PATH: process.env.PATH ?? '', ...environment };
  const config = readConfig(environment);
  const app = createApp(config, { migrations: [], log: createLog('error') });
  // Starts two processes, because a process delays a workspace that has kept it busy.
  const apis = [await startApi(env), await startApi(env)];
  const worker = fork(file('../../server/src/main.ts'), ['worker'], { env });
  const client = openClient(
    apis.map(({ port }) => port),
    connections,
  );
  const receiverUrl = `http://127.0.0.1:${receiver.port}`;
  const close = async () => {
    client.close();
    await killProcess(worker);
    for (const api of apis) await api.stop();
    await app.close();
    await receiver.close();
    await database.drop();
  };
  try {
    const fixtures = createFixtures(app, config);
    const tenants = await createTenants(fixtures, client.send, receiverUrl);
    for (const tenant of Object.values(tenants)) await fillTenant(client.send, tenant, records);
    const kinds = await createCallerKinds(fixtures, tenants, client.send);
    return { send: client.send, db: app.database.db, routes: app.routes, tenants: tenants, kinds, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function createTenants(
  fixtures: Fixtures,
  send: Send,
  receiverUrl: string,
): Promise<Record<TenantLetter, Tenant>> {
  const victim = await fixtures.person('victim');
  const other = await fixtures.person('other');
  const [first, second] = [await fixtures.workspace(victim), await fixtures.workspace(other)];
  const tenant = async (letter: TenantLetter, user_id: string, workspace_id: string): Promise<Tenant> => {
    const token = await fixtures.credential({ kind: 'personal_token', user_id, workspace_id });
    const mark = marker();
    const caller = { user_id } as WorkspaceAccess['caller'];
    const access = issueProof<WorkspaceAccess>({ caller, workspace_id, plan: 'enterprise', role: 'owner' });
    const about = { name: `App ${mark}`, user_description: mark } as const;
    const app = await insertApp(
      fixtures.db,
      access,
      {
        ...about,
        app_type: 'user_app',
        visibility: letter === 'a' ? 'private' : 'workspace',
        public_settings: letter === 'b' ? 'public_without_login' : 'public_with_login',
      },
      fixtures.now,
    );
    const agent = await insertApp(
      fixtures.db,
      access,
      { ...about, app_type: 'user_agent', visibility: 'private', public_settings: 'private_with_login' },
      fixtures.now,
    );
    const folder = await call(send, token, 'POST', '/api/app-folders', {
      name: `Folder ${letter}`,
      scope: 'workspace',
    });
    return {
      letter,
      app_id: app.id,
      agent_id: agent.id,
      folder_id: folder.id,
      workspace_id,
      owner_id: user_id,
      marker: mark,
      token,
      receiverUrl: `${receiverUrl}/${letter}`,
      kept: {},
      live: {},
      keys: [],
      cursors: [],
      idempotencyKeys: [],
    };
  };
  return {
    a: await tenant('a', victim, first),
    b: await tenant('b', victim, first),
    c: await tenant('c', other, second),
  };
}
