// Owns the environment of the drill: its own PostgreSQL and Redis, the model, Plinth's processes, and a workspace with apps.
// Everything is stopped by its pid.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBenchUser, createBenchWorkspace } from '../../bench/lib/fixtures.ts';
import { startPostgres } from '../../bench/lib/postgres.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';
import { type Processes, startProcesses } from '../lib/processes.ts';
import type { Random } from '../lib/random.ts';
import { startRedis } from '../lib/redis.ts';
import { type Call, retryingClient } from '../lib/retrying-client.ts';
import { type ModelCall, startDrillModel } from './model.ts';

export const appsDomain = 'apps.localhost';

export interface DrillApp {
  readonly id: string;
  readonly slug: string;
}

export interface Environment {
  readonly processes: Processes;
  /** Retries until it is answered, or until the signal is aborted. */
  readonly createClient: (signal?: AbortSignal) => Call;
  readonly apps: readonly DrillApp[];
  readonly modelCalls: readonly ModelCall[];
  close(): Promise<void>;
}

export async function startEnvironment(appCount: number, random: Random): Promise<Environment> {
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { ...(await build(appCount, random, (end) => void ends.push(end))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  appCount: number,
  random: Random,
  atEnd: (end: () => unknown) => void,
): Promise<Omit<Environment, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'builder-drill-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  atEnd(postgres.stop);
  const redis = await startRedis();
  atEnd(redis.stop);
  const { model, calls } = await startDrillModel(random);
  atEnd(model.close);
  const settings = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    MODEL_URL: model.url,
    STORAGE_FOLDER: folder,
    APPS_DOMAIN: appsDomain,
  };
  await migrateAll(postgres.url);
  const token = await createToken(settings);
  const processes = await startProcesses({ api: 2, worker: 2 }, settings);
  atEnd(processes.stop);
  await processes.allReady();
  const createClient = (signal?: AbortSignal) => retryingClient(processes.apis, token, signal);
  const call = createClient();
  const apps: DrillApp[] = [];
  for (let n = 0; n < appCount; n += 1) apps.push((await call('POST', '/api/apps', { name: `Drill ${n}` })).body);
  return { processes, createClient, apps, modelCalls: calls };
}

async function createToken(settings: Record<string, string>): Promise<string> {
  const config = readConfig(settings);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const { token } = await createBenchWorkspace(db, config, await createBenchUser(db));
  await close();
  return token;
}
