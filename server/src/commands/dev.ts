// Owns `plinth dev`: runs API and worker on this machine with demo data. Creates keys, the database and the demo data if
// they are missing, and says how to start PostgreSQL or Redis if one is not running.
import { fork } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { isInitialised } from '../core/identity/accounts.ts';
import { systemClock } from '../kit/clock.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';
import { serve } from './api.ts';
import { createFirstUser, issueToken } from './bootstrap.ts';
import { createDemoData } from './demo/demo.ts';
import { addMissingKeys, loadEnvFile } from './env-file.ts';
import { migrateAll, migrateUrl } from './migrate.ts';

export async function dev(): Promise<void> {
  const added = addMissingKeys();
  if (added.length > 0) {
    console.log(`added keys to .env: ${added.join(', ')}`);
    loadEnvFile();
  }
  const config: Config = { ...readConfig(), STRICT_ANSWERS: true };
  await requireServices(config);
  await createDatabaseIfMissing(migrateUrl(config));
  await migrateAll(migrateUrl(config), config.DATABASE_URL);
  const { token, isNew } = await issueDemoToken(config);
  const app = await serve(config);
  superviseWorker();
  if (isNew) await createDemoData(app, token, systemClock.now());
  console.log(welcomeText(config, token));
}

/** Runs a worker in a child process and restarts it when it exits. It exits when this process does. */
function superviseWorker(): void {
  const child = fork(fileURLToPath(new URL('../../plinth.js', import.meta.url)), ['worker']);
  child.once('exit', () => setTimeout(superviseWorker, 1_000));
}

const services = [
  {
    name: 'PostgreSQL',
    url: 'DATABASE_URL',
    port: 5432,
    start:
      'pg_ctlcluster 15 main start   (Debian), or: docker run -d -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:15',
  },
  {
    name: 'Redis',
    url: 'REDIS_URL',
    port: 6379,
    start: 'redis-server --daemonize yes   (or: docker run -d -p 6379:6379 redis:7)',
  },
] as const;

/** Throws a ConfigError that says which service is not running, at which address, and how to start it. */
async function requireServices(config: Config): Promise<void> {
  const down: string[] = [];
  for (const service of services) {
    const { hostname, port } = new URL(config[service.url]);
    const address = { host: hostname, port: Number(port) || service.port };
    if (await isListening(address)) continue;
    down.push(
      `${service.name} is not running at ${address.host}:${address.port} (${service.url}).\n  Start it: ${service.start}`,
    );
  }
  if (down.length > 0) throw new ConfigError(down.join('\n'));
}

function isListening(address: { host: string; port: number }): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ ...address, timeout: 2_000 });
  const finish = (listening: boolean) => {
    socket.destroy();
    resolve(listening);
  };
  socket.once('connect', () => finish(true));
  socket.once('error', () => finish(false));
  socket.once('timeout', () => finish(false));
  return promise;
}

async function createDatabaseIfMissing(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const admin = new URL(url);
  admin.pathname = '/postgres';
  const client = new pg.Client({ connectionString: admin.href });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

/** Issues a new token for the demo's owner at each start, because only hashes of tokens are stored. */
async function issueDemoToken(config: Config): Promise<{ token: string; isNew: boolean }> {
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    if (!(await isInitialised(db))) {
      const first = { email: 'demo@example.com', name: 'Demo Owner', workspace: 'Demo workspace' };
      return { token: await createFirstUser(db, config, first), isNew: true };
    }
    const owner = await db
      .selectFrom('memberships')
      .innerJoin('users', 'users.id', 'memberships.user_id')
      .where('users.is_operator', '=', true)
      .where('memberships.role', '=', 'owner')
      .orderBy('memberships.created_date')
      .select(['memberships.user_id', 'memberships.workspace_id'])
      .executeTakeFirstOrThrow();
    const { token } = await issueToken(db, config, owner.user_id, owner.workspace_id, new Date());
    return { token, isNew: false };
  } finally {
    await close();
  }
}

const welcomeText = ({ BASE_URL }: Config, token: string): string => `
Plinth is running at ${BASE_URL}   reference: ${BASE_URL}/docs

  curl -H 'Authorization: Bearer ${token}' ${BASE_URL}/api/apps
`;
