// Owns what `plinth dev` needs before it starts: PostgreSQL and Redis that answer, a free port, and a database.
import { connect } from 'node:net';
import pg from 'pg';
import { type Config, ConfigError } from '../../config.ts';

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
export async function requireServices(config: Config): Promise<void> {
  const problems: string[] = [];
  for (const service of services) {
    const { hostname, port } = new URL(config[service.url]);
    const address = { host: hostname, port: Number(port) || service.port };
    if (await isListening(address)) continue;
    problems.push(
      `${service.name} is not running at ${address.host}:${address.port} (${service.url}).\n  Start it: ${service.start}`,
    );
  }
  if (config.PORT !== 0 && (await isListening({ host: config.HOST, port: config.PORT })))
    problems.push(
      `Port ${config.PORT} is in use. Is \`npm run dev\` running already?\n  Use another: PORT=8090 npm run dev`,
    );
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
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

export async function createDatabaseIfMissing(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const admin = new URL(url);
  admin.pathname = '/postgres';
  const client = new pg.Client({ connectionString: admin.href });
  await client.connect().catch((error: Error) => {
    throw new ConfigError(
      `PostgreSQL refused the connection: ${error.message}.\n  Set the role to use in .env: DATABASE_URL=postgres://USER:PASSWORD@127.0.0.1:5432/plinth`,
    );
  });
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
