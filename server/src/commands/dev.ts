// plinth dev: from a clean clone to a running platform with demo data, on this machine. Makes keys, the database and
// the demo when they are missing, and says what it needs when it cannot.
import { fork } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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
import { formatKeys, newKeys } from './keys.ts';
import { migrateAll } from './migrate.ts';

export async function dev(): Promise<void> {
  addMissingKeys();
  const config: Config = { ...readConfig(), STRICT_ANSWERS: true };
  await requireServices(config);
  await createDatabaseIfMissing(config.DATABASE_URL);
  await migrateAll(config.DATABASE_URL);
  const { token, isNew } = await issueDemoToken(config);
  const app = await serve(config);
  superviseWorker();
  if (isNew) await createDemoData(app, token, systemClock.now());
  console.log(welcomeText(config, token));
}

/** A worker in a process of its own, started again when it ends; it ends when this process does. */
function superviseWorker(): void {
  const child = fork(fileURLToPath(new URL('../main.ts', import.meta.url)), ['worker']);
  child.once('exit', () => setTimeout(superviseWorker, 1_000));
}

/** Keys that a newer release needs are added to an older .env. */
function addMissingKeys(): void {
  const present = existsSync('.env') ? readFileSync('.env', 'utf8') : '';
  const missing = Object.entries(newKeys()).filter(([name]) => !new RegExp(`^${name}=`, 'm').test(present));
  if (missing.length === 0) return;
  const heading = present === '' ? '# made by `npm run dev`; see docs/configuration.md\n' : '';
  writeFileSync('.env', heading + present + formatKeys(Object.fromEntries(missing)), { mode: 0o600 });
  console.log(`made keys in .env: ${missing.map(([name]) => name).join(', ')}`);
  process.loadEnvFile('.env');
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

/** Says which service is down, where it was looked for, and how to start it. */
async function requireServices(config: Config): Promise<void> {
  const down: string[] = [];
  for (const service of services) {
    const { hostname, port } = new URL(config[service.url]);
    const place = { host: hostname, port: Number(port) || service.port };
    if (await isListening(place)) continue;
    down.push(
      `${service.name} does not answer at ${place.host}:${place.port} (${service.url}).\n  Start it: ${service.start}`,
    );
  }
  if (down.length > 0) throw new ConfigError(down.join('\n'));
}

function isListening(place: { host: string; port: number }): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ ...place, timeout: 2_000 });
  const end = (answer: boolean) => {
    socket.destroy();
    resolve(answer);
  };
  socket.once('connect', () => end(true));
  socket.once('error', () => end(false));
  socket.once('timeout', () => end(false));
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

/** A new token for the demo's owner at each start: an old one's text is kept nowhere. */
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
