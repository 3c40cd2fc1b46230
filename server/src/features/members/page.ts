// The SQL for one page of the members list with its exact total. It only builds text and parameters, which
// store.ts sends. docs/decisions/0010-member-directory.md explains the tables.
//
// The list reads `member_directory`, which has one row per member or open invitation. `place` is the rank in the
// default order: 0-4 for members and 5-9 for invitations, each from owner to guest. Every order ends with (place,
// email, id).
//
// Example: sort_by "apps", descending, page_size 2. These are the rows in that order, and the two pages:
//
//   apps  place  email       page 1: no position, one range of the index on (apps desc, place, email, id)
//   7     2      ann@x.com     -> ann, bob   (limit 3, so the third row shows that there is more)
//   4     2      bob@x.com     cursor = (key 4, place 2, bob@x.com, id)
//   4     2      cy@x.com    page 2: two ranges, joined by `union all`, each of which an index can serve
//   4     3      dee@x.com     part 0: apps = 4 and (place, email, id) > (2, bob@x.com, …)   -> cy, dee
//   1     2      eve@x.com     part 1: apps < 4                                              -> eve
//
// Sorting by `last_active` adds part 2, because members who have never been active come last in both directions.
import { type MemberQuery, roles, statuses } from './contract.ts';

/** The column to sort by before the tie-breakers. If undefined, the default order applies. */
export interface SortOrder {
  readonly key: string | undefined;
  readonly isDescending: boolean;
}

/** The last row's position on the previous page. */
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
  /** Which pair of columns contains this month's credits (see directory-refresh.ts). */
  readonly creditParity: 'even' | 'odd';
  readonly month: number;
  readonly staffEmailDomains: readonly string[];
  /** False if no mail can be sent, so no address can be verified. */
  readonly canVerifyAddresses: boolean;
  readonly now: Date;
}

export interface PageStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whether the text is one of the few that are sent often, so preparing it is worthwhile. */
  readonly isFrequent: boolean;
}

/**
 * `index` looks up the first group of search terms in the search index, then counts, sorts and limits the hits. `scan`
 * reads members in order until the page is full, comparing each with the terms, and counts the total separately.
 */
export type SearchStrategy = 'index' | 'scan';

/** If there are more hits than this, reading members in order is cheaper than fetching the hits one by one. */
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
  const columns = selectColumns(query, add);
  // A search first finds ids and sort columns, and then looks up the page's members. Without a search, the page is read
  // directly, in order.
  const page = buildPageQuery(source.from, source.where, indexed ? 'd.id, d.place, d.email' : columns, query, add);
  const member = indexed
    ? `lateral (select ${columns}, page.key, page.nth from page
        join member_directory d on d.workspace_id = ${workspace} and d.id = page.id order by page.nth) member`
    : 'page member';
  const text = `with ${source.ctes} page as (${page})
    select case when member.nth is null or member.nth = 1 then json_build_object(
        'hits', ${source.hits}::integer, 'total', ${total}::integer, 'is_stale', ${buildStaleOrderCheck(query, workspace)},
        'oldest_activity_at', (select min(noted_at) from member_activity where workspace_id = ${workspace}),
        'monthly_limit', w.monthly_limit, 'default_member_credit_limit', w.default_member_credit_limit) end as summary,
      member.*
    from workspaces w left join ${member} on true where w.id = ${workspace}`;
  const isFrequent =
    query.filters.page_size === defaultPageSize && filterConditions.length === 0 && others.length === 0;
  return { text, values, isFrequent };
}

// ---- orders and positions

const tieBreakers = 'place, email, id';

type BuildPart = (condition: string, orderBy: string) => string;

/**
 * A single part is in order because it is sorted. Several parts are in order because PostgreSQL reads them one after
 * another until the page is full. Numbering the rows and joining them with the single workspace row preserves the
 * order. Sorting the page again would cost as much as reading it.
 */
function buildPageQuery(
  from: string,
  where: string,
  columns: string,
  { order, after, filters }: PageQuery,
  add: AddParameter,
): string {
  // The limit is a literal rather than a parameter, because the planner must know that it is small.
  const limit = filters.page_size + 1;
  // The time is selected anyway, and parsing it twice would take as long as parsing all other columns.
  const key = order.key === undefined || order.key === 'last_active' ? '0' : `d.${order.key}`;
  const direction = order.isDescending ? `desc${order.key === 'last_active' ? ' nulls last' : ''}` : 'asc';
  const orderBy = order.key === undefined ? tieBreakers : `${order.key} ${direction}, ${tieBreakers}`;
  const part: BuildPart = (condition, orderBy) =>
    `(select ${columns}, ${key} as key from ${from} where ${where}${condition} order by ${orderBy} limit ${limit})`;
  const parts = after === undefined ? [part('', orderBy)] : buildPartsAfter(order, after, orderBy, part, add);
  return `select parts.*, row_number() over () as nth from (${parts.join(' union all ')}) parts limit ${limit}`;
}

/**
 * The rows after a position, split into parts that each cover one index range: remaining rows with the same key, rows
 * with later keys, and rows without a key (never active). The example at the top shows the first two.
 */
function buildPartsAfter(
  { key, isDescending }: SortOrder,
  after: PagePosition,
  orderBy: string,
  part: BuildPart,
  add: AddParameter,
): string[] {
  const tie = `(d.place, d.email, d.id) > (${add(after.place)}, ${add(after.email)}, ${add(after.id)}::uuid)`;
  if (key === undefined) return [part(` and ${tie}`, tieBreakers)];
  if (after.key === null) return [part(` and d.${key} is null and ${tie}`, tieBreakers)];
  const lastKey = add(after.key);
  return [
    part(` and d.${key} = ${lastKey} and ${tie}`, tieBreakers),
    part(` and d.${key} ${isDescending ? '<' : '>'} ${lastKey}`, orderBy),
    ...(key === 'last_active' ? [part(' and d.last_active is null', tieBreakers)] : []),
  ];
}

// Values for the whole page are only in the first row, so they are not parsed once per member. Members are plain
// columns, because building a page's JSON takes PostgreSQL as long as finding the page.
const selectColumns = ({ creditParity, month }: PageQuery, add: AddParameter): string => `d.id, d.joined, d.role,
  d.access_state, d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at, d.apps_owned, d.apps_shared, d.agents_owned,
  d.agents_shared, case when d.${creditParity}_month = ${add(month)} then d.${creditParity}_credits else 0 end as credits_used,
  d.last_active, d.last_seen, d.place`;

/** Whether the order by credits still includes earlier months. True only if no worker has run for weeks. */
const buildStaleOrderCheck = ({ order, creditParity, month }: PageQuery, workspace: string): string =>
  order.key === `${creditParity}_credits`
    ? `exists (select 1 from member_directory s where s.workspace_id = ${workspace}
        and s.${creditParity}_credits <> 0 and s.${creditParity}_month < ${Math.trunc(month)})`
    : 'false';

// ---- filters

function buildFilterConditions(query: PageQuery, add: AddParameter): string[] {
  const { filters, staffEmailDomains, now } = query;
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
    conditions.push(`coalesce(${guestDomainOf(query)} <> all (${add(staffEmailDomains)}::text[]), true)`);
  return conditions;
}

/**
 * The domain of an active guest whose address can be trusted, or null. Without mail, no address can be verified. Then the
 * person is trusted with whom a member shared an app, because that member passed on the link.
 */
const guestDomainOf = ({ canVerifyAddresses }: PageQuery): string =>
  canVerifyAddresses
    ? 'd.guest_domain'
    : `coalesce(d.guest_domain, case when d.place = ${roles.indexOf('guest')} and d.access_state = 'active'
        and d.assigned_via = 'app_share' then split_part(d.email, '@', 2) end)`;

/** Pending and expired invitations have the same `place`. Undefined if the query asks for both or neither. */
function onlyPendingOrExpired({ invite_statuses = [] }: MemberQuery): 'pending' | 'expired' | undefined {
  const [pending, expired] = [invite_statuses.includes('pending'), invite_statuses.includes('expired')];
  return pending === expired ? undefined : pending ? 'pending' : 'expired';
}

const buildStatusCondition = (status: 'pending' | 'expired', now: string): string =>
  `d.expires_at ${status === 'pending' ? '>' : '<='} ${now}::timestamptz`;

/** The places that remain after applying `roles` and `invite_statuses`. For example, editor and joined leave `[2]`. */
function listPlaces({ roles: filterRoles = [], invite_statuses = [] }: MemberQuery): number[] {
  const ranks = roles.flatMap((role, rank) => (filterRoles.length === 0 || filterRoles.includes(role) ? [rank] : []));
  const joined = invite_statuses.length === 0 || invite_statuses.includes('joined') ? ranks : [];
  const invited = invite_statuses.length === 0 || invite_statuses.some((status) => status !== 'joined') ? ranks : [];
  return [...joined, ...invited.map((rank) => rank + roles.length)];
}

/** Whether the total can be computed from the counts per place in `member_tallies`. */
const canCountByTally = (filters: MemberQuery): boolean =>
  onlyPendingOrExpired(filters) === undefined &&
  filters.credit_limit_set === undefined &&
  [filters.apps_owned, filters.agents_owned, filters.last_active].every(
    (range) => range?.gte === undefined && range?.lte === undefined,
  );

function buildTallyCount(query: PageQuery, workspace: string, add: AddParameter): string {
  const { filters, staffEmailDomains } = query;
  const places = listPlaces(filters);
  const sum = `(select coalesce(sum(members), 0) from member_tallies
    where workspace_id = ${workspace} and place = any (${add(places)}::smallint[]))`;
  if (staffEmailDomains.length === 0 || !places.includes(roles.indexOf('guest'))) return sum;
  return `(${sum} - (select count(*) from member_directory d where d.workspace_id = ${workspace}
    and d.place = ${roles.indexOf('guest')} and ${guestDomainOf(query)} = any (${add(staffEmailDomains)}::text[])))`;
}

// ---- search

/** `search` and `search_terms` are one group each. A member must match at least one term in every group. */
export const searchTermGroups = ({ search = '', search_terms = [] }: MemberQuery): string[][] =>
  [[search], search_terms].map((terms) => terms.filter(Boolean)).filter((terms) => terms.length > 0);

/** The search index contains pieces of 3 and 6 characters, so every term in the first group needs at least 3. */
export const canSearchByIndex = (filters: MemberQuery): boolean =>
  (searchTermGroups(filters)[0] ?? []).every((term) => [...foldCase(term)].length >= 3);

/** Works like the database function with the same name. May shorten decomposed text, and lengthens ß. */
const foldCase = (text: string): string => text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');

const likePatternFor = (term: string): string => `%${term.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Builds the CTEs `hits` and `found`. `hits` contains the rows that one group of terms finds, possibly more than once.
 * `found` contains those that also meet the other conditions, with their sort columns. The columns come from the
 * directory, because the index contains e-mail addresses in upper case, which sort differently. `found` is empty if there
 * are too many hits, because the members are then read by `scan`.
 */
function buildIndexSearch(
  terms: string[],
  workspace: string,
  { order, now }: PageQuery,
  more: readonly string[],
  add: AddParameter,
) {
  const wordCondition = buildWordCondition(terms, now, add);
  const hitsCount = '(select count(*) from hits)';
  const hitsByWord = `union all select d.id from member_directory d
    where d.workspace_id = ${workspace} and ${wordCondition}`;
  const ctes = `hits as materialized (
      select id from (
        select id from find_words(${workspace}, ${add(terms)}::text[], ${add(terms.map(likePatternFor))}::text[], ${maxIndexHits})
        ${wordCondition && hitsByWord}) every limit ${maxIndexHits + 1}),
    found as materialized (
      select d.id, d.place, d.email${order.key === undefined ? '' : `, d.${order.key}`}
      from (select distinct id from hits where ${hitsCount} <= ${maxIndexHits}) hit cross join lateral (
        select * from member_directory d where ${[`d.workspace_id = ${workspace}`, ...more].join(' and ')} and d.id = hit.id
        offset 0) d),`; // without `offset`, a plan made for a small workspace could read all of a large one
  return { ctes, hits: hitsCount };
}

/** A condition that is true if a directory row matches at least one of the terms. */
function buildMatchCondition(terms: string[], workspace: string, now: Date, add: AddParameter): string {
  const wordCondition = buildWordCondition(terms, now, add);
  const patterns = `any (array(select fold_case(p) from unnest(${add(terms.map(likePatternFor))}::text[]) p))`;
  return `(${wordCondition && `${wordCondition} or `}exists (select 1 from member_words w where w.workspace_id = ${workspace} and w.id = d.id
    and (w.email like ${patterns} or w.name like ${patterns})))`;
}

/** Terms also match roles and statuses, so "adm" finds admins. Empty if no role or status contains a term. */
function buildWordCondition(terms: string[], now: Date, add: AddParameter): string {
  const folded = terms.map(foldCase);
  const containsTerm = (word: string) => {
    const text = foldCase(word);
    return folded.some((term) => text.includes(term));
  };
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
