// Owns exporting a workspace to an archive and importing an archive as a new workspace
// (docs/api/workspaces.md#export-and-import). The request only queues the export; a worker writes the archive.
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { audit, auditService } from '../../core/audit/audit.ts';
import type { Plan } from '../../core/auth/plans.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { listMismatches } from '../../core/credits/reconciliation.ts';
import { withdrawGrants } from '../../core/credits/reservations.ts';
import { type Row, readArchive, writeArchive } from '../../kit/archive.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { limitReached, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type ArchivePart, omittedTables, parts } from './parts.ts';
import {
  claimExport,
  countLiveExports,
  findExport,
  findOrInsertUser,
  finishExport,
  insertExport,
  insertImportedRow,
  isSlugTaken,
  listExpiredExports,
  listPeople,
  listSecretNames,
  readPart,
  removeExport,
  resetPlan,
} from './store.ts';

const keepMs = 7 * 24 * 60 * 60 * 1000;
const leaseMs = 30 * 60 * 1000;
const maxAttempts = 3;
const maxLiveExports = 3;

export const archivePath = (folder: string, exportId: string): string => join(folder, `${exportId}.tar.gz`);

/** Streams the archive. Throws 404 if this machine does not have the file. */
export async function openArchive(file: string): Promise<Readable> {
  const opened = await open(file).catch(() => undefined);
  if (opened === undefined) throw exportNotFound();
  return opened.createReadStream();
}

const exportNotFound = () =>
  new Problem('not_found', 'export_not_found', 'There is no such export, or it has expired.');

export async function startExport(db: Db, access: WorkspaceAccess, now: Date) {
  const id = newId();
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, `exports of ${access.workspace_id}`);
    if ((await countLiveExports(db, access, now)) >= maxLiveExports) {
      throw limitReached(
        maxLiveExports,
        'exports',
        `A workspace can have at most ${maxLiveExports} exports at a time. Wait until one expires.`,
      );
    }
    await insertExport(db, access, id, now);
    await audit(db, access, { type: 'workspace.export_started', target: { kind: 'export', id } }, now);
    return { export_id: id, state: 'queued' as const };
  });
}

export async function getExport(db: Db, access: WorkspaceAccess, exportId: string, baseUrl: string, now: Date) {
  const row = await findExport(db, access, idOrNull(exportId));
  if (row === undefined || (row.expires_at !== null && row.expires_at <= now)) {
    throw exportNotFound();
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

/**
 * Writes the oldest queued export and returns 1, or returns 0 if there is none. If a worker crashes, another one claims the
 * export when its lease expires. After three attempts the export fails.
 */
export async function runExport(db: Db, folder: string, seal: (db: Db) => Promise<number>, now: Date): Promise<number> {
  const claimed = await claimExport(db, now, new Date(now.getTime() + leaseMs));
  if (claimed === undefined) return 0;
  const expires_at = new Date(now.getTime() + keepMs);
  try {
    if (claimed.attempts > maxAttempts) throw new Error(`export ${claimed.id} failed ${maxAttempts} times`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await seal(db);
    const counts = await writeExport(db, claimed.workspace_id, archivePath(folder, claimed.id), now);
    await finishExport(db, claimed, { state: 'ready', counts, expires_at });
  } catch (error) {
    await finishExport(db, claimed, { state: 'failed', counts: {}, expires_at });
    throw error;
  }
  return 1;
}

/** Removes archives that expired, seven days after they were written. */
export async function removeExpiredExports(db: Db, folder: string, now: Date): Promise<number> {
  const expired = await listExpiredExports(db, now);
  for (const row of expired) {
    await rm(archivePath(folder, row.id), { force: true });
    await removeExport(db, row);
  }
  return expired.length;
}

/** Reads all tables in one repeatable-read transaction, so that the archive is consistent. */
export function writeExport(db: Db, workspaceId: string, file: string, now: Date): Promise<Record<string, number>> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      const people = await listPeople(db, workspaceId);
      const secret_names = await listSecretNames(db, workspaceId);
      const left_out = Object.values(omittedTables);
      const about = { workspace_id: workspaceId, exported_at: now.toISOString(), people, secret_names, left_out };
      return writeArchive(file, readAllParts(db, workspaceId), about);
    });
}

async function* readAllParts(db: Db, workspaceId: string) {
  for (const part of parts) {
    yield { table: part.table, rows: [] };
    for await (const rows of readPart(db, part, workspaceId)) yield { table: part.table, rows };
  }
}

export interface ImportOptions {
  readonly defaultPlan: Plan;
  /** Keep plan, limits and billing hold of the archive. Otherwise this installation's default plan applies. */
  readonly keepPlan: boolean;
}

/**
 * Restores an archive as a new workspace, all or nothing. Ids are new; users are found by e-mail address or created without a
 * password. Archives are untrusted: every id must refer to something in the archive, so that an import can't touch anything
 * outside the new workspace.
 */
export async function importWorkspace(db: Db, file: string, options: ImportOptions, now: Date) {
  const { manifest, tables } = await readArchive(file);
  return transaction(db, async (db) => {
    const people = new Map<string, string>();
    for (const person of manifest.people as { id: string; email: string; full_name: string }[]) {
      people.set(person.id, await findOrInsertUser(db, person, now));
    }
    const ids = assignNewIds(tables);
    const workspace_id = ids.get(String(manifest.workspace_id));
    const [workspace, ...others] = tables.get('workspaces') ?? [];
    if (workspace_id === undefined || workspace?.id !== manifest.workspace_id || others.length > 0) {
      throw new Error('the archive does not contain exactly one workspace');
    }
    for (const part of parts) {
      for (const row of tables.get(part.table) ?? [])
        await insertImportedRow(db, part, await remapRow(db, part, row, ids, people, workspace_id, now));
    }
    await refuseUnbalancedCredits(db, workspace_id, tables);
    if (!options.keepPlan) {
      await resetPlan(db, workspace_id, options.defaultPlan);
      await withdrawGrants(db, workspace_id, now);
    }
    const counts = Object.fromEntries([...tables].map(([table, rows]) => [table, rows.length]));
    const target = { kind: 'workspace', id: workspace_id };
    await auditService(
      db,
      workspace_id,
      { type: 'workspace.imported', target, after: { from: manifest.workspace_id, counts } },
      now,
    );
    return { workspace_id, counts };
  });
}

/** Refuses pools that do not match the ledger, which the nightly check would otherwise report for ever. */
async function refuseUnbalancedCredits(db: Db, workspace_id: string, tables: ReadonlyMap<string, readonly Row[]>) {
  for (const pool of tables.get('credit_pools') ?? []) {
    const found = await listMismatches(db, { workspace_id, period_start: new Date(String(pool.period_start)) });
    if (found.length > 0) throw new Error('the archive is inconsistent: its credit pools do not match its ledger');
  }
}

function assignNewIds(tables: ReadonlyMap<string, readonly Row[]>): Map<string, string> {
  const owning = [
    'workspaces',
    'apps',
    'app_users',
    'folders',
    'agent_conversations',
    'agent_messages',
    'agent_memories',
    'webhooks',
    'credit_ledger',
  ];
  const old = owning.flatMap((table) => (tables.get(table) ?? []).map((row) => String(row.id)));
  return new Map(old.map((id) => [id, newId()]));
}

/** Returns the row with new ids. The content of audit entries keeps the old ids, because their hashes cover it. */
async function remapRow(
  db: Db,
  part: ArchivePart,
  row: Row,
  ids: ReadonlyMap<string, string>,
  people: ReadonlyMap<string, string>,
  workspace_id: string,
  now: Date,
): Promise<Row> {
  const next: Row = {};
  for (const [column, value] of Object.entries(row).filter(([column]) => !part.omit?.includes(column)))
    next[column] = remapValue(part, column, value, ids, people, workspace_id);
  if (part.table === 'audit_chains') next.chain_id = newId();
  if (part.table === 'webhooks') next.disabled_at ??= now.toISOString();
  if (part.table === 'apps' && (await isSlugTaken(db, String(next.slug)))) {
    next.slug = `${String(next.slug).slice(0, 56)}-${newId().slice(-6)}`;
  }
  return next;
}

function remapValue(
  part: ArchivePart,
  column: string,
  value: unknown,
  ids: ReadonlyMap<string, string>,
  people: ReadonlyMap<string, string>,
  workspace_id: string,
): unknown {
  if (column === 'workspace_id') return workspace_id;
  if (!/(^|_)id$/.test(column) || part.verbatim?.includes(column)) return value;
  if (value === null) return null;
  if (part.principalIds?.includes(column)) return people.get(String(value)) ?? ids.get(String(value)) ?? value;
  const known = (part.userIds?.includes(column) ? people : ids).get(String(value));
  if (known !== undefined) return known;
  // The ledger and the audit log may refer to what was deleted; everything else must be in the archive.
  if (part.nullIfMissing?.includes(column)) return null;
  throw new Error(`the archive is inconsistent: ${part.table}.${column} refers to something that is not in it`);
}
