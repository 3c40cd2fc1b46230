// Owns the PostgreSQL server of a check. Its data is thrown away, so it need not wait for the disk: creating and dropping the
// database of each test file takes a tenth of the time. Nor is it vacuumed: no database lives that long.
import { existsSync } from 'node:fs';
import { startPostgres } from '../../../bench/lib/postgres.ts';

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

/** Starts a server for the steps of this process, unless TEST_DATABASE_URL names one. It stops with the process. */
export async function prepareDatabase(): Promise<void> {
  if (process.env.TEST_DATABASE_URL !== undefined || !existsSync('/usr/lib/postgresql')) return;
  const { port, stop } = await startPostgres(settings);
  process.once('exit', stop);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.env.TEST_DATABASE_URL = `postgres://postgres@127.0.0.1:${port}`;
}
