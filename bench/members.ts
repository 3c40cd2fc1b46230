// Measures the members list with 10,000, 100,000 and 1,000,000 members: over HTTP, and the operation alone compared
// with bare SQL for the same page and total, in time and in CPU. Also measures the cost of a role change at each size.
import { createSecretKey, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import type { Bench, Judged } from '../harness/bench.ts';
import { createDatabase, type Running, startApi } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { issueProof } from '../server/src/core/auth/issue-proof.ts';
import type { WorkspaceAccess } from '../server/src/core/auth/proofs.ts';
import { insertCredential } from '../server/src/core/identity/users.ts';
import { MemberQuery } from '../server/src/features/members/contract.ts';
import { encodeCursor, hashBinding } from '../server/src/features/members/cursor.ts';
import { listMembers } from '../server/src/features/members/list.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Db, Tables } from '../server/src/tables.ts';
import { call } from '../server/test/support/client.ts';
import { type Block, type CpuTime, countRuns, measureBlock, medianCpu, timed } from './members/blocks.ts';
import { type Case, casesFor } from './members/cases.ts';
import { type Crowd, seedCrowds } from './members/seed.ts';

const blocks = 9;
const signingKeyText = randomBytes(32).toString('base64');
const signingKey = createSecretKey(signingKeyText, 'base64');
const pepperText = `bench:${randomBytes(32).toString('base64')}`;
const pepper = { id: 'bench', key: createSecretKey(pepperText.slice(6), 'base64') };

interface Figure {
  readonly size: number;
  readonly name: string;
  readonly kind: Case['kind'];
  readonly p50: number;
  readonly p95: number;
  readonly operation_p50: number;
  readonly bare_p50: number;
  /**
   * The operation's duration as a multiple of the bare SQL's. `request_ratio` is the multiple for the whole request,
   * with its guards, HTTP and JSON.
   */
  readonly ratio: number;
  readonly request_ratio: number;
  /**
   * The CPU time of the operation and of the bare SQL. Their ratio and difference below are medians over the blocks.
   */
  readonly operation_cpu: CpuTime;
  readonly bare_cpu: CpuTime;
  readonly postgres_ratio: number;
  readonly node_more_ms: number;
  readonly exact: boolean;
}

export const members: Bench = async ({ quick, progress }) => {
  const database = await createDatabase('members');
  const client = new pg.Client(database.url);
  const beside = new pg.Client(database.url);
  let served: Running | undefined;
  try {
    await Promise.all([client.connect(), beside.connect()]);
    const startedAt = performance.now();
    const crowds = await seedCrowds(client, beside, quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]);
    progress(`seeded in ${rounded((performance.now() - startedAt) / 1000, 0)} s`);
    const tokens = await tokensFor(database.url, crowds);
    served = await startApi(environmentFor(database.url));
    const base = `http://127.0.0.1:${served.port}`;
    const figures: Figure[] = [];
    const own = openDatabase<Tables>({ url: database.url, poolSize: 1 });
    for (const crowd of crowds) {
      for (const question of await casesFor(client, crowd)) {
        const attempts = await prepareAttempts(base, own.db, client, crowd, tokens.get(crowd) ?? '', question);
        if (figures.length === 0) await warmUp(attempts);
        const figure = await measure(attempts, crowd, question, quick);
        figures.push(figure);
        progress(describeFigure(figure));
      }
    }
    await own.close();
    const changes = await roleChanges(client, crowds);
    progress(`a change of role: ${JSON.stringify(changes)}`);
    return {
      figures: { list: figures, role_change_ms: changes, p50_within_1_5x_bare: judgeFormerBar(figures) },
      judged: judge(figures, changes, crowds),
      skipped: quick ? ['1,000,000 members: the bars are judged at 100,000'] : [],
    };
  } finally {
    await served?.stop();
    await Promise.all([client.end(), beside.end()]);
    await database.drop();
  }
};

/** Three ways to get the same page, and the backend processes of the last two. */
interface Attempts {
  ask(): ReturnType<typeof call>;
  operation(): Promise<unknown>;
  bare(): Promise<pg.QueryResult>;
  readonly operationBackend: number;
  readonly bareBackend: number;
}

async function prepareAttempts(
  base: string,
  db: Db,
  client: pg.Client,
  crowd: Crowd,
  token: string,
  question: Case,
): Promise<Attempts> {
  const body = { ...question.body, ...(question.after && { cursor: cursorFor(crowd, question) }) };
  const access = issueProof<WorkspaceAccess>({
    caller: { user_id: crowd.owner_id } as WorkspaceAccess['caller'],
    workspace_id: crowd.workspace_id,
    plan: 'enterprise',
    role: 'owner',
  });
  const query = MemberQuery.parse(body);
  await client.query('deallocate all');
  (client as unknown as { connection: { parsedStatements: object } }).connection.parsedStatements = {};
  const findBackend = sql<{ pid: number }>`select pg_backend_pid() as pid`.compile(db);
  return {
    ask: () => call(base, 'POST', '/api/workspace/members/list', { as: token, body }),
    operation: () =>
      listMembers(db, { signingKey, staffEmailDomains: [], mail: { configured: false } }, access, query, new Date()),
    bare: () =>
      client.query({
        name: `${question.name}`.slice(0, 60),
        text: question.bare.text,
        values: [...question.bare.values],
      }),
    operationBackend: (await db.executeQuery(findBackend)).rows[0]?.pid ?? 0,
    bareBackend: (await client.query(findBackend.sql)).rows[0].pid,
  };
}

/** Warms up both sides, because the first to run would look slower until V8 has compiled the code. */
async function warmUp({ operation, bare }: Attempts): Promise<void> {
  for (let i = 0; i < 1_500; i += 1) {
    await operation();
    await bare();
  }
}

async function measure(attempts: Attempts, crowd: Crowd, question: Case, quick: boolean): Promise<Figure> {
  const { ask, operation, bare, operationBackend, bareBackend } = attempts;
  const got = await ask();
  if (got.status !== 200 || got.headers['x-cursor'] !== undefined) throw new Error(`${question.name}: ${got.text}`);
  const exact = got.body.total === question.total && Number((await bare()).rows[0].total) === question.total;
  const isSlow = question.kind === 'all';
  // PostgreSQL decides on the sixth execution whether a prepared statement gets a generic plan.
  for (let i = 0; i < (isSlow ? 2 : 8); i += 1) await Promise.all([ask(), operation(), bare()]);
  const asks = isSlow ? 1 : quick ? 2 : 12;
  const runs = await countRuns(operation, quick ? 40 : 120);
  const times: number[] = [];
  const operations: Block[] = [];
  const bares: Block[] = [];
  for (let block = 0; block < blocks; block += 1) {
    operations.push(await measureBlock(operation, runs, operationBackend));
    bares.push(await measureBlock(bare, runs, bareBackend));
    times.push(...(await timed(ask, asks)));
  }
  const compare = (of: (operation: Block, bare: Block) => number) =>
    median(operations.map((each, block) => of(each, bares[block] as Block)));
  const [operation_p50, bare_p50] = [operations, bares].map((list) => median(list.flatMap((block) => block.times)));
  return {
    size: crowd.size,
    name: question.name,
    kind: question.kind,
    p50: rounded(median(times)),
    p95: rounded(quantile(times, 0.95)),
    operation_p50: rounded(operation_p50 as number),
    bare_p50: rounded(bare_p50 as number),
    ratio: rounded(compare((one, other) => median(one.times) / median(other.times))),
    request_ratio: rounded(median(times) / (bare_p50 as number)),
    operation_cpu: medianCpu(operations),
    bare_cpu: medianCpu(bares),
    postgres_ratio: rounded(compare((one, other) => one.cpu.postgresMs / other.cpu.postgresMs)),
    node_more_ms: rounded(
      compare((one, other) => one.cpu.nodeMs - other.cpu.nodeMs),
      3,
    ),
    exact,
  };
}

const describeFigure = (figure: Figure): string =>
  [
    `${figure.size} ${figure.name}: p50 ${figure.p50} ms, p95 ${figure.p95} ms`,
    `operation ${figure.operation_p50} ms, bare ${figure.bare_p50} ms, ratio ${figure.ratio}`,
    `PostgreSQL ${figure.operation_cpu.postgresMs} and ${figure.bare_cpu.postgresMs} ms, ratio ${figure.postgres_ratio}`,
    `Node ${figure.operation_cpu.nodeMs} and ${figure.bare_cpu.nodeMs} ms, ${figure.node_more_ms} ms more`,
  ].join('; ');

/** Builds the cursor that the server would have returned. Paging up to it would take too long. */
function cursorFor(crowd: Crowd, { body, after, orderKey }: Case): string {
  return encodeCursor(signingKey, hashBinding(crowd.workspace_id, body, orderKey), after as NonNullable<Case['after']>);
}

/** Changes one member's role per transaction, alternating between the sizes. */
async function roleChanges(client: pg.Client, crowds: readonly Crowd[]): Promise<Record<number, number>> {
  const people = new Map<Crowd, string[]>();
  for (const crowd of crowds) {
    const { rows } = await client.query<{ user_id: string }>(
      "select user_id from memberships where workspace_id = $1 and role = 'editor' order by md5(user_id::text) limit 240",
      [crowd.workspace_id],
    );
    people.set(crowd, rows.map((row) => row.user_id)); // biome-ignore format: one line
  }
  const times = new Map(crowds.map((crowd) => [crowd, [] as number[]]));
  for (let block = 0; block <= blocks; block += 1) {
    for (const crowd of crowds) {
      const ids = people.get(crowd)?.splice(0, 20) ?? [];
      const change = () =>
        client.query({
          name: 'change_role',
          text: "update memberships set role = 'viewer' where workspace_id = $1 and user_id = $2",
          values: [crowd.workspace_id, ids.pop()],
        });
      const taken = await timed(change, ids.length);
      if (block > 0) times.get(crowd)?.push(...taken); // the first block is a warm-up
    }
  }
  return Object.fromEntries([...times].map(([crowd, taken]) => [crowd.size, rounded(median(taken), 3)]));
}

function judge(figures: readonly Figure[], changes: Record<number, number>, crowds: readonly Crowd[]): Judged[] {
  const [smallest = 0, largest = 0] = [crowds[0]?.size, crowds.at(-1)?.size];
  const atLargest = figures.filter((figure) => figure.size === largest);
  const fast = atLargest.filter(({ kind }) => kind === 'page' || kind === 'few');
  const small = (name: string) => figures.find((figure) => figure.size === smallest && figure.name === name)?.p50 ?? 0;
  return [
    judged(`pages and few matches at ${largest}: p95 <= 50 ms`, fast, ({ p95 }) => p95 <= 50),
    judged(
      `pages and few matches at ${largest}: p50 <= 2x that at ${smallest}`,
      fast,
      ({ p50, name }) => p50 <= 2 * small(name),
    ),
    judged(
      `about 1 % at ${largest}: p95 <= 150 ms`,
      atLargest.filter(({ kind }) => kind === 'percent'),
      ({ p95 }) => p95 <= 150,
    ),
    judged('p50 of the operation <= 1.7x bare SQL', figures, ({ ratio }) => ratio <= 1.7),
    judged(
      "PostgreSQL's CPU of the operation <= 1.6x bare SQL",
      figures,
      ({ postgres_ratio }) => postgres_ratio <= 1.6,
    ),
    judged(
      "Node's CPU of the operation <= 0.4 ms more than bare SQL",
      figures,
      ({ node_more_ms }) => node_more_ms <= 0.4,
    ),
    judged('total is exact', figures, ({ exact }) => exact),
    {
      bar: `a change of role at ${largest} costs <= 2x one at ${smallest}`,
      met: (changes[largest] ?? 0) <= 2 * (changes[smallest] ?? 0),
    },
  ];
}

function judged(bar: string, list: readonly Figure[], isMet: (figure: Figure) => boolean): Judged {
  const failed = list.filter((figure) => !isMet(figure)).map(({ size, name }) => `${name} at ${size}`);
  return { bar: failed.length === 0 ? bar : `${bar} (not: ${failed.join('; ')})`, met: failed.length === 0 };
}

/**
 * The former bar, now only reported. The operation adds the list's summary and the presentation of the members to the
 * bare SQL. This cost is constant and is now judged by CPU time.
 */
const judgeFormerBar = (figures: readonly Figure[]): Judged =>
  judged('p50 of the operation <= 1.5x bare SQL', figures, ({ ratio }) => ratio <= 1.5);

async function tokensFor(url: string, crowds: readonly Crowd[]): Promise<Map<Crowd, string>> {
  const { db, close } = openDatabase<Tables>({ url, poolSize: 1 });
  const tokens = new Map<Crowd, string>();
  for (const crowd of crowds) {
    const credential = {
      kind: 'personal_token',
      user_id: crowd.owner_id,
      workspace_id: crowd.workspace_id,
      permission: 'full_access',
    } as const;
    const { token } = await insertCredential(db, { peppers: [pepper], cellCode: '00' }, credential, new Date());
    tokens.set(crowd, token);
  }
  await close();
  return tokens;
}

const environmentFor = (url: string): Record<string, string> => ({
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '4',
  REDIS_PREFIX: `bench:${process.pid}:`,
  TOKEN_PEPPERS: pepperText,
  SIGNING_KEY: signingKeyText,
  MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  LOG_LEVEL: 'silent',
});
