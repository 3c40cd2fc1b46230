// A drill's Plinth installation: its own migrated PostgreSQL, Redis, a folder, keys, workspaces with tokens, and
// Plinth's processes. Closing it stops everything in reverse order, even if starting it failed halfway.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKeys } from '../server/src/commands/keys.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { readConfig } from '../server/src/config.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Db, Tables } from '../server/src/tables.ts';
import { type BenchWorkspace, createBenchUser, createBenchWorkspace } from './fixtures.ts';
import { type OwnPostgres, startPostgres } from './postgres.ts';
import { type Kind, type Processes, startProcesses } from './processes.ts';
import { type OwnRedis, startRedis } from './redis.ts';

export type Settings = Readonly<Record<string, string>>;

export interface Installation extends AsyncDisposable {
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
  /** Deleted when the installation closes. */
  readonly folder: string;
  /** The keys, and the addresses of PostgreSQL, Redis and the file storage. */
  readonly settings: Settings;
  /** The drill's own connection pool, which does not pass through the product. */
  readonly db: Db;
  /** Additional clean-up to run when the installation closes. */
  readonly ends: AsyncDisposableStack;
  /** Creates a workspace with a token and a rate limit too high to be reached. One user owns all workspaces. */
  createWorkspace(): Promise<BenchWorkspace>;
  /**
   * Resolves when all processes are ready. `more` adds to the installation's settings, and `program` replaces the
   * command line.
   */
  startProcesses(counts: Record<Kind, number>, more?: Settings, program?: string): Promise<Processes>;
}

export async function startInstallation(): Promise<Installation> {
  await using starting = new AsyncDisposableStack();
  const postgres = await startPostgres();
  starting.defer(postgres.stop);
  const redis = await startRedis();
  starting.defer(redis.stop);
  const folder = mkdtempSync(join(tmpdir(), 'plinth-installation-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  await migrateAll(postgres.url);
  const settings = { ...newKeys(), DATABASE_URL: postgres.url, REDIS_URL: redis.url, STORAGE_FOLDER: folder };
  const { db, close } = openDatabase<Tables>({ url: postgres.url, poolSize: 4 });
  starting.defer(close);
  const user = await createBenchUser(db);
  const ends = starting.move();
  return {
    postgres,
    redis,
    folder,
    settings,
    db,
    ends,
    createWorkspace: () => createBenchWorkspace(db, readConfig(settings), user),
    async startProcesses(counts, more = {}, program) {
      const processes = await startProcesses(counts, { ...settings, ...more }, program);
      ends.defer(processes.stop);
      await processes.allReady();
      return processes;
    },
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}
