// Owns the statement that reads one page of the members list with its exact total: text and values, nothing sent.
import { type MemberQuery, roles, statuses } from './contract.ts';

/** The column an order goes by, before the tie-breakers; none: the default order. */
export interface SortOrder {
  readonly key: string | undefined;
  readonly isDescending: boolean;
}

/** Where a page begins: after the row with these values. */
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
  readonly creditParity: 'even' | 'odd';
  readonly month: number;
  readonly staffEmailDomains: readonly string[];
  readonly now: Date;
}

export interface PageStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** One of few texts, sent often: worth a name. */
  readonly isFrequent: boolean;
}

/** More hits than this are not fetched one by one: every member is looked at instead. */
export const maxIndexHits = 15_000;

const defaultPageSize = 50;

type AddParameter = (value: unknown) => string;

/**
 * `few`: search terms are looked up in the index of pieces, and what they hit is counted, sorted and cut. Otherwise members
 * are read in order until the page is full, and counted apart.
 */
export function buildPageStatement(wanted: PageQuery, how: 'few' | 'many'): PageStatement {
  const values: unknown[] = [];
  const value: AddParameter = (given) => `$${values.push(given)}`;
  const workspace = value(wanted.workspace_id);
  const terms = searchTermGroups(wanted.filters);
  const plain = buildFilterConditions(wanted, value);
  const [first, ...others] = how === 'few' ? terms : [];
  const matching = (how === 'few' ? others : terms).map((group) =>
    buildMatchCondition(group, workspace, wanted.now, value),
  );
  const more = [...plain, ...matching];
  const conditions = [`d.workspace_id = ${workspace}`, ...more].join(' and ');
  const found =
    first === undefined
      ? { ctes: '', source: 'member_directory d', where: conditions, hits: '0' }
      : { ...buildIndexSearch(first, workspace, wanted, more, value), source: 'found d', where: 'true' };
  const total =
    first !== undefined
      ? '(select count(*) from found)'
      : matching.length === 0 && canCountByTally(wanted.filters)
        ? buildTallyCount(wanted, workspace, value)
        : `(select count(*) from member_directory d where ${conditions})`;
  const text = `with ${found.ctes} page as (${buildPageQuery(found.source, found.where, wanted, value)})
    select ${found.hits}::integer as hits, ${total}::integer as total, ${buildStaleOrderCheck(wanted, workspace)} as stale,
      (select min(noted_at) from member_activity where workspace_id = ${workspace}) as noted_at,
      w.monthly_limit, w.default_member_credit_limit, member.*
    from workspaces w left join lateral (
      select ${selectedColumns(wanted, value)} from page join member_directory d on d.workspace_id = ${workspace} and d.id = page.id
    ) member on true where w.id = ${workspace} order by member.nth`;
  const isUsual = wanted.filters.page_size === defaultPageSize && plain.length === 0 && others.length === 0;
  return { text, values, isFrequent: isUsual };
}

// ---- orders

const tieBreakers = 'place, email, id';

function buildPageQuery(
  source: string,
  where: string,
  { order, after, filters }: PageQuery,
  value: AddParameter,
): string {
  const limit = filters.page_size + 1; // as text: the planner must know that it is small
  const key = order.key ?? '0';
  const direction = order.isDescending ? `desc${key === 'last_active' ? ' nulls last' : ''}` : 'asc';
  const sorted = order.key === undefined ? tieBreakers : `${key} ${direction}, ${tieBreakers}`;
  const part = (nth: number, more: string, by: string) =>
    `(select ${nth} as part, d.id, d.place, d.email, ${order.key === undefined ? '0' : `d.${key}`} as key
      from ${source} where ${where}${more} order by ${by} limit ${limit})`;
  const parts = after === undefined ? [part(0, '', sorted)] : buildPartsAfter(order, after, sorted, part, value);
  return `select id, place, email, key, row_number() over (order by part, key ${direction}, ${tieBreakers}) as nth
    from (${parts.join(' union all ')}) parts order by nth limit ${limit}`;
}

/** Each part is one range of one index: the rest of the ties, what comes after them, and what never happened. */
function buildPartsAfter(
  { key, isDescending: down }: SortOrder,
  after: PagePosition,
  sorted: string,
  part: (nth: number, more: string, by: string) => string,
  value: AddParameter,
): string[] {
  const tie = `(d.place, d.email, d.id) > (${value(after.place)}, ${value(after.email)}, ${value(after.id)}::uuid)`;
  if (key === undefined) return [part(0, ` and ${tie}`, tieBreakers)];
  if (after.key === null) return [part(0, ` and d.${key} is null and ${tie}`, tieBreakers)];
  const at = value(after.key);
  return [
    part(0, ` and d.${key} = ${at} and ${tie}`, tieBreakers),
    part(1, ` and d.${key} ${down ? '<' : '>'} ${at}`, sorted),
    ...(key === 'last_active' ? [part(2, ' and d.last_active is null', tieBreakers)] : []),
  ];
}

// As columns: building a page of JSON takes PostgreSQL as long as finding it.
const selectedColumns = ({ creditParity: credits, month }: PageQuery, value: AddParameter): string => `d.id,
  case when d.joined then d.id else (select u.id from users u where u.email = d.email) end as user_id, d.joined, d.role,
  d.access_state, d.assigned_via, d.email, d.full_name, d.credit_limit, d.expires_at, d.apps_owned, d.apps_shared,
  d.agents_owned, d.agents_shared,
  case when d.${credits}_month = ${value(month)} then d.${credits}_credits else 0 end as credits_used,
  d.last_active, d.last_seen, d.place, page.key, page.nth`;

/** Whether the order by credits still has months past in it: only when no worker has run for weeks. */
const buildStaleOrderCheck = ({ order, creditParity: credits, month }: PageQuery, workspace: string): string =>
  order.key === `${credits}_credits`
    ? `exists (select 1 from member_directory s where s.workspace_id = ${workspace}
        and s.${credits}_credits <> 0 and s.${credits}_month < ${Math.trunc(month)})`
    : 'false';

// ---- filters

function buildFilterConditions({ filters, staffEmailDomains, now }: PageQuery, value: AddParameter): string[] {
  const conditions: string[] = [];
  const range = (column: string, type: string, bounds: { gte?: unknown; lte?: unknown } | undefined) => {
    if (bounds?.gte !== undefined) conditions.push(`d.${column} >= ${value(bounds.gte)}::${type}`);
    if (bounds?.lte !== undefined) conditions.push(`d.${column} <= ${value(bounds.lte)}::${type}`);
  };
  if (filters.roles?.length || filters.invite_statuses?.length)
    conditions.push(`d.place = any (${value(listPlaces(filters))}::smallint[])`);
  const byTime = onlyPendingOrExpired(filters);
  if (byTime !== undefined) conditions.push(buildStatusCondition(byTime, value(now), true));
  if (filters.credit_limit_set !== undefined)
    conditions.push(`d.credit_limit is ${filters.credit_limit_set ? 'not ' : ''}null`);
  range('apps', 'bigint', filters.apps_owned);
  range('agents', 'bigint', filters.agents_owned);
  range('last_active', 'timestamptz', filters.last_active);
  if (staffEmailDomains.length > 0)
    conditions.push(`(d.guest_domain is null or d.guest_domain <> all (${value(staffEmailDomains)}::text[]))`);
  return conditions;
}

/** Pending and expired invitations differ by the hour: undefined when both or neither are wanted. */
function onlyPendingOrExpired({ invite_statuses: wanted = [] }: MemberQuery): 'pending' | 'expired' | undefined {
  const [pending, expired] = [wanted.includes('pending'), wanted.includes('expired')];
  return pending === expired ? undefined : pending ? 'pending' : 'expired';
}

const buildStatusCondition = (status: 'pending' | 'expired', now: string, orJoined: boolean): string =>
  `(${orJoined ? 'd.joined or ' : ''}d.expires_at ${status === 'pending' ? '>' : '<='} ${now}::timestamptz)`;

/** Places of the default order: members by role, then invitations by role. */
function listPlaces({ roles: wantedRoles = [], invite_statuses: wanted = [] }: MemberQuery): number[] {
  const ranks = roles.flatMap((role, rank) => (wantedRoles.length === 0 || wantedRoles.includes(role) ? [rank] : []));
  const joined = wanted.length === 0 || wanted.includes('joined') ? ranks : [];
  const invited = wanted.length === 0 || wanted.some((status) => status !== 'joined') ? ranks : [];
  return [...joined, ...invited.map((rank) => rank + roles.length)];
}

const canCountByTally = (filters: MemberQuery): boolean =>
  onlyPendingOrExpired(filters) === undefined &&
  filters.credit_limit_set === undefined &&
  [filters.apps_owned, filters.agents_owned, filters.last_active].every(
    (range) => range?.gte === undefined && range?.lte === undefined,
  );

function buildTallyCount({ filters, staffEmailDomains }: PageQuery, workspace: string, value: AddParameter): string {
  const places = listPlaces(filters);
  const sum = `(select coalesce(sum(members), 0) from member_tallies
    where workspace_id = ${workspace} and place = any (${value(places)}::smallint[]))`;
  if (staffEmailDomains.length === 0 || !places.includes(roles.indexOf('guest'))) return sum;
  return `(${sum} - (select count(*) from member_directory
    where workspace_id = ${workspace} and guest_domain = any (${value(staffEmailDomains)}::text[])))`;
}

// ---- search

/** A member must match one term of each group. */
export const searchTermGroups = ({ search = '', search_terms = [] }: MemberQuery): string[][] =>
  [[search], search_terms].map((terms) => terms.filter(Boolean)).filter((terms) => terms.length > 0);

/** Whether the index of pieces knows every term of the group that is looked up. */
export const canSearchByIndex = (filters: MemberQuery): boolean =>
  (searchTermGroups(filters)[0] ?? []).every((term) => [...term].length >= 3);

const likePatternFor = (term: string): string => `%${term.replace(/[\\%_]/g, '\\$&')}%`;
const lowerCase = (text: string): string => `lower(${text} collate "und-x-icu")`;

function buildIndexSearch(
  terms: string[],
  workspace: string,
  { order, now }: PageQuery,
  more: readonly string[],
  value: AddParameter,
) {
  const words = buildWordCondition(terms, now, value);
  const byWords = `union all select d.id, d.place, d.email from member_directory d
    where d.workspace_id = ${workspace} and ${words}`;
  const ctes = `hits as materialized (
      select id, place, email from (
        select id, place, email
        from find_words(${workspace}, ${value(terms)}::text[], ${value(terms.map(likePatternFor))}::text[], ${maxIndexHits})
        ${words && byWords}) every limit ${maxIndexHits + 1}),
    found as materialized (${
      order.key === undefined && more.length === 0
        ? 'select distinct id, place, email collate "C" as email from hits'
        : `select d.id, d.place, d.email${order.key === undefined ? '' : `, d.${order.key}`} from member_directory d
          where ${[`d.workspace_id = ${workspace}`, ...more].join(' and ')} and d.id in (select id from hits)`
    }),`;
  return { ctes, hits: '(select count(*) from hits)' };
}

/** The same, member by member. */
function buildMatchCondition(terms: string[], workspace: string, now: Date, value: AddParameter): string {
  const words = buildWordCondition(terms, now, value);
  const patterns = `any (array(select ${lowerCase('p')} from unnest(${value(terms.map(likePatternFor))}::text[]) p))`;
  return `(${words && `${words} or `}exists (select 1 from member_words w where w.workspace_id = ${workspace} and w.id = d.id
    and (w.email like ${patterns} or w.name like ${patterns})))`;
}

/** Terms that are part of the word of a role or a status; empty when none is. */
function buildWordCondition(terms: string[], now: Date, value: AddParameter): string {
  const isHit = (word: string) => terms.some((term) => word.includes(term.toLowerCase()));
  const ranks = roles.flatMap((role, rank) => (isHit(role) ? [rank] : []));
  const hit = statuses.filter(isHit);
  const conditions = [
    ...(ranks.length > 0 ? [`d.role_rank = any (${value(ranks)}::smallint[])`] : []),
    ...(hit.includes('joined') ? [`d.place < ${roles.length}`] : []),
    ...hit.flatMap((status) =>
      status === 'joined' ? [] : [`(not d.joined and ${buildStatusCondition(status, value(now), false)})`],
    ),
  ];
  return conditions.length === 0 ? '' : `(${conditions.join(' or ')})`;
}
