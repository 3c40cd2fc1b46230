// Owns the environment of the drill: its own PostgreSQL and Redis, a language model, the receivers of webhooks, one API and
// one worker process with the default settings, both workspaces, the quiet caller and the attacker.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { startPostgres } from '../../bench/lib/postgres.ts';
import { startModelSandbox } from '../../sandbox/src/model.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Db, Tables } from '../../server/src/tables.ts';
import { call } from '../../server/test/support/client.ts';
import { type Processes, startProcesses } from '../lib/processes.ts';
import { startRedis } from '../lib/redis.ts';
import type { AttackOptions, AttackReport } from './attacker.ts';
import type { QuietCall } from './calls.ts';
import { nowMs } from './clock.ts';
import type { QuietOptions } from './quiet-caller.ts';
import type { Arrival } from './receiver.ts';
import {
  type HostileWorkspace,
  type QuietWorkspace,
  type SeedSize,
  seedHostile,
  seedQuiet,
  taskSchema,
} from './seed.ts';
import { hostileSchemas } from './ways/schemas.ts';

export interface Environment {
  readonly processes: Processes;
  readonly workspace: HostileWorkspace;
  /** Grow while the drill runs. */
  readonly calls: readonly QuietCall[];
  readonly arrivals: ReadonlyMap<number, number>;
  startQuietCalls(): void;
  stopQuietCalls(): Promise<void>;
  attack(way: string, seconds: number): Promise<AttackReport>;
  /** Rate limits begin anew, so that no way profits from an earlier one. */
  resetLimits(): Promise<unknown>;
  /** Waits until what the last way left behind is worked off, so that it does not count as the next way's doing. */
  settle(): Promise<unknown>;
  close(): Promise<void>;
}

const [webhooksPerApp, agentCount] = [20, 10];

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export async function startEnvironment(size: SeedSize, progress: (line: string) => void): Promise<Environment> {
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { ...(await build(size, (end) => void ends.push(end), progress)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  size: SeedSize,
  atEnd: (end: () => unknown) => void,
  progress: (line: string) => void,
): Promise<Omit<Environment, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'noisy-neighbour-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  atEnd(postgres.stop);
  const redis = await startRedis();
  atEnd(redis.stop);
  const model = await startModelSandbox();
  atEnd(model.close);
  model.behave('slow');
  const arrivals = new Map<number, number>();
  const quietReceiver = await startReceiver(fork(file('receiver.ts'), ['127.20.0.1']), arrivals);
  atEnd(quietReceiver.stop);
  const hostileReceiver = await startReceiver(forkNiced('receiver.ts', '127.20.0.2'), new Map());
  atEnd(hostileReceiver.stop);
  const settings = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    MODEL_URL: model.url,
    OUTBOUND_ALLOW: 'http://127.20.0.0/16',
    STORAGE_FOLDER: folder,
    // As docs/operate/install.md recommends: the garbage collector would otherwise let the heap grow with the machine.
    NODE_OPTIONS: '--max-old-space-size=256',
    MALLOC_ARENA_MAX: '2',
  };
  await migrateAll(postgres.url);
  const { quiet, hostile } = await seed(settings, size, hostileReceiver.url);
  progress(`${size.records} records, ${size.members} members and ${size.appUsers} app users of the hostile workspace`);
  const processes = await startProcesses({ api: 1, worker: 1 }, settings);
  atEnd(processes.stop);
  await processes.allReady();
  const [url = ''] = processes.apis;
  await prepareQuiet(url, quiet, quietReceiver.url);
  const workspace = await prepareHostile(url, hostile);
  progress('both workspaces are ready');
  const watch = openDatabase<Tables>({ url: postgres.url, poolSize: 1, applicationName: 'noisy-neighbour' });
  atEnd(watch.close);

  const port = Number(new URL(url).port);
  const calls: QuietCall[] = [];
  const caller = fork(file('quiet-caller.ts'));
  atEnd(() => caller.kill('SIGKILL'));
  caller.on('message', (made: QuietCall[]) => calls.push(...made));
  const attacker = forkNiced('attacker.ts');
  atEnd(() => attacker.kill('SIGKILL'));
  return {
    processes,
    workspace,
    calls,
    arrivals,
    startQuietCalls: () => void caller.send({ port, workspace: quiet } satisfies QuietOptions),
    async stopQuietCalls() {
      caller.send('stop');
      await once(caller, 'exit');
    },
    async attack(way, seconds) {
      attacker.send({ way, port, workspace, seconds } satisfies AttackOptions);
      const [report] = (await once(attacker, 'message')) as [AttackReport];
      return report;
    },
    resetLimits: redis.flush,
    settle: () => Promise.all([waitUntilIdle(watch.db), waitUntilServed(url, workspace)]),
  };
}

const maxSettleMs = 15_000;

/** No statement takes long, and no event is left that has not been dispatched. */
async function waitUntilIdle(db: Db): Promise<void> {
  for (const end = nowMs() + maxSettleMs; nowMs() < end; await sleep(200)) {
    const { rows } = await sql<{ is_idle: boolean }>`/* service */ select not exists (
        select from pg_stat_activity where state = 'active' and application_name <> 'noisy-neighbour'
          and backend_type = 'client backend' and query_start < clock_timestamp() - interval '50 ms')
      and (select count(*) from events where dispatched_at is null) < 10 as is_idle`.execute(db);
    if (rows[0]?.is_idle) return;
  }
}

/** The hostile workspace has waited for what it held the process for: the next way starts without that debt. */
async function waitUntilServed(url: string, { apps, members }: HostileWorkspace): Promise<void> {
  const headers = { authorization: `Bearer ${members[0]}` };
  await fetch(`${url}/api/apps/${apps[0]}`, { headers, signal: AbortSignal.timeout(maxSettleMs) }).catch(() => {});
}

/** A process that gives way to every other one. */
const forkNiced = (name: string, ...args: string[]): ChildProcess =>
  spawn('nice', ['-n', '19', process.execPath, file(name), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });

async function startReceiver(child: ChildProcess, arrivals: Map<number, number>) {
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  child.on('message', (arrived: Arrival[]) => {
    for (const { n, at } of arrived) if (!arrivals.has(n)) arrivals.set(n, at);
  });
  return { url: `http://${child.spawnargs.at(-1)}:${port}`, stop: () => void child.kill('SIGKILL') };
}

async function seed(settings: Record<string, string>, size: SeedSize, receiver: string) {
  const config = readConfig(settings);
  // One connection, and no time limit: inserting this much may take longer than any request is allowed to.
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1, silenceTimeoutMs: 600_000 });
  try {
    await sql`set statement_timeout = 0`.execute(db);
    await sql`set synchronous_commit = off`.execute(db);
    return { quiet: await seedQuiet(db, config), hostile: await seedHostile(db, config, size, receiver) };
  } finally {
    await close();
  }
}

async function prepareQuiet(url: string, { token, app_id }: QuietWorkspace, receiver: string): Promise<void> {
  await succeed(url, 'PUT', `/api/apps/${app_id}/entity-schemas/Task`, token, taskSchema);
  const webhook = { target_url: `${receiver}/quiet`, events: ['entity.updated'] };
  await succeed(url, 'POST', `/api/apps/${app_id}/webhooks`, token, webhook);
}

/** Webhooks of the third app never answer, those of the fourth do. Each member has a conversation with each agent. */
async function prepareHostile(url: string, hostile: HostileWorkspace): Promise<HostileWorkspace> {
  const [token = ''] = hostile.admins;
  for (const app of hostile.apps)
    await succeed(url, 'PUT', `/api/apps/${app}/entity-schemas`, token, { schemas: hostileSchemas });
  for (const [app, path] of [
    [hostile.apps[2], '/hang'],
    [hostile.apps[3], '/ok'],
  ])
    for (let n = 0; n < webhooksPerApp; n += 1) {
      const webhook = { target_url: `${hostile.receiver}${path}`, events: ['entity.created'] };
      await succeed(url, 'POST', `/api/apps/${app}/webhooks`, token, webhook);
    }
  const agents: HostileWorkspace['agents'][number][] = [];
  for (let n = 0; n < agentCount; n += 1) {
    const { id } = await succeed(url, 'POST', '/api/agents', token, { name: `Hostile ${n}` });
    const talks = hostile.members.map((member) => succeed(url, 'POST', `/api/agents/${id}/conversations`, member, {}));
    agents.push({ id, conversations: (await Promise.all(talks)).map((talk) => talk.id) });
  }
  return { ...hostile, agents };
}

async function succeed(url: string, method: string, path: string, as: string, body: object) {
  const answer = await call(url, method, path, { as, body });
  if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}
