// Owns the listing of members: which order a caller gets, where a page begins, and how old the copy may be.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { type Answer, withNotes } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { type MemberQuery, maySeeAllActivity, presentMember } from './contract.ts';
import { decodeCursor, encodeCursor, hashBinding } from './cursor.ts';
import { monthNumberOf, monthParityOf, refreshDirectory } from './directory-refresh.ts';
import {
  buildPageStatement,
  canSearchByIndex,
  maxIndexHits,
  type PageQuery,
  type SortOrder,
  searchTermGroups,
} from './page.ts';
import { findFullPosition, type MemberPage, readPage } from './store.ts';

const maxActivityAgeMs = 60_000;

export interface MembersDeps {
  /** Signs cursors. */
  readonly signingKey: Buffer;
  /** Guests with an address there are the operator's own people: not listed. */
  readonly staffEmailDomains: readonly string[];
}

export async function listMembers(
  db: Db,
  access: WorkspaceAccess,
  { signingKey, staffEmailDomains }: MembersDeps,
  query: MemberQuery,
  now: Date,
) {
  const { cursor, page_size, ...filters } = query;
  const month = monthNumberOf(now);
  const order = chooseSortOrder(query, access, month);
  const binding = hashBinding(access.workspace_id, filters, order.key);
  const opened = cursor === undefined ? undefined : decodeCursor(signingKey, binding, cursor);
  const after = opened?.isTruncated ? await findFullPosition(db, access, order.key, opened) : opened;
  const wanted: PageQuery = {
    workspace_id: access.workspace_id,
    filters: query,
    order,
    after,
    creditParity: monthParityOf(month),
    month,
    staffEmailDomains,
    now,
  };
  const page = await readFreshPage(db, wanted);
  const shown = page.members.slice(0, page_size);
  const last = page.members.length > page_size ? shown.at(-1) : undefined;
  const body = {
    members: shown.map((row) => presentMember(row, access, page.default_member_credit_limit, now)),
    next_cursor: last === undefined ? null : encodeCursor(signingKey, binding, last),
    has_more: last !== undefined,
    total: page.total,
    monthly_limit: page.monthly_limit,
    default_member_credit_limit: page.default_member_credit_limit,
  };
  return addNotes(body, page, {
    isReset: cursor !== undefined && after === undefined,
    isFallback: query.sort_by === 'credits' && order.key === undefined,
    now,
  });
}

const sortColumns = {
  member: 'name_key',
  apps: 'apps',
  agents: 'agents',
  last_active: 'last_active',
  role: 'role_rank',
};

/** What others spent is not everybody's to see, in the order as little as in the numbers. */
function chooseSortOrder({ sort_by, sort_dir }: MemberQuery, access: WorkspaceAccess, month: number): SortOrder {
  const hidden = sort_by === 'credits' && !maySeeAllActivity(access);
  if (sort_by === undefined || hidden) return { key: undefined, isDescending: false };
  const key = sort_by === 'credits' ? `${monthParityOf(month)}_credits` : sortColumns[sort_by];
  return { key, isDescending: sort_dir === 'desc' };
}

/** The page from a copy that is young enough; what was noted longer ago is folded in first. */
async function readFreshPage(db: Db, wanted: PageQuery): Promise<MemberPage> {
  const page = await readPageBySearch(db, wanted);
  const isOld = page.noted_at !== null && wanted.now.getTime() - page.noted_at.getTime() > maxActivityAgeMs;
  if (!isOld) return page;
  await refreshDirectory(db, wanted.workspace_id, wanted.now);
  return readPageBySearch(db, wanted);
}

async function readPageBySearch(db: Db, wanted: PageQuery): Promise<MemberPage> {
  const isSearch = searchTermGroups(wanted.filters).length > 0;
  if (!isSearch || !canSearchByIndex(wanted.filters)) return readPage(db, buildPageStatement(wanted, 'many'));
  const page = await readPage(db, buildPageStatement(wanted, 'few'));
  return page.hits <= maxIndexHits ? page : readPage(db, buildPageStatement(wanted, 'many'));
}

interface AnswerNotes {
  readonly isReset: boolean;
  readonly isFallback: boolean;
  readonly now: Date;
}

const addNotes = <Body>(body: Body, page: MemberPage, { isReset, isFallback, now }: AnswerNotes): Answer<Body> =>
  withNotes(body, {
    // Nothing waits to be folded in: the copy is as of now.
    asOf: page.noted_at ?? now,
    ...(isReset && { cursorReset: true }),
    ...(isFallback && { ignored: ['sort_by', 'sort_dir'] }),
    ...(page.stale && { partial: ['credits_order'] }),
  });
