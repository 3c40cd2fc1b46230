// Tests the members list except its filters and orders (list.test.ts): validation, limits, the age of activity, and
// that the directory matches the tables it is derived from.
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { seed } from '../../../test/support/cases.ts';
import { createRandom } from '../../../test/support/rule-cases.ts';
import { type Person, startSecondApp, startWorld, type World } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';
import { clearOldMonths, compactTallies, refreshDirectories } from './directory-refresh.ts';

let world: World;
let owner: Person;

beforeAll(async () => {
  world = await startWorld();
  owner = await world.person('owner@acme.example', { full_name: 'Owner' });
});

const list = (as: string, body?: unknown, headers?: Record<string, string>) =>
  world.call('POST', '/api/workspace/members/list', { as, body, headers });
const emails = (got: { body: { members: { email: string }[] } }) => got.body.members.map((entry) => entry.email);

async function workspaceWithToken(): Promise<{ id: string; token: string }> {
  const id = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', id).execute();
  return { id, token: await world.token(owner, id) };
}

const spend = (workspace_id: string, user_id: string, amount: number, created_date: Date) =>
  world.db
    .insertInto('credit_ledger')
    .values({ workspace_id, id: newId(), kind: 'use', amount, user_id, operation: 'test', created_date })
    .execute();

describe('listMembers', () => {
  it('treats a missing body as an empty one', async () => {
    const { token } = await workspaceWithToken();
    const got = await list(token);
    expect(got).toMatchObject({ status: 200, body: { total: 1, has_more: false, next_cursor: null } });
    expect(got.body.members).toMatchObject([{ email: owner.email, role: 'owner', status: 'joined' }]);
  });

  it.each([
    [{ page_size: 0 }, 'page_size', 'greater_than_equal'],
    [{ page_size: 101 }, 'page_size', 'less_than_equal'],
    [{ search: 'x'.repeat(257) }, 'search', 'string_too_long'],
    [{ search_terms: Array(201).fill('a') }, 'search_terms', 'too_long'],
    [{ roles: Array(21).fill('owner') }, 'roles', 'too_long'],
    [{ invite_statuses: Array(4).fill('joined') }, 'invite_statuses', 'too_long'],
    [{ sort_by: 'role' }, 'sort_dir', 'missing'],
    [{ sort_dir: 'asc' }, 'sort_by', 'missing'],
    [{ cursor: 'x'.repeat(257) }, 'cursor', 'string_too_long'],
    [{ sort_by: 'email', sort_dir: 'asc' }, 'sort_by', 'enum'],
  ])('refuses %j', async (body, field, type) => {
    const { token } = await workspaceWithToken();
    expect(await list(token, body)).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', field], type }] } });
  });

  it.each([
    ['Straße', 'STRASSE'],
    ['Straße', 'raẞ'],
    ['STRASSE', 'straße'],
    ['Οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
    ['ΟΔΥΣΣΕΎΣ', 'εύς'],
    ['οδυσσεύς', 'σεύσ'],
    ['Zoe\u0308', 'ZOË'],
    ['Zoë', 'oe\u0308'],
    ['Zoë', 'e\u0308'],
  ])('finds the name %s by %s', async (full_name, search) => {
    const { id, token } = await workspaceWithToken();
    const person = await world.member(id, 'viewer', `folded.${id}@acme.example`);
    await world.db.updateTable('users').set({ full_name }).where('id', '=', person.id).execute();
    expect(emails(await list(token, { search }))).toEqual([person.email]);
    // Short terms are compared with every member. Longer terms are looked up in the index.
    expect(emails(await list(token, { search_terms: ['nobody at all', search] }))).toEqual([person.email]);
    expect(emails(await list(token, { search: ` ${search} ` }))).toEqual([]);
  });

  it('limits each session separately, and all tokens of a workspace together', async () => {
    const id = await world.workspace(owner);
    const admin = await world.member(id, 'admin', `admin.${id}@acme.example`);
    const tokens = [await world.token(owner, id), await world.token(admin, id)];
    for (let i = 0; i < 30; i += 1) expect((await list(tokens[i % 2] as string)).status).toBe(200);
    for (const token of tokens)
      expect(await list(token)).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    const session = await world.credential({
      kind: 'session',
      user_id: owner.id,
      workspace_id: id,
      permission: 'full_access',
    });
    const cookie = { cookie: `plinth_session=${session.token}`, 'x-active-workspace-id': id };
    expect((await world.call('POST', '/api/workspace/members/list', { headers: cookie })).status).toBe(200);
  });

  it('lists a guest whose address of the staff is not proven, unless an app was shared and mail is off', async () => {
    const { id } = await workspaceWithToken();
    const staff = { STAFF_EMAIL_DOMAINS: 'staff.example' };
    const withMail = await startSecondApp(world, { environment: { ...staff, SMTP_URL: 'smtp://127.0.0.1:1' } });
    const withoutMail = await startSecondApp(world, { environment: staff });
    const guest = await world.member(id, 'guest', `claims.${id}@staff.example`);
    const token = await world.token(owner, id);
    const totals = async () => {
      const answers = [withMail, withoutMail].map(async (beside) => {
        const { body } = await beside.call('POST', '/api/workspace/members/list', { as: token });
        expect(body.members).toHaveLength(body.total);
        return body.total;
      });
      return Promise.all(answers);
    };
    expect(await totals()).toEqual([1, 1]);
    await world.db.updateTable('users').set({ email_verified_at: null }).where('id', '=', guest.id).execute();
    expect(await totals()).toEqual([2, 2]);
    const row = world.db.updateTable('memberships').where('workspace_id', '=', id).where('user_id', '=', guest.id);
    await row.set({ assigned_via: 'app_share' }).execute();
    expect(await totals()).toEqual([2, 1]);
  });

  it('hides active staff guests from list and total, and shows them once they are blocked or no longer guests', async () => {
    const { id } = await workspaceWithToken();
    const beside = await startSecondApp(world, { environment: { STAFF_EMAIL_DOMAINS: 'Staff.example' } });
    const guest = await world.member(id, 'guest', `guest.${id}@staff.example`);
    const token = await world.token(owner, id);
    const totals = async () => {
      const path = '/api/workspace/members/list';
      const bodies = [{}, { search: 'guest' }, { roles: ['guest'] }, { apps_owned: { gte: 0 } }];
      return Promise.all(bodies.map(async (body) => (await beside.call('POST', path, { as: token, body })).body.total));
    };
    expect(await totals()).toEqual([1, 0, 0, 1]);
    const row = world.db.updateTable('memberships').where('workspace_id', '=', id).where('user_id', '=', guest.id);
    await row.set({ access_state: 'blocked' }).execute();
    expect(await totals()).toEqual([2, 1, 1, 2]);
    await row.set({ access_state: 'active', role: 'viewer' }).execute();
    expect(await totals()).toEqual([2, 1, 0, 2]);
  });

  it('ignores sorting by credits for callers who may not see the credits of others, and says so', async () => {
    const { id } = await workspaceWithToken();
    const editor = await world.member(id, 'editor', `editor.${id}@acme.example`);
    const token = await world.token(editor, id);
    const got = await list(token, { sort_by: 'credits', sort_dir: 'desc' });
    expect(got.headers['x-ignored-fields']).toBe('sort_by,sort_dir');
    expect(got.body.members.map((entry: { credits_used: unknown }) => entry.credits_used)).toEqual([null, 0]);
  });

  it('shows activity that is at most a minute old, and current after a change of members', async () => {
    const { id, token } = await workspaceWithToken();
    const age = async () => {
      const got = await list(token);
      const asOf = Date.parse(got.headers['x-data-as-of'] as string);
      const own = got.body.members.find((entry: { email: string }) => entry.email === owner.email);
      return { ageMs: world.clock.now().getTime() - asOf, used: own.credits_used, active: own.last_active };
    };
    await refreshDirectories(world.db, world.clock.now());
    const at = world.clock.now();
    await spend(id, owner.id, 1.5, at);
    expect((await age()).used).toBe(0);
    world.clock.aheadMs = 61_000;
    expect(await age()).toMatchObject({ used: 1.5, active: at.toISOString().slice(0, -1) });
    expect((await age()).ageMs).toBeLessThan(60_000);
    await spend(id, owner.id, 1, world.clock.now());
    await world.member(id, 'viewer', `late.${id}@acme.example`);
    expect((await age()).used).toBe(2.5);
    world.clock.aheadMs = 0;
  });

  it('starts a month with zero credits, also in the order, whether or not a worker ran', async () => {
    const { id, token } = await workspaceWithToken();
    const now = world.clock.now();
    const [a, b] = [
      await world.member(id, 'editor', `a.${id}@x.example`),
      await world.member(id, 'editor', `b.${id}@x.example`),
    ];
    const month = (ahead: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 3);
    const at = async (ahead: number) => {
      world.clock.aheadMs = month(ahead) - Date.now();
      await refreshDirectories(world.db, world.clock.now());
      await world.db.updateTable('credentials').set({ expires_at: null, last_used_at: null }).execute();
    };
    const order = async () => {
      const got = await list(token, { sort_by: 'credits', sort_dir: 'desc', roles: ['editor'] });
      return got.body.members.map((entry: { email: string; credits_used: number }) => [
        entry.email[0],
        entry.credits_used,
      ]);
    };
    await spend(id, b.id, 4, new Date(month(0)));
    await at(0);
    expect(await order()).toEqual([['b', 4], ['a', 0]]); // biome-ignore format: a table
    await at(1);
    expect(await order()).toEqual([['a', 0], ['b', 0]]); // biome-ignore format: a table
    await spend(id, a.id, 1, new Date(month(1)));
    await at(1);
    expect(await order()).toEqual([['a', 1], ['b', 0]]); // biome-ignore format: a table
    await at(2);
    const stale = await list(token, { sort_by: 'credits', sort_dir: 'desc' });
    expect(stale.headers['x-partial-result']).toBe('credits_order');
    await at(1);
    while ((await clearOldMonths(world.db, world.clock.now())) > 0);
    await at(2);
    expect(await order()).toEqual([['a', 0], ['b', 0]]); // biome-ignore format: a table
    world.clock.aheadMs = 0;
  });

  it('shows the earlier credits of a member who left and came back', async () => {
    const { id, token } = await workspaceWithToken();
    const person = await world.member(id, 'editor', `back.${id}@acme.example`);
    await spend(id, person.id, 3, world.clock.now());
    await refreshDirectories(world.db, world.clock.now());
    await spend(id, person.id, 2, world.clock.now());
    const own = sql`workspace_id = ${id} and user_id = ${person.id}`;
    await sql`delete from memberships where ${own}`.execute(world.db);
    expect(emails(await list(token))).not.toContain(person.email);
    await sql`insert into memberships values (${id}, ${person.id}, 'viewer', 'active', now(), now())`.execute(world.db);
    const got = await list(token, { search: 'back.' });
    expect(got.body.members).toMatchObject([{ role: 'viewer', credits_used: 5 }]);
  });
});

describe('the member directory', () => {
  const difference = async () => {
    const { rows } = await sql`
      select 'directory' as what, concat(to_json(d), to_json(v), to_json(c)) as about from entries_of_directory v
        join app_counts_of_directory c using (workspace_id, id)
        full join member_directory d on d.workspace_id = v.workspace_id and d.id = v.id
      where (d.joined, d.role, d.access_state, d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at,
          d.email_verified, d.apps_owned, d.apps_shared, d.agents_owned, d.agents_shared)
        is distinct from (v.joined, v.role, v.access_state, v.assigned_via, v.email, v.full_name, v.credit_limit,
          v.expires_at, v.email_verified, c.apps_owned, c.apps_shared, c.agents_owned, c.agents_shared)
      union all
      select 'words', coalesce(d.id, w.id)::text from member_directory d full join member_words w using (workspace_id, id)
      where (fold_case(d.email), fold_case(d.full_name)) is distinct from (w.email, w.name) or d.place <> w.place
      union all
      select 'tallies', workspace_id::text from (
        select workspace_id, place, members from member_tallies
        union all select workspace_id, place, -1 from member_directory) t
      group by workspace_id, place having sum(members) <> 0`.execute(world.db);
    return rows;
  };

  it('agrees with the tables after many concurrent changes', async () => {
    const { id, token } = await workspaceWithToken();
    const people = await Promise.all(
      Array.from({ length: 8 }, (_, i) => world.member(id, 'editor', `many.${i}.${id}@acme.example`)),
    );
    const apps = await Promise.all(people.map((person) => world.appOf(person, id)));
    const { one } = createRandom(seed);
    const random = () => {
      const [person, app] = [one(people), one(apps)];
      return one([
        sql`update memberships set role = ${one(['admin', 'viewer', 'guest'])} where workspace_id = ${id} and user_id = ${person.id}`,
        sql`update apps set owner_id = ${person.id} where id = ${app.id}`,
        sql`update apps set deleted_date = ${one([null, new Date()])} where id = ${app.id}`,
        sql`update apps set app_type = ${one(['user_app', 'user_agent'])} where id = ${app.id}`,
        sql`insert into app_shares values (${app.id}, ${person.id}, ${id}, 'viewer', now()) on conflict do nothing`,
        sql`delete from app_shares where app_id = ${app.id} and user_id = ${person.id}`,
        sql`delete from memberships where workspace_id = ${id} and user_id = ${person.id} and role = 'guest'`,
        sql`insert into memberships values (${id}, ${person.id}, 'editor', 'active', now(), now()) on conflict do nothing`,
        sql`insert into invitations (workspace_id, id, email, role, hash, pepper_id, created_date, expires_at)
          values (${id}, ${newId()}, ${one(people).email}, 'viewer', ${Buffer.from(newId())}, 'p', now(), now()) on conflict do nothing`,
        sql`update invitations set accepted_at = now() where workspace_id = ${id} and email = ${person.email}`,
        sql`update users set full_name = ${one(['Zed', '', 'ÉCLAIR'])} where id = ${person.id}`,
        sql`update users set email_verified_at = ${one([null, new Date()])} where id = ${person.id}`,
      ]);
    };
    const clients = Array.from({ length: 6 }, async () => {
      for (let i = 0; i < 60; i += 1) await random().execute(world.app.database.db);
    });
    const refreshing = (async () => {
      for (let i = 0; i < 20; i += 1) {
        await refreshDirectories(world.db, world.clock.now());
        await compactTallies(world.db);
      }
    })();
    await Promise.all([...clients, refreshing]);
    expect(await difference()).toEqual([]);
    const { rows } = await sql<{
      n: number;
    }>`select count(*) as n from member_directory where workspace_id = ${id}`.execute(world.db);
    expect((await list(token)).body.total).toBe(rows[0]?.n);
  });

  it('is deleted with its workspace, and leaves nothing behind once tallies are compacted', async () => {
    const { id } = await workspaceWithToken();
    const person = await world.member(id, 'editor', `gone.${id}@acme.example`);
    await world.share(await world.appOf(owner, id), person, 'viewer');
    await world.db.deleteFrom('workspaces').where('id', '=', id).execute();
    await refreshDirectories(world.db, world.clock.now());
    await compactTallies(world.db);
    expect(await difference()).toEqual([]);
    const { rows } = await sql`
      select 1 from member_tallies where workspace_id = ${id} union all select 1 from member_activity where workspace_id = ${id}
      union all select 1 from member_directory where workspace_id = ${id}`.execute(world.db);
    expect(rows).toEqual([]);
  });
});
