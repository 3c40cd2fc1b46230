// What an update of a record costs under a row rule and a field rule, against the same statements bare; and how long a page
// under an owner rule takes with so many records of others around.
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { insertApp } from '../server/src/access/apps.ts';
import { insertCredential, insertMembership, insertUser, insertWorkspace } from '../server/src/access/people.ts';
import { proven, type WorkspaceAccess } from '../server/src/access/proofs.ts';
import { digestOf } from '../server/src/features/entities/schemas/keys.ts';
import { type Database, openDatabase } from '../server/src/kit/db/database.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Tables } from '../server/src/tables.ts';
import type { Bench } from './lib/bench.ts';
import { median, quantile, rounded } from './lib/figures.ts';
import { load } from './lib/load.ts';
import { freshDatabase, start } from './lib/services.ts';

const bar = 0.45;
const listBarMs = 25;
const callers = 8; // each has a limit of its own
const updated = 2_000;
const pepperText = `bench:${randomBytes(32).toString('base64')}`;
const pepper = { id: 'bench', key: createSecretKey(pepperText.slice(6), 'base64') };

const isAdmin = { user_condition: { role: 'admin' } };
const schema = {
  name: 'Task',
  properties: {
    title: { type: 'string', maxLength: 200 },
    note: { type: 'string' },
    owner: { type: 'string' },
    state: { type: 'string', enum: ['draft', 'open', 'done'] },
    cost: { type: 'number', rls: { write: isAdmin, read: isAdmin } },
  },
  required: ['title'],
  rls: {
    create: true,
    read: { 'data.owner': '{{user.email}}' },
    update: { $or: [{ 'data.owner': '{{user.email}}' }, isAdmin] },
  },
};

export const records: Bench = async ({ quick, progress }) => {
  const fresh = await freshDatabase('records');
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
  const database = openDatabase<Tables>({ url: fresh.url, poolSize: 2 });
  const environment = environmentFor(fresh.url);
  const served = await start(fileURLToPath(new URL('./pipeline/served.ts', import.meta.url)), environment);
  const bare = await start(fileURLToPath(new URL('./records/bare.ts', import.meta.url)), environment);
  try {
    const seeded = await seed(database, served.port);
    const updates = await updating(seeded, { bare: bare.port, plinth: served.port }, folder, quick, progress);
    const lists = await listing(database, seeded, served.port, quick ? 100_000 : 10_000_000, progress);
    return {
      figures: { ...updates.figures, ...lists },
      judged: [
        { bar: `an update is >= ${bar} of bare`, met: updates.figures.ratio >= bar },
        { bar: 'no failed request', met: updates.failed === 0 },
        { bar: `a page under an owner rule is p95 <= ${listBarMs} ms`, met: lists.list_p95_ms <= listBarMs },
      ],
      skipped: [],
    };
  } finally {
    await bare.stop();
    await served.stop();
    await database.close();
    await fresh.drop();
    rmSync(folder, { recursive: true, force: true });
  }
};

interface Seeded {
  readonly appId: string;
  readonly tokens: readonly string[];
  readonly ids: readonly string[];
}

const emailOf = (caller: number) => `bench${caller}@example.com`;

async function seed({ db }: Database<Tables>, port: number): Promise<Seeded> {
  const now = new Date();
  const people: string[] = [];
  for (let caller = 0; caller < callers; caller += 1)
    people.push(await insertUser(db, { email: emailOf(caller), full_name: 'Bench' }, now));
  const [user_id] = people as [string];
  const workspace_id = await insertWorkspace(db, { name: 'Bench', plan: 'enterprise', owner_id: user_id }, now);
  for (const each of people.slice(1)) await insertMembership(db, { workspace_id, user_id: each, role: 'editor' }, now);
  // The limit is counted on every request as in production; only its figure is out of the way.
  await db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace_id).execute();
  const caller = { user_id } as WorkspaceAccess['caller'];
  const access = proven<WorkspaceAccess>({ caller, workspace_id, plan: 'enterprise', role: 'owner' });
  const app = await insertApp(
    db,
    access,
    {
      name: 'Bench',
      app_type: 'user_app',
      user_description: '',
      visibility: 'workspace',
      public_settings: 'public_with_login',
    },
    now,
  );
  const tokens: string[] = [];
  for (const each of people) {
    const credential = { kind: 'personal_token', user_id: each, workspace_id, permission: 'full_access' } as const;
    tokens.push((await insertCredential(db, { peppers: [pepper], cellCode: '00' }, credential, now)).token);
  }
  const ask = async (method: string, path: string, body: unknown) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/apps/${app.id}${path}`, {
      method,
      headers: { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  await ask('PUT', '/entity-schemas/Task', schema);
  const ids: string[] = [];
  for (let start = 0; start < updated; start += 500) {
    const batch = Array.from({ length: 500 }, (_, n) => ({
      title: `Task ${start + n}`,
      note: 'a sentence or two about what there is to do, as people write them',
      owner: emailOf(n % callers),
      state: 'draft',
      cost: n,
    }));
    for (const { id } of (await ask('POST', '/entities/Task/bulk', batch)) as { id: string }[]) ids.push(id);
  }
  return { appId: app.id, tokens, ids };
}

async function updating(
  { appId, tokens, ids }: Seeded,
  ports: { bare: number; plinth: number },
  folder: string,
  quick: boolean,
  progress: (line: string) => void,
) {
  // Both a plain field and one with a rule: the row rule and the field rule are asked on every request.
  const script = join(folder, 'put.lua');
  writeFileSync(
    script,
    `local ids = {${ids.map((id) => `"${id}"`).join(',')}}
     local tokens = {${tokens.map((token) => `"${token}"`).join(',')}}
     local n = 0
     request = function()
       n = n + 1
       wrk.headers["authorization"] = "Bearer " .. tokens[n % #tokens + 1]
       wrk.headers["content-type"] = "application/json"
       return wrk.format("PUT", "/api/apps/${appId}/entities/Task/" .. ids[n % #ids + 1], nil,
         '{"note":"changed ' .. n .. '","cost":' .. n .. '}')
     end`,
  );
  const [blocks, seconds] = [quick ? 9 : 15, quick ? 2 : 5];
  const run = (port: number, time: number) => load(`http://127.0.0.1:${port}/`, {}, time, 32, script);
  // Long enough for both to be compiled: the first seconds of a process are not its speed.
  for (const port of Object.values(ports)) await run(port, quick ? 15 : 30);
  const rates = { bare: [] as number[], plinth: [] as number[] };
  let failed = 0;
  for (let block = 1; block <= blocks; block += 1) {
    for (const which of ['bare', 'plinth'] as const) {
      const got = await run(ports[which], seconds);
      rates[which].push(got.perSecond);
      failed += got.failed;
    }
    const [base, ours] = [rates.bare.at(-1) ?? 0, rates.plinth.at(-1) ?? 0];
    progress(
      `block ${block} of ${blocks}: ${rounded(base, 0)} bare, ${rounded(ours, 0)} plinth, ratio ${rounded(ours / base)}`,
    );
  }
  const ratio = median(rates.plinth.map((ours, index) => ours / (rates.bare[index] ?? 1)));
  const [bare_per_second, plinth_per_second] = [rounded(median(rates.bare), 0), rounded(median(rates.plinth), 0)];
  return { figures: { ratio: rounded(ratio, 3), bare_per_second, plinth_per_second }, failed };
}

/** Records of many owners, their keys with them; then pages of 50 for those who ask. */
async function listing(
  { pool }: Database<Tables>,
  { appId, tokens }: Seeded,
  port: number,
  size: number,
  progress: (line: string) => void,
) {
  const others = size / 1_000; // each has about a thousand
  const { rows } = await pool.query<{ key: string }>(
    'select unnest(keys) as key from entity_schemas where app_id = $1',
    [appId],
  );
  const key = rows.find((row) => row.key.startsWith('data.owner#'))?.key;
  const owners = [
    ...Array.from({ length: callers }, (_, n) => emailOf(n)),
    ...Array.from({ length: others }, (_, n) => `o${n}@example.com`),
  ];
  await pool.query('create unlogged table bench_owners (n integer primary key, email text, digest bytea)');
  await pool.query('insert into bench_owners select * from unnest($1::int[], $2::text[], $3::bytea[])', [
    owners.map((_, n) => n),
    owners,
    owners.map(digestOf),
  ]);
  const step = 100_000;
  for (let start = 0; start < size; start += step) {
    await pool.query(`set statement_timeout = 0`);
    await pool.query(
      `with made as (
        insert into entity_records (app_id, entity_name, id, data, created_by, created_by_id, created_date, updated_date)
        select $1, 'Task', gen_random_uuid(), jsonb_build_object('title', 'Task ' || s.n, 'owner', o.email, 'state', 'open'),
          'seed', 'seed', now() - make_interval(secs => s.n), now()
        from generate_series($2::int, $3::int) s(n) join bench_owners o on o.n = (hashint4(s.n) & 2147483647) % ${owners.length}
        returning id, created_date, data->>'owner' as owner)
      insert into entity_keys (app_id, entity_name, key, value, created_date, record_id, is_unique)
      select $1, 'Task', $4, o.digest, m.created_date, m.id, false from made m join bench_owners o on o.email = m.owner`,
      [appId, start, Math.min(start + step, size) - 1, key],
    );
    if ((start / step) % 10 === 9) progress(`${start + step} of ${size} records`);
  }
  // As the job leaves it, a minute after the schema was saved.
  await pool.query(
    'update entity_key_states set ready = (select keys from entity_schemas s where s.app_id = $1), building_since = null where app_id = $1',
    [appId],
  );
  await pool.query('vacuum analyze entity_records, entity_keys');
  await new Promise((resolve) => setTimeout(resolve, 11_000)); // the process hears of it within ten seconds
  const times: number[] = [];
  for (let n = 0; n < 400; n += 1) {
    const began = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/api/apps/${appId}/entities/Task?limit=50`, {
      headers: { authorization: `Bearer ${tokens[n % callers]}` },
    });
    const { items } = (await answer.json()) as { items: unknown[] };
    if (items.length < Math.min(50, size / owners.length)) throw new Error(`a page of ${items.length}`);
    times.push(performance.now() - began);
  }
  return { records: size, list_p50_ms: rounded(median(times)), list_p95_ms: rounded(quantile(times, 0.95)) };
}

const environmentFor = (url: string): Record<string, string> => ({
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '16',
  REDIS_PREFIX: `bench:${newId()}:`,
  TOKEN_PEPPERS: pepperText,
  SIGNING_KEY: randomBytes(32).toString('base64'),
  MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  LOG_LEVEL: 'silent',
});
