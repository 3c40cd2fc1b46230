// Tests which revisions are kept, and that each can be read as it was, through the API.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import { recountStorage } from '../../../core/storage/recount.ts';
import { purgeRevisions, removeExpiredHistory } from './purge.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const as = await world.token(owner, workspace);
const newApp = () => world.appOf(owner, workspace);
const pathOf = (app: AppRow) => `/api/apps/${app.id}`;

const put = (app: AppRow, path: string, content: string) =>
  world.call('PUT', `${pathOf(app)}/files/content?path=${path}`, { as, body: { content } });
const remove = (app: AppRow, path: string) => world.call('DELETE', `${pathOf(app)}/files/content?path=${path}`, { as });
const sync = (app: AppRow, body: object) => world.call('PUT', `${pathOf(app)}/files`, { as, body });
const putSchema = (app: AppRow, document: object) =>
  world.call('PUT', `${pathOf(app)}/entity-schemas/Task`, { as, body: { name: 'Task', ...document } });
const setHeaders = (app: AppRow, headers: object) =>
  world.call('PATCH', `${pathOf(app)}/security/settings`, { as, body: { headers } });
const list = async (app: AppRow, query = '') =>
  (await world.call('GET', `${pathOf(app)}/revisions${query}`, { as })).body;
const get = (app: AppRow, revision: number, query = '') =>
  world.call('GET', `${pathOf(app)}/revisions/${revision}${query}`, { as });
const read = (app: AppRow, path: string, revision: number) =>
  world.call('GET', `${pathOf(app)}/files/content?path=${path}&revision=${revision}`, { as });
const listPaths = async (app: AppRow, revision: number): Promise<string[]> =>
  (await world.call('GET', `${pathOf(app)}/files?revision=${revision}`, { as })).body.items.map(
    (file: { path: string }) => file.path,
  );

const title = { type: 'string' };

describe('listRevisions', () => {
  it('says what made each revision, who, and what it changed', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1');
    await put(app, 'a.js', '2');
    await sync(app, { files: [{ path: 'b.js', content: 'b' }], delete_missing: true });
    await putSchema(app, { properties: { title } });
    await setHeaders(app, { csp: "default-src 'self'" });
    const { items, kept_from } = await list(app);
    const nothing = { added: 0, changed: 0, removed: 0 };
    expect(items.map(({ created_date: _, ...item }: Record<string, unknown>) => item)).toMatchObject([
      { revision: 6, cause: 'headers', files: nothing, entities: [], headers: true },
      { revision: 5, cause: 'schema', files: nothing, entities: ['Task'], headers: false },
      { revision: 4, cause: 'sync', files: { added: 1, changed: 0, removed: 1 }, entities: [], headers: false },
      { revision: 3, cause: 'file', files: { ...nothing, changed: 1 } },
      {
        revision: 2,
        cause: 'file',
        files: { ...nothing, added: 1 },
        actor: 'owner@example.com',
        live: false,
        kept: true,
      },
      { revision: 1, cause: 'create', files: nothing, message_id: null, summary: null, restored_revision: null },
    ]);
    expect(kept_from).toBe(1);
  });

  it('makes no revision of a change that was refused or changed nothing', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1');
    expect((await put(app, 'a.js', '1')).headers['x-changed']).toBe('false');
    expect((await remove(app, 'b.js')).status).toBe(404);
    expect((await list(app)).items.map(({ revision }: { revision: number }) => revision)).toEqual([2, 1]);
  });

  it('continues with a cursor, and marks the published revision', async () => {
    const app = await newApp();
    await put(app, 'public/index.html', 'first');
    await world.call('POST', `${pathOf(app)}/deploy`, { as, body: {} });
    await put(app, 'public/index.html', 'second');
    const first = await list(app, '?limit=2');
    const rest = await list(app, `?limit=2&cursor=${first.next_cursor}`);
    expect([...first.items, ...rest.items].map(({ revision, live }) => [revision, live])).toEqual([
      [3, false],
      [2, true],
      [1, false],
    ]);
  });
});

describe('a kept revision', () => {
  it('has its files as they were, whatever happened since', async () => {
    const app = await newApp();
    await put(app, 'a.js', 'first'); // 2
    await put(app, 'b.js', 'b'); // 3
    await put(app, 'a.js', 'second'); // 4
    await remove(app, 'b.js'); // 5
    await put(app, 'b.js', 'b again'); // 6
    const contents = async (path: string) => {
      const got = await Promise.all([1, 2, 3, 4, 5, 6].map((revision) => read(app, path, revision)));
      return got.map(({ body }) => body.content ?? body.code);
    };
    const none = 'file_not_found';
    expect(await contents('a.js')).toEqual([none, 'first', 'first', 'second', 'second', 'second']);
    expect(await contents('b.js')).toEqual([none, none, 'b', 'b', none, 'b again']);
    expect(await listPaths(app, 3)).toEqual(['a.js', 'b.js']);
    expect(await listPaths(app, 5)).toEqual(['a.js']);
    expect((await read(app, 'a.js', 2)).body).toMatchObject({ revision: 2, encoding: 'utf-8' });
  });

  it('is the same for 60 random changes as a copy that was made at the time', async () => {
    const app = await newApp();
    const copies = new Map<number, Record<string, string>>();
    const state: Record<string, string> = {};
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * below);
    };
    for (let step = 0; step < 60; step += 1) {
      const path = `f${random(6)}.txt`;
      if (random(4) === 0) {
        if ((await remove(app, path)).status === 200) delete state[path];
      } else if (random(3) === 0) {
        const files = [path, `g${random(3)}.txt`].map((each) => ({ path: each, content: `${random(3)}` }));
        await sync(app, { files });
        for (const file of files) state[file.path] = file.content;
      } else {
        state[path] = `${random(4)}`;
        await put(app, path, state[path]);
      }
      const { revision } = (await world.call('GET', pathOf(app), { as })).body;
      copies.set(revision, { ...state });
    }
    expect(copies.size).toBeGreaterThan(30);
    for (const [revision, copy] of copies) {
      const paths = await listPaths(app, revision);
      const contents = await Promise.all(
        paths.map(async (path) => [path, (await read(app, path, revision)).body.content]),
      );
      expect([revision, Object.fromEntries(contents)]).toEqual([revision, copy]);
    }
  });

  it('stores each content once, and counts it towards storage', async () => {
    const app = await newApp();
    const content = 'x'.repeat(10_000);
    for (const each of [content, 'small', content, 'small', content]) await put(app, 'a.js', each);
    const { rows } = await sql<{ size: number }>`select size from app_past_contents where app_id = ${app.id}`.execute(
      world.db,
    );
    expect(rows.map(({ size }) => size).toSorted()).toEqual([10_000, 5]);
    const drifts: unknown[] = [];
    await sql`update storage_usage set recounted_at = 'epoch'`.execute(world.db);
    await recountStorage(world.db, (drift) => drifts.push(drift), new Date());
    expect(drifts).toEqual([]);
  });
});

describe('getRevision', () => {
  it('shows how files, schemas and headers differ from the revision before', async () => {
    const app = await newApp();
    await put(app, 'a.js', 'one\ntwo\n');
    await sync(app, {
      files: [
        { path: 'a.js', content: 'one\n2\n' },
        { path: 'b.js', content: 'b\n' },
      ],
    });
    expect((await get(app, 3)).body).toMatchObject({
      revision: 3,
      against: 2,
      changes: [
        {
          path: 'a.js',
          kind: 'changed',
          diff: '--- a/a.js\n+++ b/a.js\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n',
          diff_cut: false,
        },
        { path: 'b.js', kind: 'added', before_sha256: null, diff: '--- /dev/null\n+++ b/b.js\n@@ -0,0 +1,1 @@\n+b\n' },
      ],
      entity_changes: [],
      header_changes: null,
    });
    await putSchema(app, { properties: { title } });
    await putSchema(app, { properties: { title, due: { type: 'string', format: 'date' } } });
    expect((await get(app, 5)).body.entity_changes).toEqual([
      {
        name: 'Task',
        before: { name: 'Task', properties: { title } },
        after: { name: 'Task', properties: { title, due: { type: 'string', format: 'date' } } },
      },
    ]);
    await setHeaders(app, { csp: "default-src 'self'" });
    await setHeaders(app, { csp: null, frame_options: 'DENY' });
    expect((await get(app, 7)).body.header_changes).toMatchObject({
      before: { csp: "default-src 'self'", frame_options: null },
      after: { csp: null, frame_options: 'DENY' },
    });
  });

  it('compares with any kept revision, in both directions', async () => {
    const app = await newApp();
    await put(app, 'a.js', '1\n');
    await put(app, 'b.js', 'b\n');
    await remove(app, 'a.js');
    const kinds = async (revision: number, against: number) =>
      (await get(app, revision, `?against=${against}`)).body.changes.map(({ path, kind }: Record<string, string>) => [
        path,
        kind,
      ]);
    expect(await kinds(4, 2)).toEqual([
      ['a.js', 'removed'],
      ['b.js', 'added'],
    ]);
    expect(await kinds(2, 4)).toEqual([
      ['a.js', 'added'],
      ['b.js', 'removed'],
    ]);
    expect(await kinds(4, 4)).toEqual([]);
    for (const query of ['?against=9', '?against=5'])
      expect((await get(app, 4, query)).body.code).toBe('revision_not_found');
    expect((await get(app, 5)).body.code).toBe('revision_not_found');
    expect((await world.call('GET', `${pathOf(app)}/revisions/x`, { as })).body.code).toBe('revision_not_found');
    expect((await get(app, 4, '?against=0')).status).toBe(422);
  });

  it('shows no difference of files that are not text, and says what is cut', async () => {
    const app = await newApp();
    const binary = Buffer.from([0, 255, 1]).toString('base64');
    const long = 'line\n'.repeat(60_000);
    await sync(app, {
      files: [
        { path: 'a.png', content: binary, encoding: 'base64' },
        { path: 'long.txt', content: long },
      ],
    });
    expect((await get(app, 2)).body.changes).toMatchObject([
      { path: 'a.png', diff: null, diff_cut: false },
      { path: 'long.txt', diff: null, diff_cut: true },
    ]);
  });

  it('lists at most 1,000 files, and says that there are more', async () => {
    const app = await newApp();
    await sync(app, { files: Array.from({ length: 1_001 }, (_, n) => ({ path: `f${n}`, content: `${n}` })) });
    const got = await get(app, 2);
    expect([got.body.changes.length, got.headers['x-truncated']]).toEqual([1_000, 'true']);
  });
});

describe('what is kept', () => {
  /** Makes revisions that are this many days old, each with a different content of the file. */
  async function makeRevisions(count: number, daysOld: number): Promise<AppRow> {
    const app = await newApp();
    await sql`do $$ begin
      for n in 2..${sql.lit(count)} loop
        update apps set revision = n where id = ${sql.lit(app.id)};
        insert into app_revisions (app_id, revision, cause, created_date) values (${sql.lit(app.id)}, n, 'file', now());
        insert into app_files (app_id, path, content, sha256, size, encoding, updated_date)
        values (${sql.lit(app.id)}, 'a.js', n::text::bytea, encode(sha256(n::text::bytea), 'hex'), length(n::text::bytea), 'utf-8', now())
        on conflict (app_id, path) do update set content = excluded.content, sha256 = excluded.sha256, size = excluded.size;
      end loop; end $$`.execute(world.db);
    const date = new Date(world.clock.now().getTime() - daysOld * 86_400_000);
    await world.db.updateTable('app_revisions').set({ created_date: date }).where('app_id', '=', app.id).execute();
    await world.db.updateTable('app_revision_purges').set({ due_at: date }).where('app_id', '=', app.id).execute();
    return app;
  }
  const purge = async () => {
    while ((await purgeRevisions(world.db, world.clock.now())) > 0);
  };
  const countPast = async (app: AppRow) =>
    (await world.db.selectFrom('app_past_contents').where('app_id', '=', app.id).select('sha256').execute()).length;

  it('is the last 200 revisions, however old', async () => {
    const app = await makeRevisions(250, 31);
    await purge();
    expect((await list(app)).kept_from).toBe(51);
    expect(await countPast(app)).toBe(199);
    expect((await read(app, 'a.js', 51)).body.content).toBe('51');
    expect((await read(app, 'a.js', 50)).body.code).toBe('revision_not_found');
    expect((await get(app, 51)).body).toMatchObject({ against: null, changes: [] });
    await purge();
    expect(await countPast(app)).toBe(199);
  });

  it('is every revision of 30 days, until they are older', async () => {
    const app = await makeRevisions(250, 29);
    await purge();
    expect((await list(app)).kept_from).toBe(1);
    const due = await world.db
      .selectFrom('app_revision_purges')
      .where('app_id', '=', app.id)
      .selectAll()
      .executeTakeFirst();
    expect(due?.due_at.getTime()).toBeGreaterThan(world.clock.now().getTime());
    await purgeRevisions(world.db, due?.due_at as Date);
    await purgeRevisions(world.db, new Date((due?.due_at.getTime() ?? 0) + 1));
    expect((await list(app)).kept_from).toBe(51);
  });

  it('is at most 2,000 revisions', async () => {
    const app = await makeRevisions(2_010, 1);
    await purge();
    expect((await list(app)).kept_from).toBe(11);
    expect(await countPast(app)).toBe(1_999);
  });

  it('is removed before an app in the trash is purged', async () => {
    const app = await makeRevisions(30, 1);
    const deleted_date = new Date(world.clock.now().getTime() - 31 * 86_400_000);
    await world.db.updateTable('apps').set({ deleted_date }).where('id', '=', app.id).execute();
    await removeExpiredHistory(world.db, world.clock.now());
    expect(await countPast(app)).toBe(0);
  });

  it('is not removed while the app is being restored, and otherwise says so if the app is restored afterwards', async () => {
    const app = await makeRevisions(30, 1);
    const deleted_date = new Date(world.clock.now().getTime() - 31 * 86_400_000);
    await world.db.updateTable('apps').set({ deleted_date }).where('id', '=', app.id).execute();
    await world.db.transaction().execute(async (restoring) => {
      await restoring.updateTable('apps').set({ deleted_date: null }).where('id', '=', app.id).execute();
      await removeExpiredHistory(world.app.database.db, world.clock.now());
    });
    expect(await countPast(app)).toBe(28);
    expect((await list(app)).kept_from).toBe(1);
    await world.db.updateTable('apps').set({ deleted_date }).where('id', '=', app.id).execute();
    await removeExpiredHistory(world.app.database.db, world.clock.now());
    await world.db.updateTable('apps').set({ deleted_date: null }).where('id', '=', app.id).execute();
    expect((await list(app)).kept_from).toBe(30);
    expect((await read(app, 'a.js', 29)).body.code).toBe('revision_not_found');
    expect((await read(app, 'a.js', 30)).body.content).toBe('30');
  });
});

describe('a full storage quota', () => {
  async function newWorkspace(quota: number) {
    const place = await world.workspace(owner, 'enterprise', 'Full');
    const settings = { storage_quota_bytes: quota, rate_multiplier: 1000 };
    await world.db.updateTable('workspaces').set(settings).where('id', '=', place).execute();
    const token = await world.token(owner, place);
    const app = await world.appOf(owner, place);
    const write = (content: string, to = app) =>
      world.call('PUT', `${pathOf(to)}/files/content?path=a.js`, { as: token, body: { content } });
    const listAll = async () => (await world.call('GET', `${pathOf(app)}/revisions?limit=100`, { as: token })).body;
    const setQuota = (storage_quota_bytes: number) =>
      world.db.updateTable('workspaces').set({ storage_quota_bytes }).where('id', '=', place).execute();
    const purgeLater = () => purgeRevisions(world.db, new Date(world.clock.now().getTime() + 120_000));
    return { place, app, write, listAll, setQuota, purgeLater };
  }
  const fill = (n: number) => `${n}`.padEnd(10_000, 'x');

  it('gives up the oldest revisions beyond the last 20, and says so', async () => {
    const { write, listAll } = await newWorkspace(300_000);
    for (let n = 2; n <= 60; n += 1) expect([n, (await write(fill(n))).status]).toEqual([n, 200]);
    const { items, kept_from } = await listAll();
    expect(kept_from).toBeGreaterThan(20);
    expect(kept_from).toBeLessThanOrEqual(41);
    for (const { revision, kept } of items) expect([revision, kept]).toEqual([revision, revision >= kept_from]);
  });

  it('that is exceeded is made room for after a change, if giving up revisions is enough', async () => {
    const { write, listAll, setQuota, purgeLater } = await newWorkspace(10_000_000);
    for (let n = 2; n <= 40; n += 1) await write(fill(n));
    await setQuota(100_000); // the last 20 revisions alone take twice as much
    await purgeLater();
    expect((await listAll()).kept_from).toBe(1);
    await write(fill(41));
    await setQuota(300_000);
    await purgeLater();
    const { kept_from } = await listAll();
    expect(kept_from).toBeGreaterThan(1);
    expect(kept_from).toBeLessThan(21);
  });

  it('finds revisions to give up behind many apps that have none or too little', async () => {
    const { place, write, listAll } = await newWorkspace(800_000); // the other apps and their revisions take about half
    const older = new Date(world.clock.now().getTime() - 86_400_000);
    for (let n = 0; n < 24; n += 1) {
      const other = await world.appOf(owner, place);
      // Every other one has a small past version beyond the last 20 revisions, the rest have none.
      if (n % 2 === 0) for (const content of ['1', '2']) await write(content, other);
      await sql`insert into app_revisions (app_id, revision, cause, created_date)
        select ${other.id}, n, 'file', ${older} from generate_series(4, 40) n`.execute(world.db);
      await world.db.updateTable('apps').set({ revision: 40 }).where('id', '=', other.id).execute();
      await world.db.updateTable('app_revisions').set({ created_date: older }).where('app_id', '=', other.id).execute();
    }
    world.clock.aheadMs += 61_000; // expires the usage that this process has cached
    for (let n = 2; n <= 40; n += 1) expect([n, (await write(fill(n))).status]).toEqual([n, 200]);
    expect((await listAll()).kept_from).toBeGreaterThan(1);
  });

  it('refuses a write for which only the last 20 would make room', async () => {
    const { write, listAll } = await newWorkspace(150_000);
    const statuses: number[] = [];
    for (let n = 2; n <= 30; n += 1) statuses.push((await write(fill(n))).status);
    expect(statuses.at(-1)).toBe(402);
    expect((await listAll()).kept_from).toBe(1);
  });
});
