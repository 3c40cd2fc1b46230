// A World whose connectors use the sandbox, and connections that a person made there. Each has a real consent, a
// real token exchange, and a row as the flow stores it.
import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { type AuthorizationServer, startAuthorizationServer } from '../../../sandbox/src/authorization-server.ts';
import { clientSettingsOf, connectorsWithClient } from '../../src/config/connectors.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { findConnector } from '../../src/features/connectors/catalogue.ts';
import { sealCredentials, sealTokens } from '../../src/features/connectors/sealed.ts';
import { createTokens, planRefresh } from '../../src/features/connectors/tokens/index.ts';
import { newId } from '../../src/kit/ids.ts';
import { runDueRows } from './run-queue.ts';
import { createTokenDeps } from './token-deps.ts';
import { type Person, startWorld, type World, type WorldOptions } from './world.ts';

/** Settings that point all connectors to the sandbox. */
export const sandboxSettings = (url: string): Record<string, string> => ({
  OUTBOUND_ALLOW: 'http://127.0.0.0/8',
  CONNECTOR_SANDBOX_URL: url,
  ...Object.fromEntries(
    connectorsWithClient.flatMap((type) => {
      const { id, secret } = clientSettingsOf(type);
      return [
        [id, `sandbox-${type}`],
        [secret, `sandbox-${type}-secret`],
      ];
    }),
  ),
});

export interface ConnectorScene {
  readonly world: World;
  readonly sandbox: AuthorizationServer;
  readonly owner: Person;
  readonly editor: Person;
  readonly workspace: string;
  readonly deps: ReturnType<typeof createTokenDeps>;
  readonly tokens: ReturnType<typeof createTokens>;
  newApp(): Promise<AppRow>;
  /** Connects as the editor. Returns the connection's id. */
  connect(app: AppRow, type: string, scopes?: readonly string[]): Promise<string>;
  connectByKey(app: AppRow, type: string, config: object, credentials: Record<string, string>): Promise<string>;
  find(id: string): ReturnType<typeof findRow>;
  /** Refreshes the tokens that are due, as a worker would. */
  refreshDue(): Promise<void>;
  /** Runs a job as a worker would. Returns its result. */
  runJob(name: string): Promise<number>;
}

const findRow = (world: World, id: string) =>
  world.db.selectFrom('connections').where('id', '=', id).selectAll().executeTakeFirstOrThrow();

export async function startConnectorScene(options: WorldOptions = {}): Promise<ConnectorScene> {
  const sandbox = await startAuthorizationServer();
  const world = await startWorld({
    ...options,
    environment: { ...sandboxSettings(sandbox.url), ...options.environment },
  });
  afterAll(() => sandbox.close());
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  const editor = await world.member(workspace, 'editor', 'editor@example.com');
  const deps = createTokenDeps(world.config.MASTER_KEYS, world.clock, sandbox.url, 1_000);
  const tokens = createTokens(deps);
  // The first exchange with a service creates its keys, which takes longer than the timeout in `deps`.
  const patient = createTokenDeps(world.config.MASTER_KEYS, world.clock, sandbox.url);
  afterAll(async () => {
    await deps.close();
    await patient.close();
  });

  const insert = async (app: AppRow, integration_type: string, columns: object) => {
    const id = newId();
    const now = world.clock.now();
    const shared = { id, workspace_id: app.workspace_id, app_id: app.id, integration_type, user_id: editor.id };
    const dates = { connected_at: now, created_date: now, updated_date: now };
    const sealed = 'seal' in columns ? (columns.seal as (id: string) => object)(id) : {};
    await world.db
      .insertInto('connections')
      .values({ ...shared, ...dates, status: 'active', ...columns, ...sealed, seal: undefined } as never)
      .execute();
    return id;
  };

  return {
    world,
    sandbox,
    owner,
    editor,
    workspace,
    deps,
    tokens,
    newApp: () => world.appOf(owner, workspace),
    async connect(app, type, scopes = ['read', 'write']) {
      const connector = findConnector(type);
      const client = connector && deps.endpoints.clientFor(connector, {}, workspace);
      if (client === undefined) throw new Error(`${type} has no client`);
      const codeVerifier = randomBytes(32).toString('base64url');
      const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');
      const redirectUri = 'http://127.0.0.1:8080/api/external-auth/callback';
      const back = await sandbox.consent(
        deps.oauth.authorizationUrl(client, { state: 'state', codeChallenge, scopes, redirectUri }),
      );
      const code = back.searchParams.get('code') ?? '';
      const result = await patient.oauth.exchange(client, { code, codeVerifier, redirectUri });
      if (result.kind !== 'tokens') throw new Error(`not connected: ${JSON.stringify(result)}`);
      return insert(app, type, {
        scopes: [...scopes],
        expires_at: result.expiresAt ?? null,
        next_refresh_at: planRefresh(world.clock.now(), result.expiresAt, result.refreshToken !== undefined),
        seal: (id: string) => sealTokens(deps.secrets, id, result),
      });
    },
    connectByKey: (app, type, config, credentials) =>
      insert(app, type, {
        connection_config: JSON.stringify(config),
        seal: (id: string) => ({ credentials_sealed: sealCredentials(deps.secrets, id, credentials) }),
      }),
    find: (id) => findRow(world, id),
    async refreshDue() {
      // Queues use the time of the database, which does not run ahead.
      const aheadMs = world.clock.aheadMs;
      await sql`update connection_refreshes set due_at = due_at - ${aheadMs} * interval '1 ms'
        where due_at <= now() + ${aheadMs} * interval '1 ms'`.execute(world.db);
      for (const queue of tokens.queues) await runDueRows(world, queue);
    },
    async runJob(name) {
      const job = tokens.jobs.find((each) => each.name === name);
      if (job === undefined) throw new Error(`no job ${name}`);
      return job.run(world.app.database.db, world.clock.now());
    },
  };
}
