// Owns the way out: everything a workspace owns in one archive, and back from it into an empty workspace
// (docs/contract.md §2.1). The request only records the wish; a worker writes the archive.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { audit } from '../../access/audit.ts';
import type { WorkspaceAccess } from '../../access/proofs.ts';
import { type Row, readArchive, writeArchive } from '../../kit/archive.ts';
import { transaction } from '../../kit/db/database.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { leftOut, parts } from './parts.ts';
import {
  claimExport,
  findExport,
  finishExport,
  insertExport,
  insertRow,
  isSlugTaken,
  listExpiredExports,
  listPeople,
  listRows,
  listSecretNames,
  personIdFor,
  removeExport,
} from './store.ts';

const keptMs = 7 * 24 * 60 * 60 * 1000;
const leaseMs = 30 * 60 * 1000;

export const archivePath = (folder: string, exportId: string): string => join(folder, `${exportId}.tar.gz`);

export async function startExport(db: Db, access: WorkspaceAccess, now: Date) {
  const id = newId();
  return transaction(db, async (db) => {
    await insertExport(db, access, id, now);
    await audit(db, access, { type: 'workspace.export_started', target: { kind: 'export', id } }, now);
    return { export_id: id, state: 'queued' as const };
  });
}

export async function getExport(db: Db, access: WorkspaceAccess, exportId: string, baseUrl: string, now: Date) {
  const row = await findExport(db, access, idOrNull(exportId));
  if (row === undefined || (row.expires_at !== null && row.expires_at <= now)) {
    throw new Problem('not_found', 'export_not_found', 'There is no such export.');
  }
  const url =
    row.state === 'ready'
      ? `${baseUrl}/api/workspace/export/${row.id}?workspaceId=${access.workspace_id}&download=true`
      : null;
  return {
    export_id: row.id,
    state: row.state,
    url,
    expires_at: row.expires_at?.toISOString() ?? null,
    counts: row.counts as Record<string, number>,
  };
}

/** Writes one waiting export; gives 1 when there was one. A worker that dies leaves it to the next after its lease. */
export async function runExport(db: Db, folder: string, seal: (db: Db) => Promise<number>, now: Date): Promise<number> {
  const claimed = await claimExport(db, now, new Date(now.getTime() + leaseMs));
  if (claimed === undefined) return 0;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await seal(db);
    const counts = await writeExport(db, claimed.workspace_id, archivePath(folder, claimed.id), now);
    await finishExport(db, claimed, { state: 'ready', counts, expires_at: new Date(now.getTime() + keptMs) });
  } catch (error) {
    await finishExport(db, claimed, { state: 'failed', counts: {}, expires_at: new Date(now.getTime() + keptMs) });
    throw error;
  }
  return 1;
}

/** Removes archives whose week is over. */
export async function forgetExports(db: Db, folder: string, now: Date): Promise<number> {
  const expired = await listExpiredExports(db, now);
  for (const row of expired) {
    await rm(archivePath(folder, row.id), { force: true });
    await removeExport(db, row);
  }
  return expired.length;
}

/** One consistent picture: all tables are read in one transaction that sees no later change. */
export function writeExport(db: Db, workspaceId: string, file: string, now: Date): Promise<Record<string, number>> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      const people = await listPeople(db, workspaceId);
      const secrets = await listSecretNames(db, workspaceId);
      const about = () => ({
        workspace_id: workspaceId,
        exported_at: now.toISOString(),
        people,
        secret_names: secrets,
        left_out: Object.values(leftOut),
      });
      return writeArchive(file, tablesOf(db, workspaceId), about);
    });
}

async function* tablesOf(db: Db, workspaceId: string) {
  for (const part of parts) yield { table: part.table, rows: await listRows(db, part, workspaceId) };
}

/** Restores an archive as a new workspace; ids are new, people are found by e-mail or made without a password. */
export async function importWorkspace(
  db: Db,
  file: string,
  now: Date,
): Promise<{ workspace_id: string; counts: Record<string, number> }> {
  const { manifest, tables } = await readArchive(file);
  return transaction(db, async (db) => {
    const people = new Map<string, string>();
    for (const person of manifest.people as { id: string; email: string; full_name: string }[]) {
      people.set(person.id, await personIdFor(db, person, now));
    }
    const ids = new Map<string, string>();
    for (const rows of tables.values())
      for (const row of rows) if (typeof row.id === 'string') ids.set(row.id, newId());
    for (const part of parts) {
      for (const row of tables.get(part.table) ?? [])
        await insertRow(db, part, await moved(db, part.table, row, ids, people, part.people ?? []));
    }
    const counts = Object.fromEntries([...tables].map(([table, rows]) => [table, rows.length]));
    return { workspace_id: ids.get(manifest.workspace_id as string) as string, counts };
  });
}

// An audit entry is proof only as it was written: its own words keep the old ids, and only its place is new.
const verbatim = new Set(['entry', 'hash', 'prev_hash', 'last_hash', 'first_prev_hash']);

async function moved(
  db: Db,
  table: string,
  row: Row,
  ids: Map<string, string>,
  people: Map<string, string>,
  personColumns: readonly string[],
): Promise<Row> {
  const changed = Object.entries(row).map(([column, value]): [string, unknown] => {
    if (verbatim.has(column) || typeof value !== 'string') return [column, value];
    if (personColumns.includes(column)) return [column, people.get(value) ?? value];
    return [column, ids.get(value) ?? value];
  });
  const next = Object.fromEntries(changed);
  if (table === 'audit_entries') next.id = row.id;
  if (table === 'audit_chains') next.chain_id = newId();
  if (table === 'apps' && (await isSlugTaken(db, next.slug as string)))
    next.slug = `${String(next.slug).slice(0, 56)}-${newId().slice(-6)}`;
  return next;
}
