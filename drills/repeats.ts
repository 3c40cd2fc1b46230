// Drill: a client that follows the rules of docs/guides/retries.md sends changes through a proxy that loses, delays and
// cuts answers, answers 503 in the place of Plinth, or kills the process once it has answered. Judged by what the
// client was told and what PostgreSQL has, read without the product: every change takes effect once, no success is
// reported as a refusal, and every unknown outcome is said. The same requests without faults are the measure.
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { OutcomeUnknown, type Outgoing, send } from '../docs/guides/clients/send.ts';
import type { Bench } from '../harness/bench.ts';
import { startInstallation } from '../harness/installation.ts';
import type { Processes } from '../harness/processes.ts';
import { startRequestCases } from '../harness/request-cases.ts';
import type { Db } from '../server/src/tables.ts';
import { type Registered, register } from '../server/test/derived/register.ts';
import type { PreparedRequest, RepeatCase } from '../server/test/derived/repeat-cases.ts';
import type { World } from '../server/test/support/world.ts';

const faults = ['answer lost', 'answer late', '503 before', 'cut in the middle', 'killed after the commit'] as const;
type Fault = (typeof faults)[number];

/** One of each kind: every value of `repeat`, every method, an event, a mail, a charge, a secret and a new revision. */
const sample = [
  'createApp',
  'updateRecord',
  'deleteRecords',
  'deleteApp',
  'updateWorkspace',
  'inviteMember',
  'suggestSearchThemes',
  'createToken',
  'putAppFile',
  'putAppSecret',
];
/** In the quick drill, a process is killed only for these. */
const killedFor = ['updateRecord', 'createToken', 'putAppSecret'];

/** The operations of the register, in two parts, each of which takes up to 20 minutes on two cores. */
const halves = ['first', 'second'];

/** Longer than an operation takes here, so only a late answer exceeds it. */
const timeoutMs = 2_000;

export const repeats: Bench = async ({ quick, only, progress }) => {
  if (only !== undefined && !halves.includes(only)) throw new Error(`--only is one of ${halves.join(', ')}`);
  await using installation = await startInstallation();
  const { ends, db } = installation;
  const { world, mail, processes, create } = await startRequestCases(installation, { api: 1, worker: 0 });
  const proxy = await startProxy(processes);
  ends.defer(async () => proxy.close());

  const known = await create();
  const listed = register.filter(({ name }) => name in known && (!quick || sample.includes(name)));
  const middle = Math.ceil(listed.length / 2);
  const entries = only === 'first' ? listed.slice(0, middle) : only === 'second' ? listed.slice(middle) : listed;
  const read = () => countEffects(db, () => mail.inbox.length);
  const totals = { calls: 0, succeeded: 0, unknown: 0, refused: 0 };
  const wrong = { second_effects: [] as string[], lost_successes: [] as string[], without_effect: [] as string[] };
  for (const entry of entries) {
    // A workspace of its own: it may have ten keys, for example.
    const prepare = (await create())[entry.name] as RepeatCase;
    const run = (fault?: Fault) => runOne(entry, prepare, { world, proxy, read, fault });
    await run(); // makes what exists once per workspace, such as the month's credits
    const expected = await run();
    if (expected.outcome !== 'success') throw new Error(`${entry.name} answers ${expected.outcome} without a fault`);
    for (const fault of faults) {
      if (quick && fault === 'killed after the commit' && !killedFor.includes(entry.name)) continue;
      const got = await run(fault);
      const what = `${entry.name}, ${fault}`;
      totals.calls += 1;
      totals[got.outcome === 'success' ? 'succeeded' : got.outcome === 'unknown' ? 'unknown' : 'refused'] += 1;
      const { more, less } = compare(expected.effects, got.effects);
      if (more.length > 0) wrong.second_effects.push(`${what}: ${more.join(' ')}`);
      if (less.length > 0) wrong.without_effect.push(`${what}: ${less.join(' ')}`);
      if (got.outcome === 'refusal') wrong.lost_successes.push(what);
    }
    progress(`${entry.name}: ${totals.calls} calls, ${Object.values(wrong).flat().length} wrong`);
  }
  for (const each of Object.values(wrong).flat()) progress(`WRONG ${each}`);
  return {
    figures: {
      operations: entries.length,
      ...totals,
      processes_started_again: processes.restarts,
      ...Object.fromEntries(Object.entries(wrong).map(([name, list]) => [name, list.length])),
    },
    judged: [
      { bar: 'no request has a second effect', met: wrong.second_effects.length === 0 },
      {
        bar: 'every success is reported, or its outcome is said to be unknown',
        met: wrong.lost_successes.length === 0,
      },
      { bar: 'every request has its effect', met: wrong.without_effect.length === 0 },
      { bar: 'every fault was injected', met: proxy.injected() === totals.calls },
    ],
    skipped: [],
  };
};

// ---- one request

interface Run {
  readonly world: World;
  readonly proxy: Proxy;
  readonly read: () => Promise<Effects>;
  readonly fault: Fault | undefined;
}

async function runOne({ method, repeat }: Registered, prepare: RepeatCase, { world, proxy, read, fault }: Run) {
  await world.resetRateLimits();
  const { path, as, body, headers }: PreparedRequest = await prepare();
  const before = await read();
  proxy.inject(fault);
  const request: Outgoing = {
    method: method as Outgoing['method'],
    headers: {
      ...(as && { authorization: `Bearer ${as}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const outcome = await send(`${proxy.url}${path}`, request, { repeat, timeoutMs }).then(
    (response) => (response.ok || (method === 'DELETE' && response.status === 404) ? 'success' : 'refusal'),
    (error: unknown) => {
      if (error instanceof OutcomeUnknown) return 'unknown' as const;
      throw error;
    },
  );
  await proxy.whenReady();
  return { outcome, effects: subtract(await read(), before) };
}

// ---- effects

type Effects = Readonly<Record<string, number>>;

/** Tables that are about requests rather than about changes, or that change by themselves. */
const leftOut =
  /^(idempotency_keys|storage_\w+|worker_slots|event_dispatch_state|locations?|location_\w+|member_\w+|migrations)$/;

/** Counts rows, versions and revisions by table, and mails. No worker runs, so every event and entry is still there. */
async function countEffects(db: Db, countMails: () => number): Promise<Effects> {
  const { rows: tables } = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(db);
  const counted = tables.filter(({ name }) => !leftOut.test(name));
  const parts = [
    ...counted.map(({ name }) => `select '${name}' as name, ${countOf(name)} as count from ${name}`),
    `select 'versions', coalesce(sum(version), 0)::int from entity_records`,
    `select 'revisions', coalesce(sum(revision), 0)::int from apps`,
  ];
  const { rows } = await sql.raw<{ name: string; count: number }>(parts.join(' union all ')).execute(db);
  return { ...Object.fromEntries(rows.map(({ name, count }) => [name, count])), mails: countMails() };
}

/** The refusal of a repeat is recorded, and is no effect. */
const countOf = (table: string): string =>
  table === 'audit_pending'
    ? `count(*) filter (where entry->>'outcome' is distinct from 'refused')::int`
    : 'count(*)::int';

const subtract = (after: Effects, before: Effects): Effects =>
  Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]));

function compare(expected: Effects, got: Effects) {
  const names = Object.keys(expected);
  const difference = (name: string) => Math.abs(got[name] ?? 0) - Math.abs(expected[name] ?? 0);
  return { more: names.filter((name) => difference(name) > 0), less: names.filter((name) => difference(name) < 0) };
}

// ---- the proxy

interface Proxy {
  readonly url: string;
  /** The next request meets this fault. Those after it pass. */
  inject(fault: Fault | undefined): void;
  injected(): number;
  /** Resolves once a killed process is back. */
  whenReady(): Promise<void>;
  close(): void;
}

async function startProxy(processes: Processes): Promise<Proxy> {
  let next: Fault | undefined;
  let injected = 0;
  const server = createServer((incoming, outgoing) => {
    const fault = next;
    next = undefined;
    if (fault !== undefined) injected += 1;
    if (fault === '503 before') return refuse(incoming, outgoing);
    const { method, url, headers } = incoming;
    const forwarded = sendRequest(processes.apis[0] + (url ?? ''), { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => void pass(fault, answer, Buffer.concat(chunks), incoming, outgoing));
    });
    forwarded.on('error', () => incoming.socket.destroy());
    incoming.pipe(forwarded);
  });

  async function pass(
    fault: Fault | undefined,
    { statusCode = 0, headers }: IncomingMessage,
    body: Buffer,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    if (fault === 'killed after the commit') processes.kill('api', () => 0);
    if (fault === 'answer lost' || fault === 'killed after the commit') return void incoming.socket.destroy();
    if (fault === 'answer late') await sleep(timeoutMs + 200);
    const { 'transfer-encoding': _, ...rest } = headers;
    outgoing.writeHead(statusCode, { ...rest, 'content-length': body.byteLength });
    if (fault !== 'cut in the middle') return void outgoing.end(body);
    outgoing.write(body.subarray(0, body.byteLength / 2), () => incoming.socket.destroy());
  }

  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    inject(fault) {
      next = fault;
    },
    injected: () => injected,
    whenReady: () => processes.allReady(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** As Plinth refuses a request for which it has no connection to the database. */
function refuse(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  outgoing.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '1' });
  outgoing.end(JSON.stringify({ status: 503, code: 'busy', retry_safe: true }));
}
