// Tests a search with more hits than the index is used for.
import { CompiledQuery, sql } from 'kysely';
import { expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { MemberQuery } from './contract.ts';
import { monthNumberOf, monthParityOf } from './directory-refresh.ts';
import { buildPageStatement, maxIndexHits } from './page.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
await sql`with people as (
    insert into users (id, email, full_name, created_date, updated_date)
    select gen_random_uuid(), 'person' || n || case when n <= 3 then '@few' else '@many' end || '.example', 'Person', now(), now()
    from generate_series(1, ${maxIndexHits + 4}::integer) n returning id)
  insert into memberships (workspace_id, user_id, role, created_date, updated_date)
  select ${workspace}, id, 'viewer', now(), now() from people`.execute(world.db);
await sql`analyze member_directory, member_words`.execute(world.db);

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Plan[];
}

/** How many rows of the directory the search by the index reads. */
async function countDirectoryRows(search: string): Promise<number> {
  const now = new Date();
  const month = monthNumberOf(now);
  const { text, values } = buildPageStatement(
    {
      workspace_id: workspace,
      filters: MemberQuery.parse({ search }),
      order: { key: undefined, isDescending: false },
      after: undefined,
      creditParity: monthParityOf(month),
      month,
      staffEmailDomains: [],
      canVerifyAddresses: false,
      now,
    },
    'index',
  );
  const explained = CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...values]);
  const { rows } = await world.db.executeQuery<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explained);
  const countRows = (plan: Plan): number =>
    (plan['Relation Name'] === 'member_directory' ? plan['Actual Rows'] * plan['Actual Loops'] : 0) +
    (plan.Plans ?? []).reduce((sum, inner) => sum + countRows(inner), 0);
  return rows[0] ? countRows(rows[0]['QUERY PLAN'][0].Plan) : Number.NaN;
}

const search = (text: string) =>
  world.call('POST', '/api/workspace/members/list', { as: token, body: { search: text, page_size: 2 } });

it('reads the members in order, and none of the hits first', async () => {
  const got = await search('@many');
  expect(got).toMatchObject({ status: 200, body: { total: maxIndexHits + 1, has_more: true } });
  expect(got.body.members.map(({ email }: { email: string }) => email)).toEqual([
    'person10000@many.example',
    'person10001@many.example',
  ]);
  expect(await countDirectoryRows('@many')).toBe(0);
});

it('reads the hits if they are few', async () => {
  const got = await search('@few');
  expect(got).toMatchObject({ status: 200, body: { total: 3, has_more: true } });
  expect(await countDirectoryRows('@few')).toBe(6); // once for their sort columns, and once for the page
});
