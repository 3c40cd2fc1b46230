// A soak test of sealing: three sealers, each woken only by polling, a held snapshot, exports that seal by themselves, and
// writers that commit late, use savepoints and roll back, all for some seconds and without the repeated full look. Every
// committed entry is sealed once.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { cloneTemplate } from '../../../test/support/template.ts';
import { openDatabase, transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import { findFirstBroken, firstPrevHash, type SealedEntry } from './chain.ts';
import { createSealer, type Sealer, sealChain } from './seal.ts';
import { sealingDueInMs } from './store.ts';

const cloned = await cloneTemplate();
const { db, close } = openDatabase<Tables>({ url: cloned.url, poolSize: 4 });
const clients: pg.Client[] = [];
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await Promise.all([...clients.map((client) => client.end()), ...closing.map((close) => close()), close()]);
  await cloned.drop();
});
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: cloned.url });
  await client.connect();
  clients.push(client);
  return client;
}
async function openSnapshot(): Promise<pg.Client> {
  const client = await connect();
  await client.query('begin isolation level repeatable read; select count(*) from audit_pending');
  return client;
}

const seconds = 8;
const workspaces = Array.from({ length: 60 }, (_, n) => (n === 0 ? null : newId())); // null: the installation
const any = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)] as Item;
const isOnceIn = (n: number) => Math.random() < 1 / n;
const insert = 'insert into audit_pending (id, workspace_id, entry)';
const entryOf = (id: string) => `jsonb_build_object('id', ${id}, 'occurred_at', now(), 'type', 'app.updated',
  'outcome', 'done', 'request_id', 'soak')`;

/** What polling sends, for one sealer. Like polling, it notes that nothing is due. */
async function isDue(db: Db, { known: { position, nextMs, noteNothingDue } }: Sealer): Promise<boolean> {
  const known = JSON.stringify({ xmax: position?.xmax, xip: `{${position?.xip.join() ?? ''}}`, nextMs });
  const { rows } = await sql<{ due: number | null; snapshot: string }>`
    select ${sql.raw(sealingDueInMs('k.known'))} as due, pg_current_snapshot()::text as snapshot
    from (select ${known}::json as known) k`.execute(db);
  if (rows[0]?.due === null) noteNothingDue?.(rows[0].snapshot);
  return rows[0]?.due === 0;
}

it(`every entry is sealed once in ${seconds} s of late commits, savepoints and roll-backs, found by polling`, async () => {
  const missed: number[] = [];
  const failures: unknown[] = [];
  let isStopped = false;
  const sealing = [0, 1, 2].map(async () => {
    const opened = openDatabase<Tables>({ url: cloned.url, poolSize: 5 });
    closing.push(opened.close);
    const sealer = createSealer({
      onMissed: (count) => missed.push(count),
      fullLookEveryMs: Number.POSITIVE_INFINITY,
    });
    while (!isStopped) {
      const sealed = (await isDue(opened.db, sealer))
        ? await sealer.seal(opened.db).catch((error: unknown) => void failures.push(error))
        : 0;
      if (!sealed) await sleep(10 + Math.random() * 30);
    }
    return sealer;
  });
  const snapshot = await openSnapshot();

  const committed = new Set<string>();
  const endsAt = performance.now() + seconds * 1_000;
  const write = async (client: pg.Client, workspace: string | null) => {
    for (let round = 0; round < 12 || performance.now() < endsAt; round += 1) {
      const ids = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, newId);
      const isSaved = isOnceIn(3);
      await client.query('begin');
      if (isSaved) await client.query('savepoint s');
      await client.query(`${insert} select id, $2, ${entryOf('id')} from unnest($1::uuid[]) id`, [
        ids,
        isOnceIn(4) ? any(workspaces) : workspace,
      ]);
      if (isSaved && isOnceIn(2)) await client.query('release savepoint s; savepoint t');
      await sleep(Math.random() * (isOnceIn(15) ? 2_000 : 60));
      if (isOnceIn(10)) await client.query('rollback');
      else {
        await client.query('commit');
        for (const id of ids) committed.add(id);
      }
    }
  };
  const exportSome = async () => {
    while (performance.now() < endsAt) {
      await sealChain(db, any(workspaces.slice(0, 8)));
      await sleep(200);
    }
  };
  await Promise.all([exportSome(), ...workspaces.slice(0, 8).map(async (id) => write(await connect(), id))]);
  const countLeft = async () => (await sql`select from audit_pending`.execute(db)).rows.length;
  await expect.poll(countLeft, { interval: 100 }).toBe(0);
  isStopped = true;
  const sealers = await Promise.all(sealing);
  await snapshot.query('rollback');

  const { rows } = await sql<SealedEntry & { id: string; workspace_id: string | null }>`
    select id, workspace_id, sequence, prev_hash, hash, entry from audit_entries order by sequence`.execute(db);
  expect(committed.size).toBeGreaterThan(200);
  expect(rows.map(({ id }) => id).sort()).toEqual([...committed].sort());
  for (const [chain, entries] of Map.groupBy(rows, ({ workspace_id }) => workspace_id))
    expect([chain, findFirstBroken(entries, { sequence: 0, hash: firstPrevHash })]).toEqual([chain, null]);
  expect({ failures, missed }).toEqual({ failures: [], missed: [] });
  // Each sealer forgets what the others have sealed, and then has nothing to do.
  for (const sealer of sealers) {
    while (await isDue(db, sealer)) await sealer.seal(db);
    expect(sealer.known.nextMs).toBeUndefined();
  }
}, 60_000);

const insertEntries = (count: number) =>
  sql`${sql.raw(insert)} select id, w, ${sql.raw(entryOf('id'))}
    from unnest(${Array.from({ length: count }, newId)}::uuid[],
      ${Array.from({ length: count }, (_, n) => workspaces[n % 20] as string | null)}::uuid[]) u(id, w)`.execute(db);

/** How many entries of the indexes of pending entries are read by this transaction. */
async function countRead(db: Db): Promise<number> {
  const { rows } = await sql<{ read: number }>`select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as read
    from pg_index where indrelid = 'audit_pending'::regclass`.execute(db);
  return rows[0]?.read ?? 0;
}

it('sealing and polling do not read past what was sealed under a held snapshot', async () => {
  const [sealer, idle] = [createSealer(), createSealer()];
  const snapshot = await openSnapshot();
  await idle.seal(db);
  for (let n = 0; n < 4; n += 1) {
    await insertEntries(1_000);
    while ((await sealer.seal(db)) > 0);
    expect(await isDue(db, idle)).toBe(false);
  }
  // The measurement's own transaction keeps another one from being the oldest that is in progress.
  const measure = (run: (db: Db) => Promise<unknown>) =>
    transaction(db, async (db) => {
      const before = await countRead(db);
      await run(db);
      return (await countRead(db)) - before;
    });
  await insertEntries(20);
  const read = await measure(async (db) => expect(await sealer.seal(db)).toBe(20));
  expect(read).toBeGreaterThan(20);
  expect(read).toBeLessThan(500);
  // A worker that found nothing due each time has not to read what another worker has sealed since it looked.
  expect(await measure((db) => isDue(db, idle))).toBeLessThan(500);
  await snapshot.query('rollback');
});

const insertOne = (workspace: string | null) =>
  sql`${sql.raw(insert)} select id, ${workspace}::uuid, ${sql.raw(entryOf('id'))}
    from unnest(${[newId()]}::uuid[]) id`.execute(db);

it('the repeated full look counts as missed what looks cannot find, and nothing else', async () => {
  const missed: number[] = [];
  const sealer = createSealer({ fullLookEveryMs: 0, onMissed: (count) => missed.push(count) });
  await sealer.seal(db);
  for (const workspace of [null, newId(), null, newId()]) {
    await insertOne(workspace);
    expect(await sealer.seal(db)).toBe(1);
  }
  expect(missed).toEqual([]);
  await insertOne(newId());
  await cloned.runAsOwner("update audit_pending set changed_in = '3'"); // as if the trigger were missing
  await insertOne(newId());
  expect(await sealer.seal(db)).toBe(2);
  expect(missed).toEqual([1]);
});

it('a lock timeout makes a sealer forget nothing, another error everything', async () => {
  const sealer = createSealer();
  await sealer.seal(db);
  await insertOne(newId());
  const failed = await transaction(db, async (locking) => {
    await sql`lock table audit_pending in access exclusive mode`.execute(locking);
    return sealer.seal(db).catch((error: unknown) => error);
  });
  expect(failed).toMatchObject({ code: '55P03' });
  expect(sealer.known.position).toBeDefined();
  expect(await sealer.seal(db)).toBe(1);
  await cloned.runAsOwner('alter table audit_pending rename to audit_away');
  await expect(sealer.seal(db)).rejects.toThrow();
  await cloned.runAsOwner('alter table audit_away rename to audit_pending');
  expect(sealer.known.position).toBeUndefined();
});
