// Measures how long reading a conversation's newest page takes with 10,000 messages compared with 10, over HTTP, and
// how much memory one API process uses per streamed reply, with 200 concurrent replies.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Bench } from '../harness/bench.ts';
import { type BenchWorkspace, createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { createDatabase, startApi } from '../harness/services.ts';
import { median, rounded } from '../harness/statistics.ts';
import { startModelSandbox } from '../sandbox/src/model.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Db, Tables } from '../server/src/tables.ts';
import { call, type EventStream, stream } from '../server/test/support/client.ts';

const bar = 1.5;
const streams = 200;
const perStreamBar = 512; // KiB
const [workers, workspaceCount] = [2, 8]; // a worker runs at most 128 replies concurrently, 32 per workspace
const metricsToken = 'bench';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export const agents: Bench = async ({ quick, progress }) => {
  const fresh = await createDatabase('agents');
  const model = await startModelSandbox();
  const settings = {
    ...newKeys(),
    DATABASE_URL: fresh.url,
    REDIS_PREFIX: `bench:${process.pid}:`,
    MODEL_URL: model.url,
    METRICS_TOKEN: metricsToken,
    LOG_LEVEL: 'error',
  };
  const database = openDatabase<Tables>({ url: fresh.url, poolSize: 4 });
  const api = await startApi(settings);
  const workerProcesses = Array.from({ length: workers }, () =>
    spawn(process.execPath, [file('../server/src/main.ts'), 'worker'], {
      env: { ...process.env, ...settings },
      stdio: ['ignore', process.stderr, 'inherit'],
    }),
  );
  const url = `http://127.0.0.1:${api.port}`;
  try {
    const workspaces = await seed(database.db, settings);
    const pages = await measurePages(database.db, url, workspaces[0] as BenchWorkspace, quick ? 21 : 61, progress);
    const watching = await measureStreams(url, workspaces, model, progress);
    return {
      figures: { ...pages, ...watching },
      judged: [
        { bar: `newest page of 10,000 <= ${bar}x that of 10`, met: pages.ratio <= bar },
        { bar: `all of ${streams} streams receive and complete`, met: watching.completed === streams },
        { bar: `memory per stream <= ${perStreamBar} KiB`, met: watching.rss_kib_per_stream <= perStreamBar },
      ],
      skipped: [],
    };
  } finally {
    for (const worker of workerProcesses) worker.kill('SIGKILL');
    await api.stop();
    await model.close();
    await database.close();
    await fresh.drop();
  }
};

async function seed(db: Db, settings: Record<string, string>): Promise<BenchWorkspace[]> {
  const user_id = await createBenchUser(db);
  const workspaces: BenchWorkspace[] = [];
  for (let place = 0; place < workspaceCount; place += 1)
    workspaces.push(await createBenchWorkspace(db, readConfig(settings), user_id));
  return workspaces;
}

/** Inserts an agent with a conversation of this length. Returns the conversation's path. */
async function insertConversation(db: Db, workspace: BenchWorkspace, messages: number): Promise<string> {
  const { workspace_id, user_id } = workspace;
  const now = new Date();
  const app = await createBenchApp(db, workspace, 'user_agent');
  const id = newId();
  await sql`insert into agent_conversations
    (workspace_id, id, app_id, user_id, metadata, last_position, created_date, updated_date)
    values (${workspace_id}, ${id}, ${app.id}, ${user_id}, '{}', ${messages}, ${now}, ${now})`.execute(db);
  await sql`insert into agent_messages
    (workspace_id, conversation_id, position, id, role, content, created_date, updated_date)
    select ${workspace_id}, ${id}, n, gen_random_uuid(), case n % 2 when 1 then 'user' else 'assistant' end,
      repeat('What was said. ', 20), ${now}, ${now} from generate_series(1, ${messages}::int) n`.execute(db);
  return `/api/agents/${app.id}/conversations/${id}`;
}

const requestsABlock = 60;

async function measurePages(
  db: Db,
  url: string,
  workspace: BenchWorkspace,
  blocks: number,
  progress: (line: string) => void,
) {
  const paths = {
    long: await insertConversation(db, workspace, 10_000),
    short: await insertConversation(db, workspace, 10),
  };
  await sql`analyze agent_messages`.execute(db);
  const timed = async (path: string): Promise<number> => {
    const times: number[] = [];
    for (let n = 0; n < requestsABlock; n += 1) {
      const startedAt = performance.now();
      const { status, body } = await call(url, 'GET', `${path}?limit=10`, { as: workspace.token });
      times.push(performance.now() - startedAt);
      if (status !== 200 || body.messages.length !== 10) throw new Error(`a page answered ${status}`);
    }
    return median(times);
  };
  await timed(paths.long);
  await timed(paths.short);
  const [long, short]: [number[], number[]] = [[], []];
  for (let block = 0; block < blocks; block += 1) {
    // The two paths take turns going first.
    const order = block % 2 === 0 ? ([short, long] as const) : ([long, short] as const);
    for (const times of order) times.push(await timed(times === long ? paths.long : paths.short));
  }
  const ratio = median(long.map((ms, block) => ms / (short[block] as number)));
  progress(`pages: ${rounded(median(short))} ms of 10, ${rounded(median(long))} ms of 10,000`);
  return {
    blocks,
    page_ms_of_10: rounded(median(short), 3),
    page_ms_of_10_000: rounded(median(long), 3),
    ratio: rounded(ratio, 3),
  };
}

async function measureStreams(
  url: string,
  workspaces: readonly BenchWorkspace[],
  model: Awaited<ReturnType<typeof startModelSandbox>>,
  progress: (line: string) => void,
) {
  model.script(() => ({ text: 'word '.repeat(60) }));
  const talks = await Promise.all(
    Array.from({ length: streams }, async (_, n) => {
      const workspace = workspaces[n % workspaceCount] as BenchWorkspace;
      const agent = await call(url, 'POST', '/api/agents', { as: workspace.token, body: { name: `Agent ${n}` } });
      const at = `/api/agents/${agent.body.id}/conversations`;
      const conversation = await call(url, 'POST', at, { as: workspace.token });
      return { as: workspace.token, path: `${at}/${conversation.body.id}/messages` };
    }),
  );
  const open = ({ as, path }: (typeof talks)[number]) => stream(url, path, { as, body: { content: 'Hello' } });
  // Warms up, because memory that the process needs in any case must not count.
  await Promise.all(talks.slice(0, 20).map(async (talk) => (await open(talk)).ended));
  model.behave('slow');
  const before = await memoryOf(url);
  const startedAt = performance.now();
  const watched: EventStream[] = await Promise.all(talks.map(open));
  await Promise.all(watched.map((each) => each.until('message.delta')));
  const firstSeconds = (performance.now() - startedAt) / 1000;
  progress(`streams: all of ${streams} receive after ${rounded(firstSeconds)} s`);
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  const during = await memoryOf(url);
  const came = watched.reduce((sum, { events }) => sum + events.length, 0);
  model.behave('well');
  await Promise.all(watched.map(({ ended }) => ended));
  const completed = watched.filter(({ events }) => events.at(-1)?.event === 'message.completed').length;
  return {
    streams,
    completed,
    seconds_until_all_receive: rounded(firstSeconds),
    events_while_open: came,
    rss_kib_per_stream: rounded((during - before) / streams / 1024, 1),
  };
}

/** The API process's resident memory, in bytes. */
async function memoryOf(url: string): Promise<number> {
  const { text } = await call(url, 'GET', '/metrics', { as: metricsToken });
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
}
