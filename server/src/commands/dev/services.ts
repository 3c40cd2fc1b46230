// The prerequisites of `plinth dev`: running PostgreSQL and Redis servers, a free port, and a database.
import { connect } from 'node:net';
import pg from 'pg';
import { type Config, ConfigError } from '../../config.ts';
import { hostOf, isLoopback } from '../../kit/outbound/address.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

const services = [
  {
    name: 'PostgreSQL',
    url: 'DATABASE_URL',
    port: 5432,
    // Only this machine can reach the port, because the server asks for no password.
    start: (port: number) =>
      `sudo service postgresql start   (Debian), or: docker run -d -p 127.0.0.1:${port}:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:15`,
  },
  {
    name: 'Redis',
    url: 'REDIS_URL',
    port: 6379,
    start: (port: number) =>
      `redis-server --port ${port} --daemonize yes   (or: docker run -d -p 127.0.0.1:${port}:6379 redis:7)`,
  },
] as const;

/** Throws a ConfigError that lists each service that is not running, with its address and how to start it. */
export async function requireServices(config: Config): Promise<void> {
  const problems: string[] = [];
  for (const service of services) {
    const url = new URL(config[service.url]);
    const address = { host: hostOf(url), port: Number(url.port) || service.port };
    if (await isListening(address)) continue;
    const advice = isLoopback(url)
      ? `Start it: ${service.start(address.port)}`
      : `Start it on that machine, or correct ${service.url} in .env.`;
    problems.push(`${service.name} is not running at ${address.host}:${address.port} (${service.url}).\n  ${advice}`);
  }
  if (config.PORT !== 0 && (await isListening({ host: config.HOST, port: config.PORT })))
    problems.push(
      `Port ${config.PORT} is in use. Is \`npm run dev\` already running?\n  Use another: echo PORT=8090 >> .env, then start again`,
    );
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
}

function isListening(address: Address): Promise<boolean> {
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

export async function createDatabaseIfMissing(config: Config): Promise<void> {
  const { DATABASE_URL, MIGRATE_DATABASE_URL } = config;
  const url = MIGRATE_DATABASE_URL ?? DATABASE_URL;
  const setting = MIGRATE_DATABASE_URL === undefined ? 'DATABASE_URL' : 'MIGRATE_DATABASE_URL';
  const name = new URL(url).pathname.slice(1);
  const admin = new URL(url);
  admin.pathname = '/postgres';
  const client = new pg.Client({ connectionString: admin.href });
  await client.connect().catch((error: Error) => {
    throw new ConfigError(
      `PostgreSQL refused the connection: ${error.message}.\n  Set the role to use in .env: ${setting}=postgres://USER:PASSWORD@127.0.0.1:5432/plinth`,
    );
  });
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
