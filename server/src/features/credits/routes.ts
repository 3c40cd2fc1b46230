// The routes for credits: prices, this month's balance, the usage by day, and the ledger.

import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { self, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { LedgerEntry, presentLedgerRow } from '../../core/credits/ledger.ts';
import { getPoolBalance, startOfMonth } from '../../core/credits/pool.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items } from '../../kit/http/shapes.ts';
import { Credits, CreditUsage, LedgerQuery, OperationPrice, presentCredits, UsageQuery } from './contract.ts';
import { listLedger } from './store.ts';
import { getCreditUsage } from './usage.ts';

export interface CreditRouteDeps {
  readonly cursors: Cursors;
  /** Lists the routes of all features. */
  listRoutes(): readonly Route[];
}

export const creditRoutes = ({ cursors, listRoutes }: CreditRouteDeps): Route[] => [
  route({
    name: 'listPrices',
    method: 'GET',
    path: '/api/prices',
    summary: 'List what operations cost in credits',
    description:
      'An operation may have several prices, which are added. Operations that are not listed cost no credits.',
    credentials: { ...readCredentials, workspaceKey: 'usage:read' },
    access: { ...self, needs: 'none' },
    limit: perMinute(60, 'caller'),
    answers: { 200: items(OperationPrice, 'The prices, in the order of the API description.') },
    handle: () => ({
      items: listRoutes().flatMap(({ name, prices = [] }) => prices.map((price) => ({ operation: name, ...price }))),
      next_cursor: null,
      has_more: false,
    }),
  }),
  route({
    name: 'getCredits',
    method: 'GET',
    path: '/api/workspace/credits',
    summary: "Read this month's credits of the workspace and the caller",
    credentials: { ...readCredentials, workspaceKey: 'usage:read' },
    access: workspaceAs('viewer'),
    limit: perMinute(60, 'workspace'),
    answers: { 200: Credits },
    handle: async ({ db, access: { workspace_id, caller }, now }) =>
      presentCredits(
        await getPoolBalance(db, workspace_id, caller.user_id, startOfMonth(now)),
        caller.user_id !== null,
        now,
      ),
  }),
  route({
    name: 'getCreditUsage',
    headers: ['X-Truncated'],
    method: 'GET',
    path: '/api/workspace/credits/usage',
    summary: 'Add up the credits that were used on each day',
    description:
      'Owners, admins and workspace keys see what everybody used. Others see only their own use. At most 10,000 sums are returned, of the newest days; `X-Truncated` says if there are more.',
    credentials: { ...writeCredentials, workspaceKey: 'usage:read' },
    access: { ...workspaceAs('viewer'), needs: 'workspace viewer (own rows), workspace admin (all rows)' },
    limit: perMinute(60, 'workspace'),
    work: 'slow',
    query: UsageQuery,
    answers: { 200: CreditUsage },
    handle: ({ db, access, query, now }) => getCreditUsage(db, access, query, now),
  }),
  route({
    name: 'listCreditLedger',
    method: 'GET',
    path: '/api/workspace/credits/ledger',
    summary: 'List the credit ledger, newest first',
    description: 'Owners, admins and workspace keys see every entry. Others see only their own.',
    credentials: { ...writeCredentials, workspaceKey: 'usage:read' },
    access: { ...workspaceAs('viewer'), needs: 'workspace viewer (own rows), workspace admin (all rows)' },
    limit: perMinute(60, 'workspace'),
    work: 'slow',
    query: LedgerQuery,
    answers: { 200: items(LedgerEntry) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listCreditLedger', access.workspace_id, access.caller.credential_id, access.role, filters];
      const rows = await listLedger(db, access, query, cursors.open(cursor, binding, now));
      return cursors.page(rows, limit, binding, now, presentLedgerRow, (row) => [
        row.created_date.toISOString(),
        row.id,
      ]);
    },
  }),
];
