// The routes for listing, exporting and verifying the audit log.
import { Readable } from 'node:stream';
import { writeCredentials } from '../../core/auth/credentials.ts';
import { unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { Shares } from '../../kit/db/shares.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { items } from '../../kit/http/shapes.ts';
import type { Db } from '../../tables.ts';
import { AuditEntry, auditQuery, ExportQuery, presentEntry, Verification, VerifyQuery } from './contract.ts';
import { listEntries, listSealed } from './store.ts';
import { verifyChain } from './verify.ts';

const auditCredentials = { ...writeCredentials, workspaceKey: 'audit:read' } as const;
const exportBatchSize = 100; // larger batches would delay other requests

export interface AuditDeps {
  readonly cursors: Cursors;
  readonly shares: Shares;
  isOperation(name: string): boolean;
}

export const auditRoutes = ({ cursors, shares, isOperation }: AuditDeps): Route[] => [
  route({
    name: 'listAuditLog',
    method: 'GET',
    path: '/api/workspace/audit-log',
    summary: 'List the audit log: who changed what in the workspace, and refused attempts, newest first',
    credentials: auditCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(100, 'workspace'),
    work: 'slow',
    query: auditQuery(isOperation),
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
    summary: 'Export the sealed audit log as NDJSON, oldest first',
    credentials: auditCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(5, 'workspace'),
    work: 'slow',
    query: ExportQuery,
    answers: { 200: media('application/x-ndjson', 'One entry per line', { $ref: '#/components/schemas/AuditEntry' }) },
    handle: ({ db, access, query }) =>
      Readable.from(streamEntries(db, access, shares, query.from_sequence ?? 1, query.to_sequence ?? null)),
  }),
  route({
    name: 'verifyAuditLog',
    method: 'GET',
    path: '/api/workspace/audit-log/verify',
    summary: 'Verify the audit log: prove that no sealed entry was changed, removed or moved',
    description: 'Verifies at most 100,000 entries per call. Continue with `from_sequence`.',
    credentials: auditCredentials,
    access: unlimitedToken(workspaceAs('admin')),
    limit: perMinute(5, 'workspace'),
    work: 'slow',
    query: VerifyQuery,
    answers: { 200: Verification },
    handle: ({ db, access, query }) => verifyChain(db, access, query.from_sequence),
  }),
];

/**
 * The handler has already returned, so each batch takes its own share. A slow reader holds no share between batches.
 */
async function* streamEntries(
  db: Db,
  access: WorkspaceAccess,
  shares: Shares,
  from: number,
  to: number | null,
): AsyncGenerator<string> {
  let next = from;
  for (;;) {
    const release = await shares.take('slow', { owner: access.workspace_id, part: null }, { patient: true });
    const entries = await listSealed(db, access, next, to, exportBatchSize).finally(release);
    for (const sealed of entries) yield `${JSON.stringify(presentEntry(sealed))}\n`;
    const last = entries.at(-1);
    if (last === undefined || entries.length < exportBatchSize) return;
    next = last.sequence + 1;
  }
}
