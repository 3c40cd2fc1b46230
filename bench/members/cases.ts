// The requests to the members list, each with the statement it is compared with: the best hand-written SQL for the
// same page and total.
import type pg from 'pg';
import type { Crowd } from './seed.ts';

export interface Case {
  readonly name: string;
  readonly kind: 'page' | 'few' | 'percent' | 'all';
  readonly body: Record<string, unknown>;
  /** For a deep page, the sort key and the row after which the page begins. */
  readonly after?: {
    readonly key: string | number | null;
    readonly place: number;
    readonly email: string;
    readonly id: string;
  };
  readonly orderKey: string | undefined;
  readonly bare: { readonly text: string; readonly values: readonly unknown[] };
  readonly total: number;
}

const columns = `d.id, d.joined, d.role, d.access_state, d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at,
  d.apps_owned, d.apps_shared, d.agents_owned, d.agents_shared, d.even_credits, d.odd_credits, d.last_active, d.last_seen`;
const ties = 'place, email, id';
const settings = 'w.monthly_limit, w.default_member_credit_limit';

const page = (conditions: string, by: string) =>
  `select ${columns} from member_directory d where d.workspace_id = $1${conditions} order by ${by} limit 51`;
const withTotal = (rows: string, total: string) =>
  `select ${settings}, (${total}) as total, p.* from workspaces w left join lateral (${rows}) p on true where w.id = $1`;
const tallied = 'select sum(members) from member_tallies where workspace_id = $1';

const credits = (): string => {
  const now = new Date();
  return (now.getUTCFullYear() * 12 + now.getUTCMonth()) % 2 === 0 ? 'even_credits' : 'odd_credits';
};
const keys: Record<string, string> = {
  member: 'name_key',
  credits: credits(),
  apps: 'apps',
  agents: 'agents',
  last_active: 'last_active',
  role: 'role_rank',
};

export async function casesFor(client: pg.Client, crowd: Crowd): Promise<Case[]> {
  const id = crowd.workspace_id;
  const sorts = Object.keys(keys).flatMap((sort_by) => ['asc', 'desc'].map((sort_dir) => ({ sort_by, sort_dir })));
  const first = (name: string, body: Record<string, unknown>, by: string, orderKey?: string): Case => ({
    name,
    kind: 'page',
    body,
    orderKey,
    bare: { text: withTotal(page('', by), tallied), values: [id] },
    total: crowd.size,
  });
  const pages = [
    first('first page', {}, ties),
    ...sorts.map(({ sort_by, sort_dir }) =>
      first(`first page by ${sort_by} ${sort_dir}`, { sort_by, sort_dir }, orderBy(sort_by, sort_dir), keys[sort_by]),
    ),
  ];
  const deep = [];
  for (const sort of [undefined, ...sorts]) deep.push(await deepPage(client, crowd, sort));
  return [...pages, ...deep, ...(await searches(client, crowd))];
}

const orderBy = (sort_by: string, sort_dir: string) =>
  `${keys[sort_by]} ${sort_dir}${sort_by === 'last_active' && sort_dir === 'desc' ? ' nulls last' : ''}, ${ties}`;

/** Builds the case for a page that begins in the middle of the list. */
async function deepPage(
  client: pg.Client,
  crowd: Crowd,
  sort: { sort_by: string; sort_dir: string } | undefined,
): Promise<Case> {
  const key = sort && keys[sort.sort_by];
  const by = sort ? orderBy(sort.sort_by, sort.sort_dir) : ties;
  const { rows } = await client.query(
    `select json_build_object('key', ${key ?? '0'}, 'place', place, 'email', email, 'id', id) as at from member_directory
     where workspace_id = $1 order by ${by} offset $2 limit 1`,
    [crowd.workspace_id, Math.floor(crowd.size / 2)],
  );
  const after = rows[0].at;
  const tie = '(d.place, d.email, d.id) > ($2, $3, $4)';
  const values = [crowd.workspace_id, after.place, after.email, after.id];
  const beyond = sort?.sort_dir === 'desc' ? '<' : '>';
  const parts = (...texts: string[]) =>
    `select * from (${texts.map((text) => `(${text})`).join(' union all ')}) parts limit 51`;
  const rowsOf =
    key === undefined
      ? page(` and ${tie}`, ties)
      : after.key === null
        ? page(` and d.${key} is null and ${tie}`, ties)
        : parts(page(` and d.${key} = $5 and ${tie}`, ties), page(` and d.${key} ${beyond} $5`, by));
  return {
    name: `deep page${sort ? ` by ${sort.sort_by} ${sort.sort_dir}` : ''}`,
    kind: 'page',
    body: { ...sort },
    after,
    orderKey: key,
    bare: {
      text: withTotal(rowsOf, tallied),
      values: key === undefined || after.key === null ? values : [...values, after.key],
    },
    total: crowd.size,
  };
}

const few = `with found as materialized (
    select d.id, d.place, d.email from (
        select distinct id
        from find_words($1, $2::text[], array(select '%' || t || '%' from unnest($2::text[]) t), 15000)) hit
      cross join lateral (select * from member_directory d where d.workspace_id = $1 and d.id = hit.id offset 0) d)
  select ${settings}, (select count(*) from found) as total, p.* from workspaces w left join lateral (
    select ${columns} from (select * from found order by ${ties} limit 51) f
    join member_directory d on d.workspace_id = $1 and d.id = f.id order by d.place, d.email, d.id) p on true where w.id = $1`;
const like = "like any (array(select fold_case('%' || t || '%') from unnest($2::text[]) t))";
const matching = `exists (select 1 from member_words w where w.workspace_id = $1 and w.id = d.id
  and (w.email ${like} or w.name ${like}))`;
const many = withTotal(
  page(` and ${matching}`, ties),
  `select count(*) from member_directory d where d.workspace_id = $1 and ${matching}`,
);

async function searches(client: pg.Client, crowd: Crowd): Promise<Case[]> {
  const { rows } = await client.query<{ email: string }>(
    'select email from member_directory where workspace_id = $1 order by md5(id::text) limit 90',
    [crowd.workspace_id],
  );
  const known = rows.map(({ email }) => email);
  const numbers = (count: number, step: number, size: number, digits: number) =>
    Array.from({ length: count }, (_, i) => String((i * step + 7) % size).padStart(digits, '0'));
  const suffix = '@m.example.com';
  const pieces = Array.from({ length: suffix.length }, (_, at) =>
    Array.from({ length: suffix.length - at - 2 }, (_, n) => suffix.slice(at, at + 3 + n)),
  ).flat();
  const classes: [string, Case['kind'], string[]][] = [
    ['few matches, 3 terms', 'few', known.slice(0, 3)],
    [
      'few matches, 200 terms',
      'few',
      [...known, ...numbers(110, 131, 9_999, 4).map((n) => `nobody.here${n}@m.example.com`)],
    ],
    ['about 1 %, 3 terms', 'percent', numbers(3, 97, 300, 3).map((n) => `.t${n}.`)],
    ['about 1 %, 200 terms', 'percent', numbers(200, 97, 20_000, 5).map((n) => `.u${n}.`)],
    ['nearly all, 3 terms', 'all', ['example', 'm.examp', '.com']],
    ['nearly all, 200 terms', 'all', Array.from({ length: 200 }, (_, i) => pieces[i % pieces.length] as string)],
  ];
  const cases: Case[] = [];
  for (const [name, kind, terms] of classes) {
    cases.push({
      name,
      kind,
      body: { search_terms: terms },
      orderKey: undefined,
      bare: { text: kind === 'all' ? many : few, values: [crowd.workspace_id, terms] },
      total: await plainCount(client, crowd, kind, terms),
    });
  }
  return cases;
}

/** Counts by comparing strings, which is slow but certainly correct. */
async function plainCount(client: pg.Client, crowd: Crowd, kind: Case['kind'], terms: string[]): Promise<number> {
  if (kind === 'all') return crowd.size; // all addresses have the same ending
  const { rows } = await client.query(
    `select count(*) as n from memberships m join users u on u.id = m.user_id where m.workspace_id = $1
     and (case when $3 then substring(u.email from '\\.[tu]\\d+\\.') = any ($2) or substring(u.email from '\\.u\\d+\\.') = any ($2)
       else u.email = any ($2) end)`,
    [crowd.workspace_id, terms, kind === 'percent'],
  );
  return Number(rows[0].n);
}
