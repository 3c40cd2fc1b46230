// How soon deliveries begin while a workspace is exported and while pg_dump runs, against the same rate with nothing beside.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Judged } from '../../harness/bench.ts';
import { quantile, rounded } from '../../harness/statistics.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { type Agent, type Environment, startEnvironment } from '../webhooks/environment.ts';
import { timeDeliveries } from '../webhooks/latency.ts';

const rate = 300;
const bar = { ratio: 2, addedMs: 30 };
const agentCount = 10;

interface Size {
  readonly records: number;
  readonly seconds: number;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: { records: 50_000, seconds: 3 },
  full: { records: 1_000_000, seconds: 20 },
};

/** Starts what holds snapshots. `isRunning` says whether it still does. */
type Start = (environment: Environment, workspaceId: string) => Promise<{ isRunning(): Promise<boolean> }>;

export const deliveryParts: Readonly<Record<string, { readonly what: string; readonly start: Start }>> = {
  export: { what: 'while a workspace is exported', start: startExport },
  dump: { what: 'while pg_dump runs', start: startDump },
};

export async function measureDeliveries(names: readonly string[], quick: boolean, progress: (line: string) => void) {
  const size = sizes[quick ? 'quick' : 'full'];
  const figures: Record<string, unknown> = {};
  const judged: Judged[] = [];
  const environment = await startEnvironment();
  try {
    const agents: Agent[] = [];
    for (let n = 0; n < agentCount; n += 1) agents.push(await environment.agentWith([`/one/${n}`]));
    const exported = agents[0] as Agent;
    await addRecords(environment, exported, size.records);
    const measure = async (what: string) => {
      const waits = await timeDeliveries(environment, agents, rate, size.seconds);
      progress(`${rate} deliveries/s ${what}: ${JSON.stringify(summarize(waits))}`);
      return waits;
    };
    await measure('to warm up');
    for (const name of names) {
      const { what, start } = deliveryParts[name] as (typeof deliveryParts)[string];
      const before = await measure('with nothing beside');
      const { waits, runs } = await measureBeside(
        environment,
        () => start(environment, exported.workspace_id),
        () => measure(what),
      );
      const alone = summarize([...before, ...(await measure('with nothing beside, again'))]);
      const beside = summarize(waits);
      figures[name] = { records: size.records, runs, alone, beside };
      judged.push({
        bar: `${rate} deliveries/s ${what}: p95 <= max(${bar.ratio}x, +${bar.addedMs} ms)`,
        met: beside.p95_ms <= Math.max(bar.ratio * alone.p95_ms, alone.p95_ms + bar.addedMs),
      });
    }
  } finally {
    await environment.close();
  }
  return { figures, judged };
}

const summarize = (waits: readonly number[]) => ({
  p50_ms: rounded(quantile(waits, 0.5)),
  p95_ms: rounded(quantile(waits, 0.95)),
  p99_ms: rounded(quantile(waits, 0.99)),
});

/** Measures while it runs. What ends meanwhile is started again. */
async function measureBeside(
  environment: Environment,
  start: () => ReturnType<Start>,
  measure: () => Promise<number[]>,
): Promise<{ waits: number[]; runs: number }> {
  let runs = 0;
  let isMeasured = false;
  const running = (async () => {
    while (!isMeasured) {
      const started = await start();
      runs += 1;
      while (await started.isRunning()) await sleep(50);
    }
  })();
  try {
    const waits = await Promise.race([measure(), running.then(() => Promise.reject(new Error('it ended too early')))]);
    return { waits, runs };
  } finally {
    isMeasured = true;
    await running;
    await environment.receiver.request('reset');
  }
}

async function withClient<Result>(environment: Environment, work: (client: pg.Client) => Promise<Result>) {
  const client = new pg.Client(environment.postgres.url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const addRecords = (environment: Environment, agent: Agent, count: number) =>
  withClient(environment, async (client) => {
    await client.query('set session_replication_role = replica'); // their number is not counted
    await client.query(
      `insert into entity_records (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date,
         size_bytes)
       select $1, first_id_at(now() - n * interval '1 ms'), 'Note',
         jsonb_build_object('title', 'record ' || n, 'text', repeat(md5(n::text), 10)), 'bench@example.com', $2, now(), now(), 400
       from generate_series(1, $3::integer) n`,
      [agent.id, newId(), count],
    );
    await client.query('analyze entity_records');
  });

/** The worker that makes the deliveries writes the archive. */
async function startExport(environment: Environment, workspaceId: string) {
  const id = newId();
  await withClient(environment, (client) =>
    client.query('insert into workspace_exports (workspace_id, id, state, created_date) values ($1, $2, $3, now())', [
      workspaceId,
      id,
      'queued',
    ]),
  );
  environment.app.wake.notify('workspace_exports');
  const isRunning = () =>
    withClient(environment, async (client) => {
      const { rows } = await client.query('select state, last_error from workspace_exports where id = $1', [id]);
      if (rows[0].last_error !== null) throw new Error(`the export failed: ${rows[0].last_error}`);
      return rows[0].state !== 'ready';
    });
  return { isRunning };
}

async function startDump({ postgres }: Environment) {
  const dump: ChildProcess = spawn('pg_dump', ['--format=custom', '--compress=0', postgres.url], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(dump, 'exit');
  ended.catch(() => {});
  return {
    async isRunning() {
      if (dump.exitCode === null && dump.signalCode === null) return true;
      const [code] = await ended;
      if (code !== 0) throw new Error('pg_dump failed');
      return false;
    },
  };
}
