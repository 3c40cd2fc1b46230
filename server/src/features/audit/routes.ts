// Owns the HTTP contract of the audit log: reading it, taking it along, and proving that nothing was changed.
import { Readable } from 'node:stream';
import { writeCredentials } from '../../core/auth/credentials.ts';
import { perMinute } from '../../core/auth/limits.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { unlimitedToken, workspaceAs } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { items } from '../../kit/http/shapes.ts';
import type { Db } from '../../tables.ts';
import { findFirstBroken } from './chain.ts';
import { AuditEntry, AuditQuery, ExportQuery, presentEntry, Verification, VerifyQuery } from './contract.ts';
import { countUnsealed, findChain, listEntries, listSealed } from './store.ts';

const auditCredentials = { ...writeCredentials, workspaceKey: 'audit:read' } as const;
const exportBatchSize = 1_000;
const maxVerified = 100_000;
const verifyBatchSize = 1_000; // hashing more would keep other requests waiting

export const auditRoutes = (cursors: Cursors): Route[] => [
  route({
    name: 'listAuditLog',
    method: 'GET',
    path: '/api/workspace/audit-log',
    summary: 'List what was changed in the workspace, by whom, and what was refused',
    credentials: auditCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(100, 'workspace'),
    query: AuditQuery,
    answers: { 200: items(AuditEntry) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listAuditLog', access.workspace_id, access.caller.credential_id, filters];
      const rows = await listEntries(db, access, query, cursors.open(cursor, binding, now));
      return cursors.page(rows, limit, binding, now, presentEntry, (row) => [row.id]);
    },
  }),
  route({
    name: 'exportAuditLog',
    method: 'GET',
    path: '/api/workspace/audit-log/export',
    summary: 'Take the sealed audit log along, one JSON entry a line, oldest first',
    credentials: auditCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(5, 'workspace'),
    query: ExportQuery,
    answers: { 200: media('application/x-ndjson', 'one entry a line') },
    handle: ({ db, access, query }) =>
      Readable.from(streamEntries(db, access, query.from_sequence ?? 1, query.to_sequence ?? null)),
  }),
  route({
    name: 'verifyAuditLog',
    method: 'GET',
    path: '/api/workspace/audit-log/verify',
    summary: 'Check that no sealed entry was changed, removed or moved',
    description: 'At most 100,000 entries a call; go on with `from_sequence`.',
    credentials: auditCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(5, 'workspace'),
    query: VerifyQuery,
    answers: { 200: Verification },
    handle: ({ db, access, query }) => verifyChain(db, access, query.from_sequence),
  }),
];

async function* streamEntries(
  db: Db,
  access: WorkspaceAccess,
  from: number,
  to: number | null,
): AsyncGenerator<string> {
  let next = from;
  for (;;) {
    const links = await listSealed(db, access, next, to, exportBatchSize);
    for (const link of links) yield `${JSON.stringify(presentEntry(link))}\n`;
    const last = links.at(-1);
    if (last === undefined || links.length < exportBatchSize) return;
    next = last.sequence + 1;
  }
}

/**
 * Compares the entries with the end of the chain as it was when the check began: what is sealed meanwhile is not part of
 * it. The end is kept apart from the entries, so that entries cut off it are missed too.
 */
async function verifyChain(db: Db, access: WorkspaceAccess, fromSequence: number | undefined) {
  const unsealed = await countUnsealed(db, access);
  const chain = await findChain(db, access);
  const first = chain && Math.max(chain.first_sequence, fromSequence ?? chain.first_sequence);
  const nothing = {
    valid: true,
    checked: 0,
    first_sequence: null,
    last_sequence: null,
    head_hash: null,
    unsealed,
    broken_at: null,
  };
  if (chain === undefined || first === undefined || first > chain.last_sequence) return nothing;
  const end = Math.min(chain.last_sequence, first + maxVerified - 1);
  let at = await findEntryBefore(db, access, chain, first);
  let broken_at: number | null = null;
  while (broken_at === null && at.sequence < end) {
    const links = await listSealed(db, access, at.sequence + 1, end, verifyBatchSize);
    const last = links.at(-1);
    broken_at = findFirstBroken(links, at) ?? (last === undefined ? at.sequence + 1 : null);
    if (last !== undefined) at = { sequence: last.sequence, hash: last.hash };
  }
  if (broken_at === null && end === chain.last_sequence && at.hash !== chain.last_hash) broken_at = end;
  const last_sequence = broken_at === null ? at.sequence : broken_at - 1;
  return {
    valid: broken_at === null,
    checked: Math.max(0, last_sequence - first + 1),
    first_sequence: first,
    last_sequence,
    head_hash: broken_at === null ? at.hash : null,
    unsealed,
    broken_at,
  };
}

/** What came just before the run to check: the kept boundary, or the entry before. */
async function findEntryBefore(
  db: Db,
  access: WorkspaceAccess,
  chain: { first_sequence: number; first_prev_hash: string },
  first: number,
) {
  if (first === chain.first_sequence) return { sequence: first - 1, hash: chain.first_prev_hash };
  const [previous] = await listSealed(db, access, first - 1, first - 1, 1);
  return { sequence: first - 1, hash: previous?.hash ?? '' };
}
