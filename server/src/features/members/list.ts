// Owns the listing of members: which order a caller gets, where a page begins, and how old the copy may be.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { type Answer, withNotes } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { type MemberQuery, presentMember, seesAll } from './contract.ts';
import { digestOf, openCursor, sealCursor } from './cursor.ts';
import { columnOf, monthOf, refreshCopy } from './directory-refresh.ts';
import { isIndexed, maxHits, type Order, pageStatement, termGroups, type Wanted } from './page.ts';
import { findPosition, type Page, readPage } from './store.ts';

const maxAgeMs = 60_000;

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
  const month = monthOf(now);
  const order = orderOf(query, access, month);
  const binding = digestOf(access.workspace_id, filters, order.key);
  const opened = cursor === undefined ? undefined : openCursor(signingKey, binding, cursor);
  const after = opened?.cut ? await findPosition(db, access, order.key, opened) : opened;
  const wanted: Wanted = {
    workspace_id: access.workspace_id,
    filters: query,
    order,
    after,
    credits: columnOf(month),
    month,
    staffEmailDomains,
    now,
  };
  const page = await readFresh(db, wanted);
  const shown = page.members.slice(0, page_size);
  const last = page.members.length > page_size ? shown.at(-1) : undefined;
  const body = {
    members: shown.map((row) => presentMember(row, access, page.default_member_credit_limit, now)),
    next_cursor: last === undefined ? null : sealCursor(signingKey, binding, last),
    has_more: last !== undefined,
    total: page.total,
    monthly_limit: page.monthly_limit,
    default_member_credit_limit: page.default_member_credit_limit,
  };
  return answered(body, page, {
    isReset: cursor !== undefined && after === undefined,
    isFallback: query.sort_by === 'credits' && order.key === undefined,
    now,
  });
}

const columns = { member: 'name_key', apps: 'apps', agents: 'agents', last_active: 'last_active', role: 'role_rank' };

/** What others spent is not everybody's to see, in the order as little as in the numbers. */
function orderOf({ sort_by, sort_dir }: MemberQuery, access: WorkspaceAccess, month: number): Order {
  const hidden = sort_by === 'credits' && !seesAll(access);
  if (sort_by === undefined || hidden) return { key: undefined, down: false };
  const key = sort_by === 'credits' ? `${columnOf(month)}_credits` : columns[sort_by];
  return { key, down: sort_dir === 'desc' };
}

/** The page from a copy that is young enough; what was noted longer ago is folded in first. */
async function readFresh(db: Db, wanted: Wanted): Promise<Page> {
  const page = await readEither(db, wanted);
  const isOld = page.noted_at !== null && wanted.now.getTime() - page.noted_at.getTime() > maxAgeMs;
  if (!isOld) return page;
  await refreshCopy(db, wanted.workspace_id, wanted.now);
  return readEither(db, wanted);
}

async function readEither(db: Db, wanted: Wanted): Promise<Page> {
  const isSearch = termGroups(wanted.filters).length > 0;
  if (!isSearch || !isIndexed(wanted.filters)) return readPage(db, pageStatement(wanted, 'many'));
  const page = await readPage(db, pageStatement(wanted, 'few'));
  return page.hits <= maxHits ? page : readPage(db, pageStatement(wanted, 'many'));
}

interface About {
  readonly isReset: boolean;
  readonly isFallback: boolean;
  readonly now: Date;
}

const answered = <Body>(body: Body, page: Page, { isReset, isFallback, now }: About): Answer<Body> =>
  withNotes(body, {
    // Nothing waits to be folded in: the copy is as of now.
    asOf: page.noted_at ?? now,
    ...(isReset && { cursorReset: true }),
    ...(isFallback && { ignored: ['sort_by', 'sort_dir'] }),
    ...(page.stale && { partial: ['credits_order'] }),
  });
