// Tests credits through the API: the balance, who sees which ledger entries, and the daily reconciliation
// (docs/api/credits.md).
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../test/support/world.ts';
import { type Reservation, refund, reserve, settle } from '../../core/credits/reservations.ts';
import { newId } from '../../kit/ids.ts';

const world = await startWorld();
const db = world.app.database.db;
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'business');
const editor = await world.member(workspace, 'editor', 'editor@example.com');
const admin = await world.member(workspace, 'admin', 'admin@example.com');
const app = await world.appOf(owner, workspace);
await world.db.updateTable('workspaces').set({ rate_multiplier: 100 }).where('id', '=', workspace).execute();
const tokens = {
  owner: await world.token(owner, workspace),
  admin: await world.token(admin, workspace),
  editor: await world.token(editor, workspace),
};
const key = await world.credential({
  kind: 'workspace_key',
  user_id: null,
  workspace_id: workspace,
  permission: 'full_access',
  scopes: ['usage:read'],
});
const get = async (path: string, as = tokens.owner) => (await world.call('GET', path, { as })).body;

const reserveFor = (person: Person, amount: number, now: Date, app_id: string | null = null): Promise<Reservation> => {
  const about = { workspace_id: workspace, user_id: person.id, app_id, operation: 'test', reference_id: 'run-1' };
  return reserve(db, { ...about, amount, leaseMs: 60_000 }, now);
};

const earlier = new Date(Date.now() - 1000);
beforeAll(async () => {
  await settle(db, await reserveFor(editor, 3, earlier, app.id), 2.5, earlier);
  const refunded = await reserveFor(editor, 1, new Date());
  await settle(db, refunded, 1, new Date());
  await refund(db, refunded, new Date());
  await reserveFor(admin, 4, new Date());
});

describe('getCreditUsage', () => {
  const path = '/api/workspace/credits/usage';
  const today = new Date().toISOString().slice(0, 10);

  it('adds up what was used, by operation, app or person', async () => {
    const sums = { used: 3.5, refunded: 1 };
    expect((await get(path)).items).toEqual([{ day: today, key: 'test', ...sums }]);
    expect((await get(`${path}?group_by=user`)).items).toEqual([{ day: today, key: editor.id, ...sums }]);
    expect((await get(`${path}?group_by=app`)).items).toEqual([
      { day: today, key: app.id, used: 2.5, refunded: 0 },
      { day: today, key: null, used: 1, refunded: 1 },
    ]);
  });

  it('has the sums of the balance', async () => {
    const { items } = await get(path);
    const total = (items as { used: number; refunded: number }[]).reduce(
      (sum, each) => sum + each.used - each.refunded,
      0,
    );
    expect(total).toBe((await get('/api/workspace/credits')).used);
  });

  it('shows members below admin their own use only', async () => {
    expect((await get(path, tokens.editor)).items).toHaveLength(1);
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    expect((await get(path, await world.token(viewer, workspace))).items).toEqual([]);
    const byKey = await world.call('GET', path, { headers: { api_key: key.token } });
    expect(byKey.body.items).toHaveLength(1);
  });

  it('has what was used in the period, of at most 92 days', async () => {
    const before = await get(`${path}?to=${today}T00:00:00Z&from=${earlier.getUTCFullYear()}-01-01T00:00:00Z`);
    expect(before.detail[0]).toMatchObject({ loc: ['query', 'from'], type: 'value_error' });
    const day = (await get(`${path}?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`)) as object;
    expect(day).toEqual({ from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z', items: [] });
  });

  it('has the newest days if there are more than 10,000 sums', async () => {
    const place = await world.workspace(owner, 'business', 'Busy');
    await sql`insert into credit_ledger (workspace_id, id, kind, amount, operation, created_date)
      select ${place}, gen_random_uuid(), 'use', 1, 'operation ' || n, now() - interval '1 second' - n % 2 * interval '40 days'
      from generate_series(1, 10010) n`.execute(world.db);
    const from = new Date(Date.now() - 80 * 86_400_000).toISOString();
    const got = await world.call('GET', `${path}?from=${from}`, { as: await world.token(owner, place) });
    expect(got.headers['x-truncated']).toBe('true');
    expect(got.body.items).toHaveLength(10_000);
    expect(got.body.items[0].day > got.body.items.at(-1).day).toBe(true);
  });
});

describe('getCredits', () => {
  it("returns this month's credits of the workspace and the caller", async () => {
    await world.db
      .updateTable('workspaces')
      .set({ default_member_credit_limit: 100 })
      .where('id', '=', workspace)
      .execute();
    const got = await get('/api/workspace/credits', tokens.editor);
    expect(got).toMatchObject({
      monthly_limit: 5000,
      used: 2.5,
      reserved: 4,
      remaining: 4993.5,
      granted: 0,
      default_member_credit_limit: 100,
      own: { used: 2.5, credit_limit: 100, is_default_limit: true },
    });
    const [start, end] = [new Date(got.period_start), new Date(got.period_end)];
    expect(start.toISOString()).toMatch(/-01T00:00:00\.000Z$/);
    expect(end.toISOString()).toMatch(/-01T00:00:00\.000Z$/);
    expect(start <= new Date() && new Date() < end).toBe(true);
    expect(await get('/api/workspace/credits')).toMatchObject({ own: { credit_limit: null, is_default_limit: false } });
    const byKey = await world.call('GET', '/api/workspace/credits', { headers: { api_key: key.token } });
    expect(byKey).toMatchObject({ status: 200, body: { used: 2.5, own: null } });
  });

  it('works before anything was spent, and without a limit', async () => {
    const fresh = await world.workspace(owner, 'free');
    const token = await world.token(owner, fresh);
    expect(await get('/api/workspace/credits', token)).toMatchObject({ monthly_limit: 25, used: 0, remaining: 25 });
    const unlimited = await world.workspace(owner, 'enterprise');
    const other = await world.token(owner, unlimited);
    expect(await get('/api/workspace/credits', other)).toMatchObject({ monthly_limit: null, remaining: null });
  });
});

describe('listCreditLedger', () => {
  const list = async (query = '', as = tokens.owner) => (await get(`/api/workspace/credits/ledger${query}`, as)).items;
  const kindsOf = (rows: { kind: string; amount: number }[]) => rows.map((row) => `${row.kind} ${row.amount}`);

  it('returns every entry to admins and workspace keys, newest first, with the balance after each', async () => {
    const rows = await list();
    expect(kindsOf(rows)).toEqual([
      'reserve 4',
      'refund 1',
      'use 1',
      'release 1',
      'reserve 1',
      'use 2.5',
      'release 3',
      'reserve 3',
      'reset 5000',
    ]);
    expect(rows[0]).toMatchObject({
      balance_after: 4993.5,
      user_id: admin.id,
      operation: 'test',
      reference_id: 'run-1',
    });
    expect(rows[5]).toMatchObject({ app_id: app.id, created_date: earlier.toISOString(), note: null });
    expect(await list('', tokens.admin)).toEqual(rows);
    const byKey = await world.call('GET', '/api/workspace/credits/ledger', { headers: { api_key: key.token } });
    expect(byKey.body.items).toEqual(rows);
  });

  it('returns only their own entries to others, whatever filter they send', async () => {
    const own = await list('', tokens.editor);
    expect(own).toHaveLength(7);
    expect(new Set(own.map((row: { user_id: string }) => row.user_id))).toEqual(new Set([editor.id]));
    expect(await list(`?user_id=${admin.id}`, tokens.editor)).toEqual([]);
    expect(await list('?kind=reset', tokens.editor)).toEqual([]);
  });

  it('filters by person, app, kind and time', async () => {
    expect(kindsOf(await list(`?user_id=${admin.id}`))).toEqual(['reserve 4']);
    expect(kindsOf(await list(`?app_id=${app.id}&kind=use`))).toEqual(['use 2.5']);
    expect(kindsOf(await list('?kind=refund'))).toEqual(['refund 1']);
    expect(await list(`?to=${earlier.toISOString()}`)).toHaveLength(4);
    expect(await list(`?from=${new Date(earlier.getTime() + 1).toISOString()}`)).toHaveLength(5);
    expect(await list('?user_id=nobody')).toEqual([]);
    expect(await list(`?app_id=${newId()}`)).toEqual([]);
  });

  it('pages without repeating or skipping an entry, and refuses a foreign cursor', async () => {
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await get(`/api/workspace/credits/ledger?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.items.map((row: { id: string }) => row.id));
      cursor = page.next_cursor;
    } while (cursor);
    expect(seen).toEqual((await list()).map((row: { id: string }) => row.id));
    expect(await get('/api/workspace/credits/ledger?cursor=x')).toMatchObject({ code: 'cursor_invalid' });
    expect((await get('/api/workspace/credits/ledger?kind=gift')).detail[0]).toMatchObject({ type: 'enum' });
  });

  it('uses an index for every filter among many entries', async () => {
    const large = await world.workspace(owner, 'business');
    await sql`insert into credit_ledger (workspace_id, id, kind, amount, user_id, app_id, operation, created_date)
      select ${large}, gen_random_uuid(), (array['use', 'reserve', 'release'])[1 + n % 3], 1,
        case when n % 1000 = 0 then ${editor.id}::uuid else ${admin.id} end,
        case when n % 1000 = 0 then ${app.id}::uuid end, 'test', now() - n * interval '1 second'
      from generate_series(1, 50000) n`.execute(world.db);
    await sql`analyze credit_ledger`.execute(world.db);
    const plan = async (filter: string) => {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain select * from credit_ledger
        where workspace_id = ${sql.lit(large)} and ${sql.raw(filter)}
        order by created_date desc, id desc limit 51`.execute(world.db);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    expect(await plan('true')).toMatch(/Index Scan Backward using credit_ledger_by_time/);
    expect(await plan(`user_id = '${editor.id}'`)).toMatch(/Index Scan Backward using credit_ledger_of_user/);
    expect(await plan(`app_id = '${app.id}'`)).toMatch(/Index Scan Backward using credit_ledger_of_app/);
    expect(await plan("kind = 'grant'")).toMatch(/using credit_ledger_of_kind/);
    expect(await plan("kind = 'use'")).toMatch(/Index Scan Backward using credit_ledger_by_time/);
    expect(await plan("created_date <= now() - interval '1 hour'")).toMatch(/using credit_ledger_by_time/);
    await sql`delete from workspaces where id = ${large}`.execute(world.db);
  });
});

describe('the daily reconciliation', () => {
  const day = 24 * 60 * 60 * 1000;
  const check = world.app.background.jobs.find((job) => job.name === 'reconcile credit pools');
  const reports = () =>
    world.logLines.filter((line) => line.includes('does not match')).map((line) => JSON.parse(line));
  let days = 0;
  const nextDay = async () => {
    days += 1;
    while (((await check?.run(db, new Date(Date.now() + days * (day + 1000)))) ?? 0) > 0);
  };

  it('reports nothing while everything adds up, and checks a pool once a day', async () => {
    await nextDay();
    expect(reports()).toEqual([]);
    expect(await check?.run(db, new Date(Date.now() + days * (day + 1000)))).toBe(0);
  });

  it('reports every sum that differs in the log and the audit log, and repairs nothing', async () => {
    const tamper = (table: 'credit_pools' | 'credit_use', used: number) =>
      world.db
        .updateTable(table)
        .set((is) => ({ used: is('used', '+', used) }))
        .where('workspace_id', '=', workspace)
        .execute();
    await tamper('credit_pools', 0.0001);
    await world.db
      .updateTable('credit_use')
      .set({ reserved: 9 })
      .where('workspace_id', '=', workspace)
      .where('user_id', '=', admin.id)
      .execute();
    await nextDay();
    const found = [
      { sum: 'used', kept: 2.5001, ledger: 2.5 },
      { sum: `reserved by ${admin.id}`, kept: 9, ledger: 4 },
    ];
    expect(reports()).toHaveLength(2);
    expect(reports()).toEqual(
      expect.arrayContaining(
        found.map((each) => expect.objectContaining({ ...each, level: 50, workspace_id: workspace })),
      ),
    );
    const audited = (await get('/api/workspace/audit-log?type=credits.*')).items;
    expect(audited.map((entry: { after: object }) => entry.after)).toEqual(expect.arrayContaining(found));
    expect(audited[0]).toMatchObject({ type: 'credits.mismatch', actor: { kind: 'service' } });
    expect(await get('/api/workspace/credits')).toMatchObject({ used: 2.5001 });
    await nextDay();
    expect(reports()).toHaveLength(4);
    await tamper('credit_pools', -0.0001);
  });
});
