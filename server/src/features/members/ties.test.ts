// Tests the order of the members list when most members have equal sort values, in every order and direction, with
// pages that begin between equal members. No staff domain is configured, so pages with the default size use prepared
// statements.
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../../test/support/world.ts';
import { insertMembership } from '../../core/identity/users.ts';
import { newId } from '../../kit/ids.ts';
import { monthNumberOf, monthParityOf, refreshDirectories } from './directory-refresh.ts';

const roles = ['owner', 'admin', 'editor', 'viewer', 'guest'] as const;

interface Member {
  readonly id: string;
  readonly email: string;
  readonly place: number;
  readonly member: string;
  readonly role: number;
  credits: number;
  apps: number;
  agents: number;
  last_active: number | null;
}

type SortKey = 'member' | 'credits' | 'apps' | 'agents' | 'last_active' | 'role';
interface Sorting {
  readonly sort_by?: SortKey;
  readonly sort_dir?: 'asc' | 'desc';
}

const sortings: Sorting[] = [
  {},
  ...(['member', 'credits', 'apps', 'agents', 'last_active', 'role'] as const).flatMap((sort_by) =>
    (['asc', 'desc'] as const).map((sort_dir) => ({ sort_by, sort_dir })),
  ),
];

let world: World;
let workspace: string;
let token: string;
const members: Member[] = [];

beforeAll(async () => {
  world = await startWorld();
  const owner = await world.person('ties.owner@acme.example', { full_name: 'Same Name' });
  workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  token = await world.token(owner, workspace);
  addToModel(owner.id, owner.email, 0, 'same name', 0);
  // 37 and 119 have no common factor, so members are not stored in list order.
  for (let i = 1; i < 120; i += 1) await (i % 6 === 0 ? addInvitation : addMember)((i * 37) % 119);
  await storeKeys();
  await refreshDirectories(world.db, world.clock.now());
});

function addToModel(id: string, email: string, place: number, member: string, role: number): void {
  members.push({ id, email, place, member, role, credits: 0, apps: 0, agents: 0, last_active: null });
}

const emailOf = (n: number) => `ties.${String(n).padStart(3, '0')}@acme.example`;

async function addMember(n: number): Promise<void> {
  const rank = 1 + (n % 3);
  const full_name = n % 5 === 0 ? 'Another Name' : 'Same Name';
  const person = await world.person(emailOf(n), { full_name });
  const role = roles[rank] as 'admin';
  await insertMembership(world.db, { workspace_id: workspace, user_id: person.id, role }, world.clock.now());
  addToModel(person.id, person.email, rank, full_name.toLowerCase(), rank);
}

async function addInvitation(n: number): Promise<void> {
  const [id, now, rank] = [newId(), world.clock.now(), 1 + (n % 4)];
  const times = { created_date: now, expires_at: new Date(now.getTime() + 3_600_000) };
  const role = roles[rank] as 'admin';
  await world.db
    .insertInto('invitations')
    .values({ workspace_id: workspace, id, email: emailOf(n), role, hash: Buffer.from(id), pepper_id: 'p', ...times })
    .execute();
  addToModel(id, emailOf(n), 5 + rank, emailOf(n), rank);
}

/** Stores two or three different values for each key. */
async function storeKeys(): Promise<void> {
  const month = monthNumberOf(world.clock.now());
  const parity = monthParityOf(month);
  const day = Math.floor(world.clock.now().getTime() / 86_400_000) * 86_400_000;
  for (const [i, member] of members.entries()) {
    member.credits = [0, 0, 2.5][i % 3] as number;
    member.apps = [1, 1, 1, 4][i % 4] as number;
    member.agents = i % 2;
    member.last_active = [null, day, day - 3_600_000][(i * 5) % 3] as number | null;
    await sql`update member_directory set apps_owned = ${member.apps}, agents_shared = ${member.agents},
        last_active = ${member.last_active && new Date(member.last_active)},
        ${sql.ref(`${parity}_credits`)} = ${member.credits}, ${sql.ref(`${parity}_month`)} = ${month}
      where workspace_id = ${workspace} and id = ${member.id}`.execute(world.db);
  }
}

// ---- the order described in docs/api/members.md#list-members

const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);

function compareByKey(a: Member, b: Member, { sort_by, sort_dir }: Sorting): number {
  if (sort_by === undefined) return 0;
  const [one, other] = [a[sort_by], b[sort_by]];
  if (one === null || other === null) return Number(one === null) - Number(other === null); // last in both directions
  return (sort_dir === 'desc' ? -1 : 1) * compare(one, other);
}

const sortedBy = (sorting: Sorting) =>
  members.toSorted((a, b) => compareByKey(a, b, sorting) || a.place - b.place || compare(a.email, b.email));

const emailsOf = (list: readonly { email: string }[]) => list.map(({ email }) => email);

/** Reads page by page, and returns how many pages began between members with equal keys. */
async function walk(sorting: Sorting, more: object, pageSize: number): Promise<number> {
  const expected = sortedBy(sorting);
  let cursor: string | null = null;
  let betweenEqual = 0;
  for (let start = 0; start < expected.length; start += pageSize) {
    const body = { ...sorting, ...more, ...(cursor && { cursor }) };
    const got = await world.call('POST', '/api/workspace/members/list', { as: token, body });
    expect(got.status, got.text).toBe(200);
    expect(got.headers['x-cursor']).toBeUndefined();
    expect(got.body.total).toBe(expected.length);
    expect(emailsOf(got.body.members)).toEqual(emailsOf(expected.slice(start, start + pageSize)));
    cursor = got.body.next_cursor;
    const [before, after] = [expected[start - 1], expected[start]];
    if (before && after && compareByKey(before, after, sorting) === 0) betweenEqual += 1;
  }
  expect(cursor).toBeNull();
  return betweenEqual;
}

describe.each(sortings)('members sorted by $sort_by $sort_dir', (sorting) => {
  it.each([3, 7, 20])('are in order where many are equal, in pages of %i', async (page_size) => {
    expect(await walk(sorting, { page_size }, page_size)).toBeGreaterThan(0);
  });

  it('are in order in prepared pages, however PostgreSQL plans them', async () => {
    // PostgreSQL may switch to a generic plan on the sixth execution.
    for (let i = 0; i < 8; i += 1) expect(await walk(sorting, {}, 50)).toBeGreaterThan(0);
  });

  it.each([
    ['the search index', 'ties.'],
    ['a scan', 'ti'],
  ])('are in order if %s finds them', async (_, search) => {
    expect(await walk(sorting, { search, page_size: 7 }, 7)).toBeGreaterThan(0);
    for (let i = 0; i < 8; i += 1) expect(await walk(sorting, { search }, 50)).toBeGreaterThan(0);
  });
});
