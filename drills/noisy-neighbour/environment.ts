// The drill's environment: its own PostgreSQL and Redis, a language model, webhook receivers, one API and one
// worker process with the default settings, both workspaces, the quiet caller and the attacker.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { startPostgres } from '../../harness/postgres.ts';
import { type Processes, startProcesses } from '../../harness/processes.ts';
import { startRedis } from '../../harness/redis.ts';
import { startModelSandbox } from '../../sandbox/src/model.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Db, Tables } from '../../server/src/tables.ts';
import { call } from '../../server/test/support/client.ts';
import type { AttackOptions, AttackReport } from './attacker.ts';
import type { QuietCall } from './calls.ts';
import { nowMs } from './clock.ts';
import { longWorkflow } from './long-workflow.ts';
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
  /** The calls so far, and their deliveries' arrival times. Both grow during the drill. */
  readonly calls: readonly QuietCall[];
  readonly arrivals: ReadonlyMap<number, number>;
  startQuietCalls(): void;
  stopQuietCalls(): Promise<void>;
  attack(way: string, seconds: number): Promise<AttackReport>;
  /** Resets the rate limits, so earlier attacks do not weaken the next one. */
  resetLimits(): Promise<unknown>;
  /** Waits until the last attack's remaining work is done, so it is not attributed to the next attack. */
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
    // As recommended in docs/operate/install.md. Otherwise the garbage collector would let the heap grow with the
    // machine's memory.
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

/** Waits until there are no long-running statements and almost all events have been dispatched. */
async function waitUntilIdle(db: Db): Promise<void> {
  for (const end = nowMs() + maxSettleMs; nowMs() < end; await sleep(200)) {
    const { rows } = await sql<{ is_idle: boolean }>`/* service */ select not exists (
        select from pg_stat_activity where state = 'active' and application_name <> 'noisy-neighbour'
          and backend_type = 'client backend' and query_start < clock_timestamp() - interval '50 ms')
      and (select count(*) from events where dispatched_at is null) < 10 as is_idle`.execute(db);
    if (rows[0]?.is_idle) return;
  }
}

/**
 * Waits until the hostile workspace is served again, so the last attack's waiting time does not delay the next attack.
 */
async function waitUntilServed(url: string, { apps, members }: HostileWorkspace): Promise<void> {
  const headers = { authorization: `Bearer ${members[0]}` };
  await fetch(`${url}/api/apps/${apps[0]}`, { headers, signal: AbortSignal.timeout(maxSettleMs) }).catch(() => {});
}

/** Starts a process with the lowest priority. */
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
  // Uses one connection without a time limit, because inserting this much data can take longer than any request may.
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

/**
 * The third app's webhook endpoints never respond, and the fourth app's do. Each member has a conversation with each
 * agent.
 */
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
  return { ...hostile, agents, run: await startLongRun(url, hostile) };
}

async function startLongRun(url: string, { apps, admins }: HostileWorkspace): Promise<HostileWorkspace['run']> {
  const [token = ''] = admins;
  const path = `/api/apps/${apps[0]}/workflows`;
  const { id } = await succeed(url, 'POST', path, token, longWorkflow);
  const { run_id } = await succeed(url, 'POST', `${path}/${id}/run-now`, token, { input: {} });
  return { workflow_id: id, run_id };
}

async function succeed(url: string, method: string, path: string, as: string, body: object) {
  const answer = await call(url, method, path, { as, body });
  if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}
