// The drill's environment: its own git host and model, Plinth's processes, and workspaces with imported apps, each
// connected to its own repository. Everything is stopped by pid.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { type Processes, startProcesses } from '../../harness/processes.ts';
import type { Random } from '../../harness/random.ts';
import { type Call, retryingClient } from '../../harness/retrying-client.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';
import { type DrillCgroups, nameCgroups } from './cgroups.ts';
import { type Control, startControl } from './control.ts';
import { type DrillGitHost, startDrillGitHost } from './git-host.ts';
import { type DrillModel, startDrillModel } from './model.ts';
import type { DrillApp } from './requests.ts';
import type { Script } from './scripts.ts';

const program = fileURLToPath(new URL('process.ts', import.meta.url));

export interface Environment {
  readonly folder: string;
  /** The folder for the workers' session files. `temporary` is for other temporary files. */
  readonly sessionFolder: string;
  readonly temporary: string;
  readonly cgroups: DrillCgroups;
  readonly files: Files;
  /** The git host's token, which must not appear anywhere. */
  readonly canary: string;
  readonly apps: readonly DrillApp[];
  /** An API client for each workspace's owner. */
  readonly owners: readonly Call[];
  readonly control: Control;
  readonly model: DrillModel;
  readonly host: DrillGitHost;
  readonly processes: Processes;
  close(): Promise<void>;
}

/** The files for the journals and the processes' output. */
type Files = Readonly<Record<'boundaries' | 'clients' | 'modelCalls' | 'log', string>>;

/** An empty migrated database, and Redis. */
export interface Services {
  readonly databaseUrl: string;
  readonly redis: { readonly REDIS_URL?: string; readonly REDIS_PREFIX?: string };
}

export interface Size {
  readonly workspaces: number;
  readonly apps: number;
  readonly apis: number;
  readonly workers: number;
  /** How often each fault affects each git host call, if there are enough calls. */
  readonly faultRounds: number;
}

export async function openEnvironment(
  services: Services,
  size: Size,
  scripts: readonly Script[],
  random: Random,
): Promise<Environment> {
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { ...(await build(services, size, scripts, random, (end) => void ends.push(end))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  { databaseUrl, redis }: Services,
  size: Size,
  scripts: readonly Script[],
  random: Random,
  atEnd: (end: () => unknown) => void,
): Promise<Omit<Environment, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'coding-drill-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711); // commands run as a different user
  const files = {
    boundaries: join(folder, 'boundaries.jsonl'),
    clients: join(folder, 'clients.jsonl'),
    modelCalls: join(folder, 'model-calls.jsonl'),
    log: join(folder, 'processes.log'),
  };
  const canary = `ghp_${randomBytes(18).toString('hex')}`;
  const control = await startControl(files.boundaries);
  atEnd(control.close);
  const model = await startDrillModel(scripts, files.modelCalls, random);
  atEnd(model.close);
  const host = await startDrillGitHost(
    join(folder, 'host'),
    { token: canary, apps: size.apps, rounds: size.faultRounds },
    random,
  );
  atEnd(host.close);
  const cgroups = nameCgroups();
  atEnd(cgroups.remove);
  const settings = {
    ...newKeys(),
    ...host.settings,
    DATABASE_URL: databaseUrl,
    ...redis,
    MODEL_URL: model.url,
    STORAGE_FOLDER: join(folder, 'storage'),
    SESSION_FOLDER: join(folder, 'sessions'),
    TMPDIR: join(folder, 'temporary'),
    COMMAND_SANDBOX_CGROUP: cgroups.setting,
    WORKER_SLOTS: '8',
    DRILL_CONTROL: control.url,
    // Halves the time that processes take to start, because they are restarted constantly.
    NODE_COMPILE_CACHE:
      process.env.NODE_COMPILE_CACHE ?? fileURLToPath(new URL('../../.cache/compiled', import.meta.url)),
  };
  for (const path of [settings.STORAGE_FOLDER, settings.SESSION_FOLDER, settings.TMPDIR]) mkdirSync(path);
  const created = await createApps(size, settings);
  const processes = await startProcesses({ api: size.apis, worker: size.workers }, settings, program, files.log);
  atEnd(processes.stop);
  await processes.allReady();
  const owners = created.tokens.map((token) => retryingClient(processes.apis, token));
  const apps: DrillApp[] = [];
  for (const [index, app] of created.apps.entries()) {
    const repository = host.repositories[index] as string;
    const owner = owners[index % owners.length] as Call;
    await owner('PUT', `/api/apps/${app.id}/imported/repository`, {
      repository_full_name: repository,
      credentials: { token: canary },
    });
    apps.push({ ...app, repository });
  }
  const folders = { folder, sessionFolder: settings.SESSION_FOLDER, temporary: settings.TMPDIR };
  return { ...folders, cgroups, files, canary, apps, owners, control, model, host, processes };
}

async function createApps({ workspaces, apps }: Size, settings: Record<string, string>) {
  const config = readConfig(settings);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const user = await createBenchUser(db);
  const benches = [];
  for (let n = 0; n < workspaces; n += 1) benches.push(await createBenchWorkspace(db, config, user));
  const created: { id: string; token: string }[] = [];
  for (let n = 0; n < apps; n += 1) {
    const workspace = benches[n % workspaces] as (typeof benches)[number];
    const { id } = await createBenchApp(db, workspace, 'imported_app', `Drill ${n}`);
    created.push({ id, token: workspace.token });
  }
  await close();
  return { apps: created, tokens: benches.map(({ token }) => token) };
}
