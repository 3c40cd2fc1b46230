// Compares the members list with a model of its documented rules, using thousands of random queries. Instead of the
// directory, the model filters, sorts and slices a plain array.
import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../../../test/support/cases.ts';
import { type Person, startWorld, type World } from '../../../test/support/world.ts';
import { insertMembership } from '../../core/identity/users.ts';
import { newId } from '../../kit/ids.ts';
import { refreshDirectories } from './directory-refresh.ts';

// ---- the model

const roles = ['owner', 'admin', 'editor', 'viewer', 'guest'] as const;
type Role = (typeof roles)[number];

interface Member {
  readonly id: string;
  user_id: string;
  email: string;
  full_name: string;
  role: Role;
  status: 'joined' | 'pending' | 'expired';
  access_state: 'active' | 'blocked' | 'invited';
  credit_limit: number | null;
  owned: { apps: number; agents: number };
  shared: { apps: number; agents: number };
  /** Credits spent, in ten-thousandths. */
  spent: number;
  last_active: Date | null;
  last_seen: Date | null;
}

interface Query {
  search?: string;
  search_terms?: string[];
  sort_by?: 'member' | 'credits' | 'apps' | 'agents' | 'last_active' | 'role';
  sort_dir?: 'asc' | 'desc';
  roles?: Role[];
  invite_statuses?: Member['status'][];
  credit_limit_set?: boolean;
  apps_owned?: { gte?: number; lte?: number };
  agents_owned?: { gte?: number; lte?: number };
  last_active?: { gte?: string; lte?: string };
}

const staffDomain = 'staff.example';
const defaultLimit = 12.5;

const apps = (member: Member) => member.owned.apps + member.shared.apps;
const agents = (member: Member) => member.owned.agents + member.shared.agents;
const isListed = (member: Member) =>
  !(member.role === 'guest' && member.access_state === 'active' && member.email.endsWith(`@${staffDomain}`));

function matchesTerm(member: Member, term: string): boolean {
  const fold = (text: string) => text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');
  return [member.email, member.full_name, member.role, member.status].some((text) => fold(text).includes(fold(term)));
}

const within = (value: number, range: { gte?: number; lte?: number } = {}) =>
  value >= (range.gte ?? Number.NEGATIVE_INFINITY) && value <= (range.lte ?? Number.POSITIVE_INFINITY);

function matchesAll(member: Member, query: Query): boolean {
  const terms = query.search_terms?.filter((term) => term !== '') ?? [];
  const active = { gte: timeOf(query.last_active?.gte), lte: timeOf(query.last_active?.lte) };
  const wantsActive = active.gte !== undefined || active.lte !== undefined;
  return (
    isListed(member) &&
    (!query.search || matchesTerm(member, query.search)) &&
    (terms.length === 0 || terms.some((term) => matchesTerm(member, term))) &&
    (!query.roles?.length || query.roles.includes(member.role)) &&
    (!query.invite_statuses?.length || query.invite_statuses.includes(member.status)) &&
    (query.credit_limit_set === undefined || query.credit_limit_set === (member.credit_limit !== null)) &&
    within(apps(member), query.apps_owned) &&
    within(agents(member), query.agents_owned) &&
    (!wantsActive || (member.last_active !== null && within(member.last_active.getTime(), active)))
  );
}

const timeOf = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function byDefault(a: Member, b: Member): number {
  const pending = Number(a.status !== 'joined') - Number(b.status !== 'joined');
  return pending || roles.indexOf(a.role) - roles.indexOf(b.role) || byCodePoint(a.email, b.email);
}

function byKey(a: Member, b: Member, { sort_by, sort_dir }: Query): number {
  const sign = sort_dir === 'desc' ? -1 : 1;
  if (sort_by === 'last_active' && (a.last_active === null || b.last_active === null))
    return Number(a.last_active === null) - Number(b.last_active === null);
  const label = (member: Member) => (member.full_name || member.email).toLowerCase();
  if (sort_by === 'member') return sign * byCodePoint(label(a), label(b));
  const number = (member: Member) =>
    sort_by === 'credits'
      ? member.spent
      : sort_by === 'apps'
        ? apps(member)
        : sort_by === 'agents'
          ? agents(member)
          : sort_by === 'role'
            ? roles.indexOf(member.role)
            : (member.last_active?.getTime() ?? 0);
  return sign * (number(a) - number(b));
}

const seesAll = (caller: Member) => caller.role === 'owner' || caller.role === 'admin';

function modelList(members: readonly Member[], query: Query, caller: Member): Member[] {
  const sorted = query.sort_by !== undefined && !(query.sort_by === 'credits' && !seesAll(caller));
  return members
    .filter((member) => matchesAll(member, query))
    .sort((a, b) => (sorted ? byKey(a, b, query) : 0) || byDefault(a, b));
}

function modelEntry(member: Member, caller: Member) {
  const isVisible = seesAll(caller) || member.id === caller.id;
  const mayUseDefault = member.status === 'joined' && ['admin', 'editor'].includes(member.role);
  const isDefault = member.credit_limit === null && mayUseDefault;
  return {
    user_id: member.user_id,
    email: member.email,
    full_name: member.full_name,
    role: member.role,
    status: member.status,
    access_state: member.access_state,
    assigned_via: 'direct',
    apps_owned: member.owned.apps,
    apps_shared: member.shared.apps,
    agents_owned: member.owned.agents,
    agents_shared: member.shared.agents,
    credit_limit: isDefault ? defaultLimit : member.credit_limit,
    is_default_limit: isDefault,
    credits_used: isVisible ? member.spent / 10_000 : null,
    last_active: member.last_active?.toISOString().slice(0, -1) ?? null,
    last_seen: isVisible ? (member.last_seen?.toISOString() ?? null) : null,
  };
}

// ---- a workspace with every kind of member

const longName = (start: string) => `${start} ${'Ж'.repeat(98 - start.length)}x`;
const longEmail = (start: string) =>
  `${start.padEnd(64, 'q')}@${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(60)}.exam`;
const namePool = [
  'Anna Berg',
  'anna berg',
  'ÅSA Öst',
  'Zoë',
  '日本 太郎',
  '100% _real_ \\o/',
  '😀 Smile',
  'Bob Straße',
  'Οδυσσεύς Zoe\u0308',
  '',
  '',
];

let world: World;
let workspace: string;
let other: string;
const members: Member[] = [];
const tokens = new Map<string, string>();
let foreignToken: string;

/** A fixed sequence, so the workspace is the same in every run. Only the queries are random. */
const dice = (seed: number) => () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return seed / 0x7fffffff;
};

beforeAll(async () => {
  world = await startWorld({ environment: { STAFF_EMAIL_DOMAINS: `other.example, ${staffDomain}` } });
  const owner = await world.person('owner@acme.example', { full_name: 'Olga Owner' });
  workspace = await world.workspace(owner);
  const changes = { rate_multiplier: 1000, default_member_credit_limit: defaultLimit, monthly_limit: 5000 };
  await world.db.updateTable('workspaces').set(changes).where('id', '=', workspace).execute();
  const stranger = await world.person('stranger@acme.example');
  other = await world.workspace(stranger);
  for (let i = 0; i < 5; i += 1) await world.member(other, 'viewer', `v${i}@other.example`);
  foreignToken = await world.token(stranger, other);
  const roll = dice(7);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(roll() * items.length)] as Item;
  members.push(memberOf(owner, 'Olga Owner', 'owner'));
  for (let i = 0; i < 60; i += 1) await addMember(i, pick, roll);
  for (let i = 0; i < 20; i += 1) await addInvitation(i, pick, roll);
  await addApps(pick, roll);
  await addCredits(pick, roll);
  for (const role of roles) {
    const caller = callerOf(role);
    tokens.set(role, await world.token({ id: caller.user_id, email: caller.email }, workspace));
  }
  await refreshDirectories(world.db, world.clock.now());
});

const callerOf = (role: Role): Member =>
  members.find(
    (member) => member.role === role && member.status === 'joined' && member.access_state === 'active',
  ) as Member;

const memberOf = (person: Person, full_name: string, role: Role): Member => ({
  id: person.id,
  user_id: person.id,
  email: person.email,
  full_name,
  role,
  status: 'joined',
  access_state: 'active',
  credit_limit: null,
  owned: { apps: 0, agents: 0 },
  shared: { apps: 0, agents: 0 },
  spent: 0,
  last_active: null,
  last_seen: null,
});

type Pick = <Item>(items: readonly Item[]) => Item;

async function addMember(i: number, pick: Pick, roll: () => number): Promise<void> {
  const role = i < 4 ? (roles[i + 1] as Role) : pick(roles.slice(1));
  const email =
    i % 10 === 9
      ? longEmail(`long${i}`)
      : `${pick(['anna', 'bob', 'x_y', 'zoë', 'm%'])}.${i}@${pick(['acme.example', 'corp.test', staffDomain])}`;
  const full_name = i % 7 === 6 ? longName(pick(['Anna', 'anna', 'Zed'])) : pick(namePool);
  const person = await world.person(email, { full_name });
  const member = memberOf(person, full_name, role);
  await insertMembership(world.db, { workspace_id: workspace, user_id: person.id, role }, world.clock.now());
  if (i > 4 && roll() < 0.2) member.access_state = 'blocked';
  if (role !== 'guest' && role !== 'viewer' && roll() < 0.4) member.credit_limit = pick([0, 5, 5, 20.5]);
  const own = world.db
    .updateTable('memberships')
    .set({ access_state: member.access_state as 'active' | 'blocked', credit_limit: member.credit_limit });
  await own.where('workspace_id', '=', workspace).where('user_id', '=', person.id).execute();
  members.push(member);
}

async function addInvitation(i: number, pick: Pick, roll: () => number): Promise<void> {
  const hasAccount = i % 4 === 0;
  const email = i % 9 === 8 ? longEmail(`invited${i}`) : `invited.${i}@${pick(['acme.example', staffDomain])}`;
  // The account's name is not searched, sorted by or shown, so the list does not reveal that the address has an
  // account.
  if (hasAccount) await world.person(email, { full_name: pick(namePool.slice(0, 5)) });
  const invitation = await invite(email, pick(roles.slice(1)) as 'admin', roll() < 0.5);
  members.push({ ...memberOf({ id: invitation.id, email }, '', invitation.role), ...invitation, user_id: '' });
}

async function invite(email: string, role: 'admin' | 'editor' | 'viewer' | 'guest', expired: boolean) {
  const now = world.clock.now();
  const id = newId();
  await world.db
    .insertInto('invitations')
    .values({
      workspace_id: workspace,
      id,
      email,
      role,
      hash: Buffer.from(id),
      pepper_id: 'p',
      created_date: now,
      expires_at: new Date(now.getTime() + (expired ? -60_000 : 3_600_000)),
    })
    .execute();
  return { id, role, status: expired ? 'expired' : 'pending', access_state: 'invited' } as const;
}

async function addApps(pick: Pick, roll: () => number): Promise<void> {
  for (let i = 0; i < 70; i += 1) {
    const joined = members.filter((member) => member.status === 'joined');
    const owner = pick(joined.slice(0, 25));
    const app_type = pick(['user_app', 'user_agent', 'imported_app'] as const);
    const kind = app_type === 'user_agent' ? 'agents' : 'apps';
    const app = await world.appOf({ id: owner.user_id, email: owner.email }, workspace, { app_type });
    const isDeleted = roll() < 0.2;
    if (!isDeleted) owner.owned[kind] += 1;
    const friends = new Set([pick(joined), pick(joined.slice(10))]);
    for (const friend of friends) {
      await world.share(app, { id: friend.user_id, email: friend.email }, 'viewer');
      if (!isDeleted && friend !== owner) friend.shared[kind] += 1;
    }
    if (isDeleted)
      await world.db.updateTable('apps').set({ deleted_date: world.clock.now() }).where('id', '=', app.id).execute();
  }
}

async function addCredits(pick: Pick, roll: () => number): Promise<void> {
  const now = world.clock.now();
  const lastMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0, 12));
  const thisMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
  for (const member of members.filter(({ status }) => status === 'joined').slice(0, 45)) {
    for (let i = 0; i < 3; i += 1) {
      const isPast = roll() < 0.3;
      const kind = pick(['use', 'use', 'refund', 'reserve'] as const);
      const amount = pick([2000, 5000, 10_000, 12_345]);
      const created_date = isPast ? lastMonth : new Date(thisMonth.getTime() + pick([0, 1, 1]));
      await spend(member.user_id, kind, amount / 10_000, created_date);
      if (!isPast && kind !== 'reserve') member.spent += kind === 'use' ? amount : -amount;
      if (kind === 'use' && (member.last_active === null || member.last_active < created_date))
        member.last_active = created_date;
    }
    if (roll() < 0.5) member.last_seen = new Date(now.getTime() - Math.floor(roll() * 1e9));
    const { user_id, last_seen } = member;
    if (last_seen) await noteSeen(user_id, last_seen);
  }
}

const noteSeen = (user_id: string, seen_at: Date) =>
  world.db
    .insertInto('member_activity')
    .values({ workspace_id: workspace, user_id, noted_at: seen_at, seen_at })
    .execute();

const spend = (user_id: string, kind: 'use' | 'refund' | 'reserve', amount: number, created_date: Date) =>
  world.db
    .insertInto('credit_ledger')
    .values({ workspace_id: workspace, id: newId(), kind, amount, user_id, operation: 'test', created_date })
    .execute();

const ask = (token: string | undefined, body: object) =>
  world.call('POST', '/api/workspace/members/list', { as: token, body });

// ---- queries

const some = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 3 });
const snippets = [
  'ANNA',
  'anna',
  'bo',
  'Zo',
  'zoë',
  'ö',
  'å',
  '日本',
  '%',
  '_',
  '\\',
  '100%',
  '😀',
  'acme.example',
  'STRASSE',
  'ß',
  'σεύΣ',
  'e\u0308',
];
const words = ['adm', 'OWNER', 'guest', 'itor', 'pend', 'join', 'EXPIRED', 'e', 'view', 'invited', 'long9qqqq'];
const whole = fc.nat({ max: 80 }).map((i) => members[i]?.email ?? 'nobody@nowhere.example');
const part = fc
  .tuple(whole, fc.nat({ max: 12 }), fc.nat({ max: 9 }))
  .map(([email, at, n]) => email.slice(at, at + 1 + n));
const term = fc.oneof(fc.constantFrom(...snippets, ...words), whole, part, fc.constantFrom('xyzzy', 'qqqqqqqqq', ''));
const range = (min: number, max: number) =>
  fc.record({ gte: some(fc.integer({ min, max })), lte: some(fc.integer({ min, max })) });
const aTime = fc.integer({ min: -45, max: 40 }).map((days) => new Date(Date.now() + days * 86_400_000).toISOString());

const filters: fc.Arbitrary<Query> = fc
  .record({
    search: some(term),
    search_terms: some(
      fc.oneof(
        { weight: 9, arbitrary: fc.array(term, { maxLength: 6 }) },
        { weight: 1, arbitrary: fc.array(term, { minLength: 150, maxLength: 200 }) },
      ),
    ),
    sort: some(
      fc.record({
        sort_by: fc.constantFrom('member', 'credits', 'apps', 'agents', 'last_active', 'role'),
        sort_dir: fc.constantFrom('asc', 'desc'),
      }),
    ),
    roles: some(fc.array(fc.constantFrom(...roles), { maxLength: 4 })),
    invite_statuses: some(fc.array(fc.constantFrom('joined', 'pending', 'expired'), { maxLength: 3 })),
    credit_limit_set: some(fc.boolean()),
    apps_owned: some(range(-1, 8)),
    agents_owned: some(range(0, 5)),
    last_active: some(fc.record({ gte: some(aTime), lte: some(aTime) })),
  })
  .map(({ sort, ...rest }) => ({ ...rest, ...sort }) as Query)
  .map((query) => (Math.abs(JSON.stringify(query).length) % 3 === 0 ? pruned(query) : query));

/** If all filters are set, few members match, so a third of the queries keep only the search and the order. */
const pruned = ({ search, search_terms, sort_by, sort_dir }: Query): Query => ({
  search,
  search_terms,
  sort_by,
  sort_dir,
});

const sortings: Query[] = [
  {},
  ...(['member', 'credits', 'apps', 'agents', 'last_active', 'role'] as const).flatMap((sort_by) =>
    (['asc', 'desc'] as const).map((sort_dir) => ({ sort_by, sort_dir })),
  ),
];

async function expectWalk(query: Query, caller: Member, pageSize: number, pages: number): Promise<void> {
  const expected = modelList(members, query, caller);
  let cursor: string | null = null;
  for (let page = 0; page < pages; page += 1) {
    const got = await ask(tokens.get(caller.role), { ...query, page_size: pageSize, ...(cursor && { cursor }) });
    const rest = expected.slice(page * pageSize);
    expect(got.status, got.text).toBe(200);
    expect(got.headers['x-cursor']).toBeUndefined();
    expect(got.body).toMatchObject({
      total: expected.length,
      has_more: rest.length > pageSize,
      monthly_limit: 5000,
      default_member_credit_limit: defaultLimit,
    });
    expect(got.body.members.map((entry: { email: string }) => entry.email)).toEqual(
      rest.slice(0, pageSize).map((member) => member.email),
    );
    // The test's own requests change the callers' `last_seen`.
    const unseen = <Entry extends { email: string }>(entry: Entry) =>
      roles.some((role) => callerOf(role).email === entry.email) ? { ...entry, last_seen: null } : entry;
    const entries = rest.slice(0, pageSize).map((member) => unseen(modelEntry(member, caller)));
    expect(got.body.members.map(unseen)).toEqual(entries);
    cursor = got.body.next_cursor;
    expect(cursor === null).toBe(rest.length <= pageSize);
    if (cursor === null) return;
    expect(cursor.length).toBeLessThanOrEqual(256);
  }
}

const aCaller = fc.constantFrom(...roles);

describe('listMembers, compared with a model', () => {
  it('returns what the model returns for any filters, order, caller and page size', async () => {
    const question = fc.asyncProperty(filters, aCaller, fc.integer({ min: 1, max: 100 }), async (query, caller, size) =>
      expectWalk(query, callerOf(caller), size, 2),
    );
    await fc.assert(question, { numRuns: someOf(600), seed: 42 });
  });

  it('returns everybody exactly once in every order and direction, at any page size', async () => {
    const walk = fc.asyncProperty(
      fc.constantFrom(...sortings),
      some(fc.constantFrom('example', 'qqqq', 'a', 'anna')),
      aCaller,
      fc.integer({ min: 3, max: 40 }),
      async (sorting, search, caller, size) => expectWalk({ ...sorting, search }, callerOf(caller), size, 40),
    );
    await fc.assert(walk, { numRuns: someOf(100), seed: 43 });
  });

  it('pages one by one past names and e-mail addresses that are too long for a cursor', async () => {
    for (const sorting of sortings) await expectWalk({ ...sorting, search: 'qqq' }, callerOf('owner'), 1, 100);
  });

  it('starts at the first page for a cursor that was not issued for this query', async () => {
    const mine = await ask(tokens.get('owner'), { page_size: 7 });
    const foreign = await ask(foreignToken, { page_size: 2 });
    const cursor = mine.body.next_cursor as string;
    const flipped = fc.nat({ max: cursor.length - 1 }).map((at) => {
      const letter = cursor[at] === 'A' ? 'B' : 'A';
      return cursor.slice(0, at) + letter + cursor.slice(at + 1);
    });
    const codePoint = fc.nat({ max: 0x10ffff }).map((code) => String.fromCodePoint(code));
    const forged = fc.oneof(
      fc.string({ unit: codePoint, minLength: 1, maxLength: 256 }),
      fc.constantFrom('\0', `${cursor}\0`, '\ud800', `${cursor.slice(0, 20)}\udfff`),
      fc.base64String({ minLength: 4, maxLength: 256 }),
      flipped,
      fc.nat({ max: cursor.length - 1 }).map((length) => cursor.slice(0, length)),
      fc.constant(foreign.body.next_cursor as string),
    );
    const question = fc.asyncProperty(forged, aCaller, async (cursor, caller) => {
      const got = await ask(tokens.get(caller), { page_size: 7, cursor });
      expect(got).toMatchObject({ status: 200, headers: { 'x-cursor': 'reset' } });
      expect(emails(got)).toEqual(emails(mine));
    });
    await fc.assert(question, { numRuns: someOf(200), seed: 44 });
    const otherBody = await ask(tokens.get('owner'), { page_size: 7, roles: ['editor'], cursor });
    expect(otherBody.headers['x-cursor']).toBe('reset');
    const otherSize = await ask(tokens.get('owner'), { page_size: 3, cursor });
    expect(otherSize.headers['x-cursor']).toBeUndefined();
  });

  it('returns unchanged members exactly once, while others are changed between pages', async () => {
    const move = fc.record({
      who: fc.nat({ max: 14 }),
      to: fc.constantFrom('admin', 'editor', 'viewer', 'gone', 'back'),
    });
    const walk = fc.asyncProperty(
      fc.constantFrom(...sortings),
      fc.array(move, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 2, max: 15 }),
      async (sorting, moves, size) => expectUnchangedOnce(sorting, moves as Move[], size),
    );
    await fc.assert(walk, { numRuns: someOf(40), seed: 45 });
  });
});

const emails = (got: { body: { members: { email: string }[] } }) => got.body.members.map((entry) => entry.email);

interface Move {
  readonly who: number;
  readonly to: 'admin' | 'editor' | 'viewer' | 'gone' | 'back';
}

let crowd: { id: string; changing: Person[]; unchanged: Set<string>; token: string } | undefined;

/** A separate workspace in which fifteen people join, leave and change roles. */
async function getCrowd() {
  if (crowd !== undefined) return crowd;
  const owner = await world.person('crowd@acme.example');
  const id = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', id).execute();
  const people = [];
  for (let i = 0; i < 45; i += 1) people.push(await world.member(id, 'editor', `crowd.${(i * 17) % 45}@acme.example`));
  const token = await world.token(owner, id);
  const unchanged = new Set([owner.email, ...people.slice(15).map((person) => person.email)]);
  crowd = { id, changing: people.slice(0, 15), unchanged, token };
  return crowd;
}

async function expectUnchangedOnce(sorting: Query, moves: readonly Move[], size: number): Promise<void> {
  const { id, changing, unchanged, token } = await getCrowd();
  const waiting = [...moves];
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const got = await ask(token, { ...sorting, page_size: size, ...(cursor && { cursor }) });
    expect(got.status).toBe(200);
    expect(got.headers['x-cursor']).toBeUndefined();
    seen.push(...emails(got));
    cursor = got.body.next_cursor;
    for (const move of waiting.splice(0, 3)) await make(move, id, changing[move.who] as Person);
  } while (cursor !== null && seen.length < 200);
  expect(seen.filter((email) => unchanged.has(email)).sort()).toEqual([...unchanged].sort());
}

async function make({ to }: Move, workspace_id: string, { id: user_id }: Person): Promise<void> {
  if (to === 'gone') {
    const leaving = world.db.deleteFrom('memberships').where('workspace_id', '=', workspace_id);
    await leaving.where('user_id', '=', user_id).execute();
  } else {
    const role = to === 'back' ? 'guest' : to;
    await sql`insert into memberships (workspace_id, user_id, role, created_date, updated_date)
      values (${workspace_id}, ${user_id}, ${role}, now(), now())
      on conflict (workspace_id, user_id) do update set role = excluded.role`.execute(world.db);
  }
}
