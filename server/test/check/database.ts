// A check's PostgreSQL server. Its data is discarded afterwards, so the server does not wait for the disk, and
// creating and dropping each test file's database takes a tenth of the time. Autovacuum is off, because no database
// lives long enough to need it.
import { existsSync } from 'node:fs';
import { startPostgres } from '../../../harness/postgres.ts';

const settings = {
  max_connections: '300',
  shared_buffers: '512MB',
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '8GB',
};

/** Starts a server for this process's steps, unless TEST_DATABASE_URL names one. The server stops with the process. */
export async function prepareDatabase(): Promise<void> {
  if (process.env.TEST_DATABASE_URL !== undefined) return;
  if (!existsSync('/usr/lib/postgresql')) {
    console.log('PostgreSQL is not in /usr/lib/postgresql: the tests use the server at 127.0.0.1:5432');
    return;
  }
  const { port, stop } = await startPostgres(settings);
  process.once('exit', stop);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.env.TEST_DATABASE_URL = `postgres://postgres@127.0.0.1:${port}`;
}
