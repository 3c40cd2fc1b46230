// Tests what the specification says about the list of a workspace's members.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { type Person, startWorld } from '../support/world.ts';
import { expectInvalid, expectLimit, expectOk, integer, orNull, overrideLimits, text, time } from './support.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const world = await startWorld({
  environment: { MODEL_URL: model.url, MODEL_NAME: 'house-model', STAFF_EMAIL_DOMAINS: 'staff.example' },
});
await world.startWorker();
// A reply costs one credit.
model.script(() => ({ text: 'At six.', usage: { prompt_tokens: 9_000, completion_tokens: 1_000 } }));

const owner = await world.person('olga@example.com', { full_name: 'Olga Owner' });
const workspace = await world.workspace(owner);
const join = async (role: 'admin' | 'editor' | 'viewer' | 'guest', email: string, full_name: string) => {
  const person = await world.member(workspace, role, email);
  await world.db.updateTable('users').set({ full_name }).where('id', '=', person.id).execute();
  return person;
};
const admin = await join('admin', 'adam@example.com', 'Adam Admin');
const editor = await join('editor', 'eve@example.com', 'Eve Editor');
const nameless = await join('editor', 'zoe@example.com', '');
const viewer = await join('viewer', 'vera@example.com', 'Vera Viewer');
const token = await world.token(owner, workspace);
const editorToken = await world.token(editor, workspace);
const call = (method: string, path: string, body?: object, as = token) =>
  world.call(method, path, { as, ...(body && { body }) });

beforeAll(async () => {
  await overrideLimits(world, workspace, 1_000);
  // One app of the editor and one agent of the owner are shared with a guest who has joined, and with the viewer.
  const app = await world.appOf(editor, workspace, { visibility: 'private' });
  const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
  await world.share(app, viewer, 'viewer');
  await world.share(agent, editor, 'viewer');
  for (const email of ['guest@example.com', 'colleague@staff.example']) {
    expectOk(await call('PUT', `/api/apps/${app.id}/shares/${encodeURIComponent(email)}`, { role: 'viewer' }));
    const { resent } = expectOk(await call('POST', '/api/workspace/invitations/resend', { emails: [email] }));
    const invitation_token = new URL(resent[0].accept_url).hash.slice(1);
    const body = { invitation_token, full_name: 'Gus Guest', password: 'a long enough password' };
    expectOk(await world.call('POST', '/api/invitations/accept', { body }));
  }
  for (const email of ['pending@example.com', 'expired@example.com'])
    expectOk(await call('POST', '/api/workspace/invitations/invite', { email, role: 'editor' }));
  await world.db
    .updateTable('invitations')
    .set({ expires_at: new Date(Date.now() - 1_000) })
    .where('email', '=', 'expired@example.com')
    .execute();
  expectOk(await call('PUT', '/api/workspace/default-credit-limit', { default_credit_limit: 50 }));
  expectOk(await call('PUT', '/api/workspace/members/eve%40example.com/credit-limit', { credit_limit: 20 }));
  // The owner uses two credits, then the editor one.
  for (const person of [owner, owner, editor]) await converse(person, agent.id);
  // Changing a member makes the copy of credits and activity current.
  expectOk(await call('PUT', '/api/workspace/members/vera%40example.com/access', { state: 'blocked' }));
  expectOk(await call('PUT', '/api/workspace/members/vera%40example.com/access', { state: 'active' }));
});

async function converse(person: Person, agent: string): Promise<void> {
  const as = await world.token(person, workspace);
  const path = `/api/agents/${agent}/conversations`;
  const { id } = expectOk(await call('POST', path, undefined, as));
  expectOk(await call('POST', `${path}/${id}/messages`, { content: 'When?' }, as));
}

const list = (body?: object, as = token) => call('POST', '/api/workspace/members/list', body, as);
type Entry = Record<string, never>;
const entries = async (body?: object, as = token): Promise<Entry[]> => expectOk(await list(body, as)).members;
const emails = async (body?: object, as = token): Promise<string[]> =>
  (await entries(body, as)).map(({ email }) => String(email).replace('@example.com', ''));
const entryOf = async ({ email }: { email: string }, as = token): Promise<Entry> =>
  (await entries({ search: email }, as))[0] as Entry;
const defaultOrder = ['olga', 'adam', 'eve', 'zoe', 'vera', 'guest', 'expired', 'pending'];

describe('What the service does', () => {
  it("Through it a caller can list a workspace's members and pending invitations with filters, sorting, cursor paging and credit use", async () => {
    const body = { roles: ['owner', 'editor'], sort_by: 'credits', sort_dir: 'desc', page_size: 2 };
    const first = expectOk(await list(body));
    expect(first).toMatchObject({ total: 5, has_more: true });
    expect(first.members.map((each: Entry) => each.credits_used)).toEqual([2, 1]);
    const rest = expectOk(await list({ ...body, cursor: first.next_cursor })).members;
    expect(rest.map((each: Entry) => each.status)).toContain('joined');
  });
});

describe('Resources and their fields: Workspace member entry (in the members list)', () => {
  it('access_state: string', async () => {
    for (const entry of await entries()) expect(entry.access_state).toEqual(text);
  });

  it('agents_owned, agents_shared, apps_owned, apps_shared: integer', async () => {
    for (const entry of await entries())
      expect(entry).toMatchObject({
        agents_owned: integer,
        agents_shared: integer,
        apps_owned: integer,
        apps_shared: integer,
      });
    expect(await entryOf(editor)).toMatchObject({ apps_owned: 1, apps_shared: 0, agents_owned: 0, agents_shared: 1 });
  });

  it('assigned_via: string', async () => {
    for (const entry of await entries()) expect(entry.assigned_via).toEqual(text);
  });

  it("credit_limit: number or null; the member's credit limit", async () => {
    expect(await entryOf(editor)).toMatchObject({ credit_limit: 20 });
    expect(await entryOf(owner)).toMatchObject({ credit_limit: null });
  });

  it("credits_used: number or null; null for other members' rows when the caller is neither owner nor admin", async () => {
    expect((await entries()).map((each) => each.credits_used)).toEqual([2, 0, 1, 0, 0, 0, 0, 0]);
    const seen = (await entries({}, editorToken)).map((each) => each.credits_used);
    expect(seen).toEqual([null, null, 1, null, null, null, null, null]);
  });

  it('email: string', async () => {
    expect(await entryOf(editor)).toMatchObject({ email: 'eve@example.com' });
  });

  it('full_name: string', async () => {
    expect(await entryOf(editor)).toMatchObject({ full_name: 'Eve Editor' });
    expect(await entryOf(nameless)).toMatchObject({ full_name: '' });
  });

  it('is_default_limit: boolean; true when the member is on the workspace default limit', async () => {
    expect(await entryOf(editor)).toMatchObject({ is_default_limit: false });
    expect(await entryOf(nameless)).toMatchObject({ is_default_limit: true, credit_limit: 50 });
  });

  it('last_active: timestamp string, no zone suffix; last credit use; members who never used credits have none', async () => {
    const { last_active } = await entryOf(editor);
    expect(last_active).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$/);
    expect((await entryOf(viewer)).last_active ?? null).toBeNull();
  });

  it("last_seen: timestamp string or null; null for other members' rows when the caller is neither owner nor admin", async () => {
    for (const entry of await entries()) expect(entry.last_seen).toEqual(orNull(time));
    expect((await entryOf(owner)).last_seen).toEqual(time);
    expect((await entryOf(owner, editorToken)).last_seen).toBeNull();
    expect((await entryOf(editor, editorToken)).last_seen).toEqual(time);
  });

  it('role: string; owner, admin, editor, viewer, guest', async () => {
    const roles = new Set((await entries()).map((each) => each.role));
    expect([...roles]).toEqual(['owner', 'admin', 'editor', 'viewer', 'guest']);
  });

  it('status: string', async () => {
    for (const entry of await entries()) expect(entry.status).toEqual(text);
  });

  it('user_id: string', async () => {
    for (const entry of await entries()) expect(entry.user_id).toEqual(text);
    expect(await entryOf(editor)).toMatchObject({ user_id: editor.id });
  });
});

describe('Endpoints: POST /api/workspace/members/list', () => {
  it('Returns one page of members and pending invitations', async () => {
    expect(await emails()).toEqual(defaultOrder);
  });

  it('Body (all optional)', async () => {
    expectOk(await list());
    expectOk(await list({}));
  });

  it('search: string; max 256; case-insensitive match anywhere in email, name, role or status', async () => {
    expect(await emails({ search: 'ZOE@EXAM' })).toEqual(['zoe']);
    expect(await emails({ search: 've ed' })).toEqual(['eve']);
    expect(await emails({ search: 'GUEST' })).toEqual(['guest']);
    expect(await emails({ search: 'Pend' })).toEqual(['pending']);
    expectOk(await list({ search: 'x'.repeat(256) }));
    expectOk(await list({ search: '' }));
    expectInvalid(await list({ search: 'x'.repeat(257) }), 'body', 'search');
  });

  it('search_terms: array of string; up to 200 terms, each max 256; same matching; a member matches when any term does', async () => {
    expect(await emails({ search_terms: ['ADAM', 'vera', 'nobody'] })).toEqual(['adam', 'vera']);
    expectOk(await list({ search_terms: Array(200).fill('x'.repeat(256)) }));
    expectOk(await list({ search_terms: [] }));
    expectInvalid(await list({ search_terms: Array(201).fill('x') }), 'body', 'search_terms');
    expectInvalid(await list({ search_terms: ['x', 'x'.repeat(257)] }), 'body', 'search_terms', 1);
  });

  it('sort_by: string; member (name, or email if no name), credits, apps, agents (owned plus shared), last_active, role; needs sort_dir', async () => {
    const sorted = (sort_by: string) => emails({ sort_by, sort_dir: 'asc', invite_statuses: ['joined'] });
    expect(await sorted('member')).toEqual(['adam', 'eve', 'guest', 'olga', 'vera', 'zoe']);
    expect((await sorted('credits')).slice(-2)).toEqual(['eve', 'olga']);
    expect((await sorted('apps')).slice(0, 3)).toEqual(['olga', 'adam', 'zoe']);
    expect((await sorted('agents')).slice(-2)).toEqual(['olga', 'eve']);
    expect((await sorted('last_active')).slice(0, 2)).toEqual(['olga', 'eve']);
    expect(await sorted('role')).toEqual(['olga', 'adam', 'eve', 'zoe', 'vera', 'guest']);
    expect((await list({ sort_by: 'member' })).status).toBe(422);
    expectInvalid(await list({ sort_by: 'email', sort_dir: 'asc' }), 'body', 'sort_by');
  });

  it('sort_dir: string; asc or desc; needs sort_by', async () => {
    expect(await emails({ sort_by: 'role', sort_dir: 'desc', invite_statuses: ['joined'] })).toEqual([
      'guest',
      'vera',
      'eve',
      'zoe',
      'adam',
      'olga',
    ]);
    expect((await list({ sort_dir: 'asc' })).status).toBe(422);
    expectInvalid(await list({ sort_by: 'role', sort_dir: 'up' }), 'body', 'sort_dir');
  });

  it('roles: array; max 20; owner, admin, editor, viewer, guest', async () => {
    for (const role of ['owner', 'admin', 'editor', 'viewer', 'guest'])
      for (const entry of await entries({ roles: [role] })) expect(entry.role).toBe(role);
    expect(await emails({ roles: ['owner', 'guest'] })).toEqual(['olga', 'guest']);
    expect(await emails({ roles: Array(20).fill('owner') })).toEqual(['olga']);
    expectInvalid(await list({ roles: Array(21).fill('owner') }), 'body', 'roles');
    expectInvalid(await list({ roles: ['boss'] }), 'body', 'roles', 0);
  });

  it('invite_statuses: array; max 3; joined, pending, expired', async () => {
    expect(await emails({ invite_statuses: ['pending'] })).toEqual(['pending']);
    expect(await emails({ invite_statuses: ['expired'] })).toEqual(['expired']);
    expect(await emails({ invite_statuses: ['joined'] })).toEqual(defaultOrder.slice(0, 6));
    expect(await emails({ invite_statuses: ['joined', 'pending', 'expired'] })).toEqual(defaultOrder);
    expectInvalid(await list({ invite_statuses: Array(4).fill('joined') }), 'body', 'invite_statuses');
    expectInvalid(await list({ invite_statuses: ['gone'] }), 'body', 'invite_statuses', 0);
  });

  it('credit_limit_set: boolean; true = only members with own limit; false = only without (workspace default counts as without)', async () => {
    expect(await emails({ credit_limit_set: true })).toEqual(['eve']);
    expect(await emails({ credit_limit_set: false })).toEqual(defaultOrder.filter((name) => name !== 'eve'));
  });

  it('apps_owned: object {gte, lte}; range on apps_owned plus apps_shared', async () => {
    expect(await emails({ apps_owned: { gte: 1 } })).toEqual(['eve', 'vera', 'guest']);
    expect(await emails({ apps_owned: { gte: 1, lte: 1 } })).toEqual(['eve', 'vera', 'guest']);
    expect(await emails({ apps_owned: { lte: 0 }, invite_statuses: ['joined'] })).toEqual(['olga', 'adam', 'zoe']);
    expect(await emails({ apps_owned: {} })).toEqual(defaultOrder);
  });

  it('agents_owned: object {gte, lte}; range on agents_owned plus agents_shared', async () => {
    expect(await emails({ agents_owned: { gte: 1 } })).toEqual(['olga', 'eve']);
    expect(await emails({ agents_owned: { lte: 0 }, roles: ['editor'] })).toEqual(['zoe', 'expired', 'pending']);
  });

  it('last_active: object {gte, lte} timestamps; members who never used credits do not match', async () => {
    const { last_active } = await entryOf(editor);
    expect(await emails({ last_active: { gte: last_active, lte: last_active } })).toEqual(['eve']);
    expect(await emails({ last_active: { lte: `${last_active}Z` } })).toEqual(['olga', 'eve']);
    expect(await emails({ last_active: { gte: '2000-01-01T00:00:00Z' } })).toEqual(['olga', 'eve']);
    expect(await emails({ last_active: { lte: '2000-01-01T00:00:00Z' } })).toEqual([]);
  });

  it('cursor: string; max 256; the previous next_cursor; omit for first page', async () => {
    const first = expectOk(await list({ page_size: 3 }));
    expect(await emails({ page_size: 3, cursor: first.next_cursor })).toEqual(defaultOrder.slice(3, 6));
    expect(first.next_cursor.length).toBeLessThanOrEqual(256);
    expectOk(await list({ cursor: 'x'.repeat(256) }));
    expectInvalid(await list({ cursor: 'x'.repeat(257) }), 'body', 'cursor');
  });

  it('page_size: integer; 1 to 100; default 50', async () => {
    expect(await emails({ page_size: 1 })).toEqual(['olga']);
    expect(await emails({ page_size: 100 })).toEqual(defaultOrder);
    for (const page_size of [0, 101, 1.5, '10']) expectInvalid(await list({ page_size }), 'body', 'page_size');
    const person = await world.person('crowd@example.com');
    const crowded = await world.workspace(person);
    for (let n = 0; n < 51; n += 1) await world.member(crowded, 'viewer', `crowd${n}@example.com`);
    expect(expectOk(await list({}, await world.token(person, crowded))).members).toHaveLength(50);
  });

  it('A member must match every filter that is set', async () => {
    expect(await emails({ roles: ['editor'], invite_statuses: ['joined'], credit_limit_set: false })).toEqual(['zoe']);
    expect(await emails({ roles: ['editor'], search: 'owner' })).toEqual([]);
    expect(await emails({ search: 'eve', search_terms: ['adam'] })).toEqual([]);
  });

  it('Without sort_by and sort_dir, and to break ties: joined members before pending invitations, then role from owner to guest, then email', async () => {
    expect(await emails()).toEqual(defaultOrder);
    const ties = await emails({ sort_by: 'agents', sort_dir: 'desc' });
    expect(ties.slice(2)).toEqual(defaultOrder.filter((name) => name !== 'olga' && name !== 'eve'));
  });

  it('Sorting by last_active puts members who never used credits last in either direction', async () => {
    const never = defaultOrder.filter((name) => name !== 'olga' && name !== 'eve');
    expect(await emails({ sort_by: 'last_active', sort_dir: 'asc' })).toEqual(['olga', 'eve', ...never]);
    expect(await emails({ sort_by: 'last_active', sort_dir: 'desc' })).toEqual(['eve', 'olga', ...never]);
  });

  it('Paging: send the same body with cursor set to the previous next_cursor until has_more is false', async () => {
    const seen: string[] = [];
    const body = { sort_by: 'member', sort_dir: 'asc', page_size: 3 };
    let cursor: string | undefined;
    for (let page = expectOk(await list(body)); ; page = expectOk(await list({ ...body, cursor }))) {
      seen.push(...page.members.map((each: Entry) => each.email));
      expect(page.has_more).toBe(page.next_cursor !== null);
      if (!page.has_more) break;
      cursor = page.next_cursor;
    }
    const whole = await entries({ sort_by: 'member', sort_dir: 'asc' });
    expect(seen).toEqual(whole.map((each) => each.email));
  });

  it('A cursor the service did not return starts from the first page', async () => {
    for (const cursor of ['made up', '', '💥'])
      expect(await emails({ cursor, page_size: 2 })).toEqual(['olga', 'adam']);
  });

  it("Owners and admins see everyone's credits_used and last_seen; other members see them only on their own row, null elsewhere, and sorting by credits falls back to the default order for them", async () => {
    for (const as of [token, await world.token(admin, workspace)]) {
      const rows = await entries({ invite_statuses: ['joined'] }, as);
      expect(rows.map((each) => each.credits_used)).not.toContain(null);
      expect(rows[0]?.last_seen).toEqual(time);
    }
    const rows = await entries({ sort_by: 'credits', sort_dir: 'asc' }, editorToken);
    expect(rows.map((each) => String(each.email).replace('@example.com', ''))).toEqual(defaultOrder);
    for (const row of rows)
      if (row.email !== editor.email) expect(row).toMatchObject({ credits_used: null, last_seen: null });
      else expect(row).toMatchObject({ credits_used: 1, last_seen: time });
  });

  it('Active guests with a staff email are not listed', async () => {
    const shared = await call('GET', '/api/apps?limit=100');
    expect(shared.status).toBe(200);
    expect((await entries()).map((each) => each.email)).not.toContain('colleague@staff.example');
    expect(expectOk(await list()).total).toBe(8);
    const path = '/api/workspace/members/colleague%40staff.example/access';
    expectOk(await call('PUT', path, { state: 'blocked' }));
    expect((await entries()).map((each) => each.email)).toContain('colleague@staff.example');
    expectOk(await call('PUT', path, { state: 'active' }));
    expect(expectOk(await list()).total).toBe(8);
  });

  it('credits_used, last_active and last_seen come from a cached copy; changing members starts a fresh copy and positions can shift, so an old cursor can skip or repeat people; after changing members page again from the start', async () => {
    const agent = expectOk(await call('GET', '/api/agents')).items[0];
    await converse(nameless, agent.id);
    expectOk(await call('PUT', '/api/workspace/members/vera%40example.com/access', { state: 'blocked' }));
    expectOk(await call('PUT', '/api/workspace/members/vera%40example.com/access', { state: 'active' }));
    expect(await entryOf(nameless)).toMatchObject({ credits_used: 1, last_active: text, last_seen: time });
    const { next_cursor } = expectOk(await list({ page_size: 2 }));
    const newcomer = await world.member(workspace, 'admin', 'aaron@example.com');
    expect((await list({ page_size: 2, cursor: next_cursor })).status).toBe(200);
    expect(await emails({ page_size: 3 })).toEqual(['olga', 'aaron', 'adam']);
    expectOk(await call('DELETE', `/api/workspace/members/${encodeURIComponent(newcomer.email)}`));
  });

  it('Response 200: members (array of member entries), next_cursor (string or null; null on last page), has_more (boolean), total (integer, all matches), monthly_limit (number or null, null = unlimited), default_member_credit_limit (number or null)', async () => {
    const last = expectOk(await list());
    expect(last).toEqual({
      members: expect.any(Array),
      next_cursor: null,
      has_more: false,
      total: 8,
      monthly_limit: null,
      default_member_credit_limit: 50,
    });
    const first = expectOk(await list({ page_size: 1 }));
    expect(first).toMatchObject({ next_cursor: text, has_more: true, total: 8 });
    const person = await world.person('limited@example.com');
    const limited = await world.workspace(person, 'pro');
    const answer = expectOk(await list({}, await world.token(person, limited)));
    expect(answer).toMatchObject({ monthly_limit: expect.any(Number), default_member_credit_limit: null });
  });
});

describe('Limits', () => {
  it('Members list: 30 requests per minute; a signed-in session has its own limit and all personal tokens of the workspace share one; some workspaces differ', async () => {
    for (const plan of ['free', 'pro', 'enterprise'] as const) {
      const person = await world.person(`${plan}-limits@example.com`);
      const own = await world.workspace(person, plan);
      const [one, other] = [await world.token(person, own), await world.token(person, own)];
      const session = { headers: { ...(await world.session(person)), 'x-active-workspace-id': own } };
      const tokens = [one, other];
      await expectLimit(world, 30, () => list({}, tokens.reverse()[0] as string));
      expectOk(await world.call('POST', '/api/workspace/members/list', session));
      await expectLimit(world, 30, () => world.call('POST', '/api/workspace/members/list', session));
      expectOk(await list({}, one));
      await overrideLimits(world, own, 2);
      await expectLimit(world, 60, () => list({}, one));
    }
  });
});

describe('Limits: data bounds', () => {
  it('members list page_size: 1 to 100, default 50', async () => {
    expect(await emails({ page_size: 1 })).toHaveLength(1);
    expectOk(await list({ page_size: 100 }));
    for (const page_size of [0, 101]) expectInvalid(await list({ page_size }), 'body', 'page_size');
  });

  it('members search / each search term / cursor: max 256 characters; up to 200 search terms', async () => {
    const term = 'ж'.repeat(256);
    expectOk(await list({ search: term, search_terms: Array(200).fill(term), cursor: term }));
    const long = `${term}x`;
    expectInvalid(await list({ search: long }), 'body', 'search');
    expectInvalid(await list({ search_terms: [long] }), 'body', 'search_terms', 0);
    expectInvalid(await list({ cursor: long }), 'body', 'cursor');
    expectInvalid(await list({ search_terms: Array(201).fill('x') }), 'body', 'search_terms');
  });

  it('members roles filter: max 20 items; invite_statuses max 3', async () => {
    expectOk(await list({ roles: Array(20).fill('guest'), invite_statuses: Array(3).fill('joined') }));
    expectInvalid(await list({ roles: Array(21).fill('guest') }), 'body', 'roles');
    expectInvalid(await list({ invite_statuses: Array(4).fill('joined') }), 'body', 'invite_statuses');
  });
});
