// Owns the SQL of one page of the members list with its exact total. It only builds text and parameters; store.ts sends
// them. docs/decisions/0010-member-directory.md explains the tables.
//
// The list reads `member_directory`: one row per member or open invitation. `place` is the rank in the default order
// (0-4: members from owner to guest, 5-9: invitations from owner to guest); every order ends in (place, email, id).
//
// Example: sort_by "apps", descending, page_size 2. The rows in this order, and the two pages:
//
//   apps  place  email       page 1: no position, one range of the index on (apps desc, place, email, id)
//   7     2      ann@x.com     -> ann, bob   (limit 3, so that the third row shows that there is more)
//   4     2      bob@x.com     cursor = (key 4, place 2, bob@x.com, id)
//   4     2      cy@x.com    page 2: two ranges, joined by `union all`, each of which an index can serve
//   4     3      dee@x.com     part 0: apps = 4 and (place, email, id) > (2, bob@x.com, …)   -> cy, dee
//   1     2      eve@x.com     part 1: apps < 4                                              -> eve
//
// With `last_active` there is a part 2: members who were never active come last in both directions.
import { type MemberQuery, roles, statuses } from './contract.ts';

/** The column to sort by before the tie-breakers. Without one, the default order applies. */
export interface SortOrder {
  readonly key: string | undefined;
  readonly isDescending: boolean;
}

/** The last row of the previous page. */
export interface PagePosition {
  readonly key: string | number | null;
  readonly place: number;
  readonly email: string;
  readonly id: string;
}

export interface PageQuery {
  readonly workspace_id: string;
  readonly filters: MemberQuery;
  readonly order: SortOrder;
  readonly after: PagePosition | undefined;
  /** Which pair of columns holds this month's credits: see directory-refresh.ts. */
  readonly creditParity: 'even' | 'odd';
  readonly month: number;
  readonly staffEmailDomains: readonly string[];
  readonly now: Date;
}

export interface PageStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** One of a few texts that are sent often, so preparing it pays. */
  readonly isFrequent: boolean;
}

/**
 * `index` looks up the first group of search terms in the search index, then counts, sorts and cuts its hits. `scan`
 * reads members in order until the page is full and compares each with the terms; the total is a separate count.
 */
export type SearchStrategy = 'index' | 'scan';

/** With more hits than this, reading members in order is cheaper than fetching the hits one by one. */
export const maxIndexHits = 15_000;

const defaultPageSize = 50;

/** Adds a parameter to the statement and returns its placeholder, such as `$3`. */
type AddParameter = (value: unknown) => string;

export function buildPageStatement(query: PageQuery, strategy: SearchStrategy): PageStatement {
  const values: unknown[] = [];
  const add: AddParameter = (value) => `$${values.push(value)}`;
  const workspace = add(query.workspace_id);
  const groups = searchTermGroups(query.filters);
  const filterConditions = buildFilterConditions(query, add);
  const [indexed, ...others] = strategy === 'index' ? groups : [];
  const compared = strategy === 'index' ? others : groups;
  const matchConditions = compared.map((terms) => buildMatchCondition(terms, workspace, query.now, add));
  const more = [...filterConditions, ...matchConditions];
  const conditions = [`d.workspace_id = ${workspace}`, ...more].join(' and ');
  const source =
    indexed === undefined
      ? { ctes: '', from: 'member_directory d', where: conditions, hits: '0' }
      : { ...buildIndexSearch(indexed, workspace, query, more, add), from: 'found d', where: 'true' };
  const total =
    indexed !== undefined
      ? '(select count(*) from found)'
      : matchConditions.length === 0 && canCountByTally(query.filters)
        ? buildTallyCount(query, workspace, add)
        : `(select count(*) from member_directory d where ${conditions})`;
  const text = `with ${source.ctes} page as (${buildPageQuery(source.from, source.where, query, add)})
    select case when member.nth is null or member.nth = 1 then json_build_object(
        'hits', ${source.hits}::integer, 'total', ${total}::integer, 'is_stale', ${buildStaleOrderCheck(query, workspace)},
        'oldest_activity_at', (select min(noted_at) from member_activity where workspace_id = ${workspace}),
        'monthly_limit', w.monthly_limit, 'default_member_credit_limit', w.default_member_credit_limit) end as summary,
      member.*
    from workspaces w left join lateral (
      select ${selectedColumns(query, add)} from page join member_directory d on d.workspace_id = ${workspace} and d.id = page.id
    ) member on true where w.id = ${workspace} order by member.nth`;
  const isFrequent =
    query.filters.page_size === defaultPageSize && filterConditions.length === 0 && others.length === 0;
  return { text, values, isFrequent };
}

// ---- orders and positions

const tieBreakers = 'place, email, id';

type BuildPart = (nth: number, condition: string, orderBy: string) => string;

function buildPageQuery(from: string, where: string, { order, after, filters }: PageQuery, add: AddParameter): string {
  // A literal, not a parameter: the planner must know that the limit is small.
  const limit = filters.page_size + 1;
  const key = order.key ?? '0';
  const direction = order.isDescending ? `desc${key === 'last_active' ? ' nulls last' : ''}` : 'asc';
  const orderBy = order.key === undefined ? tieBreakers : `${key} ${direction}, ${tieBreakers}`;
  const part: BuildPart = (nth, condition, orderBy) =>
    `(select ${nth} as part, d.id, d.place, d.email, ${order.key === undefined ? '0' : `d.${key}`} as key
      from ${from} where ${where}${condition} order by ${orderBy} limit ${limit})`;
  const parts = after === undefined ? [part(0, '', orderBy)] : buildPartsAfter(order, after, orderBy, part, add);
  return `select id, place, email, key, row_number() over (order by part, key ${direction}, ${tieBreakers}) as nth
    from (${parts.join(' union all ')}) parts order by nth limit ${limit}`;
}

/**
 * The rows after a position, as parts that are each one range of one index: the remaining rows with the same key, the
 * rows with the next keys, and the rows without a key (never active). The example at the top shows two of them.
 */
function buildPartsAfter(
  { key, isDescending }: SortOrder,
  after: PagePosition,
  orderBy: string,
  part: BuildPart,
  add: AddParameter,
): string[] {
  const tie = `(d.place, d.email, d.id) > (${add(after.place)}, ${add(after.email)}, ${add(after.id)}::uuid)`;
  if (key === undefined) return [part(0, ` and ${tie}`, tieBreakers)];
  if (after.key === null) return [part(0, ` and d.${key} is null and ${tie}`, tieBreakers)];
  const lastKey = add(after.key);
  return [
    part(0, ` and d.${key} = ${lastKey} and ${tie}`, tieBreakers),
    part(1, ` and d.${key} ${isDescending ? '<' : '>'} ${lastKey}`, orderBy),
    ...(key === 'last_active' ? [part(2, ' and d.last_active is null', tieBreakers)] : []),
  ];
}

// What belongs to the page and not to a member is in the first row only, so that it is not parsed once per member.
// Plain columns: building JSON for a page takes PostgreSQL as long as finding the page.
const selectedColumns = ({ creditParity, month }: PageQuery, add: AddParameter): string => `d.id,
  case when d.joined then d.id end as user_id, d.joined, d.role, d.access_state, d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at, d.apps_owned, d.apps_shared,
  d.agents_owned, d.agents_shared,
  case when d.${creditParity}_month = ${add(month)} then d.${creditParity}_credits else 0 end as credits_used,
  d.last_active, d.last_seen, d.place, page.key, page.nth`;

/** Whether the order by credits still contains earlier months. True only if no worker has run for weeks. */
const buildStaleOrderCheck = ({ order, creditParity, month }: PageQuery, workspace: string): string =>
  order.key === `${creditParity}_credits`
    ? `exists (select 1 from member_directory s where s.workspace_id = ${workspace}
        and s.${creditParity}_credits <> 0 and s.${creditParity}_month < ${Math.trunc(month)})`
    : 'false';

// ---- filters

function buildFilterConditions({ filters, staffEmailDomains, now }: PageQuery, add: AddParameter): string[] {
  const conditions: string[] = [];
  const addRange = (column: string, type: string, bounds: { gte?: unknown; lte?: unknown } | undefined) => {
    if (bounds?.gte !== undefined) conditions.push(`d.${column} >= ${add(bounds.gte)}::${type}`);
    if (bounds?.lte !== undefined) conditions.push(`d.${column} <= ${add(bounds.lte)}::${type}`);
  };
  if (filters.roles?.length || filters.invite_statuses?.length)
    conditions.push(`d.place = any (${add(listPlaces(filters))}::smallint[])`);
  const status = onlyPendingOrExpired(filters);
  if (status !== undefined) conditions.push(`(d.joined or ${buildStatusCondition(status, add(now))})`);
  if (filters.credit_limit_set !== undefined)
    conditions.push(`d.credit_limit is ${filters.credit_limit_set ? 'not ' : ''}null`);
  addRange('apps', 'bigint', filters.apps_owned);
  addRange('agents', 'bigint', filters.agents_owned);
  addRange('last_active', 'timestamptz', filters.last_active);
  if (staffEmailDomains.length > 0)
    conditions.push(`(d.guest_domain is null or d.guest_domain <> all (${add(staffEmailDomains)}::text[]))`);
  return conditions;
}

/** `place` is the same for pending and expired invitations. Undefined if the query asks for both or for neither. */
function onlyPendingOrExpired({ invite_statuses = [] }: MemberQuery): 'pending' | 'expired' | undefined {
  const [pending, expired] = [invite_statuses.includes('pending'), invite_statuses.includes('expired')];
  return pending === expired ? undefined : pending ? 'pending' : 'expired';
}

const buildStatusCondition = (status: 'pending' | 'expired', now: string): string =>
  `d.expires_at ${status === 'pending' ? '>' : '<='} ${now}::timestamptz`;

/** The places that the filters `roles` and `invite_statuses` leave. Example: editor and joined is `[2]`. */
function listPlaces({ roles: filterRoles = [], invite_statuses = [] }: MemberQuery): number[] {
  const ranks = roles.flatMap((role, rank) => (filterRoles.length === 0 || filterRoles.includes(role) ? [rank] : []));
  const joined = invite_statuses.length === 0 || invite_statuses.includes('joined') ? ranks : [];
  const invited = invite_statuses.length === 0 || invite_statuses.some((status) => status !== 'joined') ? ranks : [];
  return [...joined, ...invited.map((rank) => rank + roles.length)];
}

/** Whether the total follows from the counts per place in `member_tallies`. */
const canCountByTally = (filters: MemberQuery): boolean =>
  onlyPendingOrExpired(filters) === undefined &&
  filters.credit_limit_set === undefined &&
  [filters.apps_owned, filters.agents_owned, filters.last_active].every(
    (range) => range?.gte === undefined && range?.lte === undefined,
  );

function buildTallyCount({ filters, staffEmailDomains }: PageQuery, workspace: string, add: AddParameter): string {
  const places = listPlaces(filters);
  const sum = `(select coalesce(sum(members), 0) from member_tallies
    where workspace_id = ${workspace} and place = any (${add(places)}::smallint[]))`;
  if (staffEmailDomains.length === 0 || !places.includes(roles.indexOf('guest'))) return sum;
  return `(${sum} - (select count(*) from member_directory
    where workspace_id = ${workspace} and guest_domain = any (${add(staffEmailDomains)}::text[])))`;
}

// ---- search

/** `search` and `search_terms` are one group each. A member must match at least one term of every group. */
export const searchTermGroups = ({ search = '', search_terms = [] }: MemberQuery): string[][] =>
  [[search], search_terms].map((terms) => terms.filter(Boolean)).filter((terms) => terms.length > 0);

/** The search index knows pieces of 3 and 6 characters, so every term of the first group needs at least 3. */
export const canSearchByIndex = (filters: MemberQuery): boolean =>
  (searchTermGroups(filters)[0] ?? []).every((term) => [...foldCase(term)].length >= 3);

/** As the database function of the same name: it may shorten a decomposed text and lengthens ß. */
const foldCase = (text: string): string => text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');

const likePatternFor = (term: string): string => `%${term.replace(/[\\%_]/g, '\\$&')}%`;

/** CTEs `hits` (what one group of terms finds, possibly twice) and `found` (those that meet the other conditions). */
function buildIndexSearch(
  terms: string[],
  workspace: string,
  { order, now }: PageQuery,
  more: readonly string[],
  add: AddParameter,
) {
  const wordCondition = buildWordCondition(terms, now, add);
  const hitsByWord = `union all select d.id, d.place, d.email from member_directory d
    where d.workspace_id = ${workspace} and ${wordCondition}`;
  const ctes = `hits as materialized (
      select id, place, email from (
        select id, place, email
        from find_words(${workspace}, ${add(terms)}::text[], ${add(terms.map(likePatternFor))}::text[], ${maxIndexHits})
        ${wordCondition && hitsByWord}) every limit ${maxIndexHits + 1}),
    found as materialized (${
      order.key === undefined && more.length === 0
        ? 'select distinct id, place, email collate "C" as email from hits'
        : `select d.id, d.place, d.email${order.key === undefined ? '' : `, d.${order.key}`} from member_directory d
          where ${[`d.workspace_id = ${workspace}`, ...more].join(' and ')} and d.id in (select id from hits)`
    }),`;
  return { ctes, hits: '(select count(*) from hits)' };
}

/** The condition that a directory row matches at least one of the terms. */
function buildMatchCondition(terms: string[], workspace: string, now: Date, add: AddParameter): string {
  const wordCondition = buildWordCondition(terms, now, add);
  const patterns = `any (array(select fold_case(p) from unnest(${add(terms.map(likePatternFor))}::text[]) p))`;
  return `(${wordCondition && `${wordCondition} or `}exists (select 1 from member_words w where w.workspace_id = ${workspace} and w.id = d.id
    and (w.email like ${patterns} or w.name like ${patterns})))`;
}

/** Terms also match roles and statuses: "adm" finds admins. An empty string if no role or status contains a term. */
function buildWordCondition(terms: string[], now: Date, add: AddParameter): string {
  const containsTerm = (word: string) => terms.some((term) => foldCase(word).includes(foldCase(term)));
  const ranks = roles.flatMap((role, rank) => (containsTerm(role) ? [rank] : []));
  const found = statuses.filter(containsTerm);
  const conditions = [
    ...(ranks.length > 0 ? [`d.role_rank = any (${add(ranks)}::smallint[])`] : []),
    ...(found.includes('joined') ? [`d.place < ${roles.length}`] : []),
    ...found.flatMap((status) =>
      status === 'joined' ? [] : [`(not d.joined and ${buildStatusCondition(status, add(now))})`],
    ),
  ];
  return conditions.length === 0 ? '' : `(${conditions.join(' or ')})`;
}
