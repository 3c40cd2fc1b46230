// The members list: which order a caller gets, where a page starts, and how old the displayed activity may be
// (docs/api/members.md#list-members).
import type { KeyObject } from 'node:crypto';
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
import { findFullPosition, type MemberPage, positionOf, readPage } from './store.ts';

const maxActivityAgeMs = 60_000;

export interface MembersDeps {
  /** The key that signs cursors. */
  readonly signingKey: KeyObject;
  /** Active guests with an e-mail address in one of these domains are the operator's staff, and are not listed. */
  readonly staffEmailDomains: readonly string[];
  /** Whether mail can be sent, so people can verify their addresses. */
  readonly mail: { readonly configured: boolean };
}

export async function listMembers(
  db: Db,
  { signingKey, staffEmailDomains, mail }: MembersDeps,
  access: WorkspaceAccess,
  query: MemberQuery,
  now: Date,
) {
  const { cursor, page_size, ...filters } = query;
  const month = monthNumberOf(now);
  const order = chooseSortOrder(query, access, month);
  const binding = hashBinding(access.workspace_id, filters, order.key);
  const position = cursor === undefined ? undefined : decodeCursor(signingKey, binding, cursor);
  const after = position?.isTruncated ? await findFullPosition(db, access, order.key, position) : position;
  const pageQuery: PageQuery = {
    workspace_id: access.workspace_id,
    filters: query,
    order,
    after,
    creditParity: monthParityOf(month),
    month,
    staffEmailDomains,
    canVerifyAddresses: mail.configured,
    now,
  };
  const page = await readFreshPage(db, pageQuery);
  const shown = page.members.slice(0, page_size);
  const last = page.members.length > page_size ? shown.at(-1) : undefined;
  const body = {
    members: shown.map((row) => presentMember(row, access, page.default_member_credit_limit, now)),
    next_cursor: last === undefined ? null : encodeCursor(signingKey, binding, positionOf(last, order.key)),
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

/** Only owners and admins may sort by credits, because the order would reveal how much others have spent. */
function chooseSortOrder({ sort_by, sort_dir }: MemberQuery, access: WorkspaceAccess, month: number): SortOrder {
  const isHidden = sort_by === 'credits' && !maySeeAllActivity(access);
  if (sort_by === undefined || isHidden) return { key: undefined, isDescending: false };
  const key = sort_by === 'credits' ? `${monthParityOf(month)}_credits` : sortColumns[sort_by];
  return { key, isDescending: sort_dir === 'desc' };
}

/**
 * Reads a page. If activity older than a minute is not yet in the directory, refreshes the directory and reads again.
 */
async function readFreshPage(db: Db, query: PageQuery): Promise<MemberPage> {
  const page = await readPageBySearch(db, query);
  const { oldest_activity_at } = page;
  const isOld = oldest_activity_at !== null && query.now.getTime() - oldest_activity_at.getTime() > maxActivityAgeMs;
  if (!isOld) return page;
  await refreshDirectory(db, query.workspace_id, query.now);
  return readPageBySearch(db, query);
}

/** Searches with the index if possible. If the terms match too many members, scans instead. */
async function readPageBySearch(db: Db, query: PageQuery): Promise<MemberPage> {
  const isSearch = searchTermGroups(query.filters).length > 0;
  if (!isSearch || !canSearchByIndex(query.filters)) return readPage(db, buildPageStatement(query, 'scan'));
  const page = await readPage(db, buildPageStatement(query, 'index'));
  return page.hits <= maxIndexHits ? page : readPage(db, buildPageStatement(query, 'scan'));
}

interface AnswerNotes {
  readonly isReset: boolean;
  readonly isFallback: boolean;
  readonly now: Date;
}

const addNotes = <Body>(body: Body, page: MemberPage, { isReset, isFallback, now }: AnswerNotes): Answer<Body> =>
  withNotes(body, {
    // If no activity is pending, the directory is current.
    asOf: page.oldest_activity_at ?? now,
    ...(isReset && { cursorReset: true }),
    ...(isFallback && { ignored: ['sort_by', 'sort_dir'] }),
    ...(page.is_stale && { partial: ['credits_order'] }),
  });
