// Sets up the drill's installation: its own PostgreSQL, which logs every statement, the API, and callers with one app
// each.
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { postgresUid, startPostgres } from '../../harness/postgres.ts';
import { startApi } from '../../harness/services.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { hashToken } from '../../server/src/core/auth/tokens.ts';
import { insertCredential, insertMembership, insertUser } from '../../server/src/core/identity/users.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';

const workspaces = 50;
const callersPerWorkspace = 10;
/** Additional callers whose rights are changed. */
const changedCallers = 10;

/** A person with one token and one app. */
export interface Caller {
  readonly token: string;
  /** The token's hash in hexadecimal, as it appears in statements. */
  readonly hash: string;
  readonly credentialId: string;
  readonly userId: string;
  readonly workspaceId: string;
  readonly appId: string;
  readonly appName: string;
}

export interface Environment {
  readonly port: number;
  readonly callers: readonly Caller[];
  readonly changed: readonly Caller[];
  /** The drill's own connection, which does not pass through the product. */
  readonly client: pg.Client;
  readonly logFile: string;
  close(): Promise<void>;
}

export async function startEnvironment(checkout?: string): Promise<Environment> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-lookups-'));
  if (process.getuid?.() === 0) chownSync(folder, postgresUid(), -1);
  const postgres = await startPostgres({
    max_connections: '100',
    shared_buffers: '128MB',
    fsync: 'off',
    logging_collector: 'on',
    log_directory: `'${folder}'`,
    log_filename: "'statements'",
    log_statement: 'all',
    log_line_prefix: "''",
  });
  await migrateAll(postgres.url);
  const environment = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    DATABASE_POOL_SIZE: '16',
    REDIS_PREFIX: `drill:${process.pid}:`,
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'silent',
  };
  const all = await createCallers(environment);
  const api = await startApi(environment, checkout);
  const client = new pg.Client(postgres.url);
  await client.connect();
  return {
    port: api.port,
    callers: all.slice(changedCallers),
    changed: all.slice(0, changedCallers),
    client,
    logFile: join(folder, 'statements'),
    async close() {
      await client.end();
      await api.stop();
      postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Interleaves the workspaces, so concurrent callers are mostly from different workspaces. */
async function createCallers(environment: Record<string, string>): Promise<Caller[]> {
  const config = readConfig(environment);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const owner = await createBenchUser(db);
  const places = [];
  for (let n = 0; n < workspaces; n += 1) places.push(await createBenchWorkspace(db, config, owner));
  const keys = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const callers: Caller[] = [];
  for (let n = 0; n < workspaces * callersPerWorkspace + changedCallers; n += 1) {
    const place = places[n % workspaces] as (typeof places)[number];
    const { workspace_id } = place;
    const now = new Date();
    const person = { email: `caller${n}@example.com`, full_name: `Caller ${n}`, email_verified: true };
    const user_id = await insertUser(db, person, now);
    await insertMembership(db, { workspace_id, user_id, role: 'admin' }, now);
    const mine = { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' } as const;
    const { id: credentialId, token } = await insertCredential(db, keys, mine, now);
    const appName = `App of caller ${n}`;
    const { id: appId } = await createBenchApp(db, place, 'user_app', appName);
    const hash = hashToken(token, config.TOKEN_PEPPERS[0]).toString('hex');
    callers.push({ token, hash, credentialId, userId: user_id, workspaceId: workspace_id, appId, appName });
  }
  await close();
  return callers;
}
