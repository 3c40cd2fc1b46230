// Exports a workspace to an archive (docs/api/workspaces.md#export-and-import). The request only queues the
// export, and a worker writes the archive.
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { audit } from '../../core/audit/audit.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import { type TableLines, writeArchive } from '../../kit/archive/write-archive.ts';
import { nameTransaction } from '../../kit/background/snapshots.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { limitReached, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type ArchiveTables, describeTable, peopleTable } from './archive-rows.ts';
import { omittedColumns, omittedTables, parts } from './parts.ts';
import {
  type ClaimedExport,
  claimExport,
  countLiveExports,
  countUnsealed,
  findExport,
  finishExport,
  insertExport,
  listExpiredExports,
  listSecretNames,
  readPart,
  readPeople,
  removeExport,
} from './store.ts';

const keepMs = 7 * 24 * 60 * 60 * 1000;
const leaseMs = 30 * 60 * 1000;
const maxAttempts = 3;
const maxLiveExports = 3;

const archiveKey = (exportId: string): string => `exports/${exportId}.tar.gz`;

type CountBytes = (bytes: number) => Promise<Problem | undefined>;

/**
 * Streams the archive. Throws 404 if it was lost, and 429 if the workspace's byte budget is used up. The remaining
 * budget need not cover the archive, so archives of any size can be downloaded.
 */
export async function openArchive(objects: ObjectStorage, exportId: string, countBytes: CountBytes): Promise<Readable> {
  const refusal = await countBytes(0);
  if (refusal !== undefined) throw refusal;
  const archive = await objects.get(archiveKey(exportId));
  if (archive === undefined) throw exportNotFound();
  void countBytes(archive.size);
  return archive.content;
}

const exportNotFound = () =>
  new Problem('not_found', 'export_not_found', 'This export does not exist or has expired. Start a new one.');

/**
 * The storage quota prevents an export only if the workspace already has one. A workspace that exceeds its quota, for
 * example after a change of plan, can therefore still export its data.
 */
export async function startExport(db: Db, storage: StorageQuota, access: WorkspaceAccess, now: Date) {
  const id = newId();
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, `exports of ${access.workspace_id}`);
    const live = await countLiveExports(db, access, now);
    if (live >= maxLiveExports) {
      throw limitReached(
        maxLiveExports,
        'exports',
        `A workspace can have at most ${maxLiveExports} exports at a time. Wait until one expires.`,
      );
    }
    if (live > 0) await storage.admit(db, access, 1, now);
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

export interface ExportDeps {
  /** Where archives are stored. */
  readonly objectStorage: ObjectStorage;
  /** Seals a workspace's audit log, so an export contains every entry from before its start. */
  readonly sealChain: (db: Db, workspace_id: string) => Promise<number>;
  readonly archiveTables: ArchiveTables;
  /** Counts an archive towards the workspace's byte budget. */
  readonly countExported: (workspaceId: string, bytes: number) => Promise<void>;
}

/**
 * Writes the oldest queued export and returns 1, or returns 0 if there is none. If a worker crashes, another worker
 * claims the export when the lease expires. After three unsuccessful attempts, the export fails.
 */
export async function runExport(db: Db, deps: ExportDeps, now: Date): Promise<number> {
  const { sealChain, countExported } = deps;
  const claimed = await claimExport(db, new Date(now.getTime() + leaseMs), now);
  if (claimed === undefined) return 0;
  const expires_at = new Date(now.getTime() + keepMs);
  try {
    if (claimed.attempts > maxAttempts) throw new Error(`export ${claimed.id} failed ${maxAttempts} times`);
    // If the chain can't be sealed, the export continues, so the owner still gets their data. The job that seals all
    // chains reports the failure.
    await sealChain(db, claimed.workspace_id).catch(() => 0);
    const { counts, size } = await storeArchive(db, deps, claimed, now);
    await finishExport(db, claimed, { state: 'ready', counts, expires_at, size_bytes: size });
    await countExported(claimed.workspace_id, size);
  } catch (error) {
    await finishExport(db, claimed, { state: 'failed', counts: {}, expires_at, size_bytes: 0 });
    throw error;
  }
  return 1;
}

/** Removes expired archives. An archive expires seven days after it was written. */
export async function removeExpiredExports(db: Db, objects: ObjectStorage, now: Date): Promise<number> {
  const expired = await listExpiredExports(db, now);
  await objects.remove(expired.map((row) => archiveKey(row.id)));
  for (const row of expired) await removeExport(db, row);
  return expired.length;
}

/**
 * Writes the archive to a local file first, because the transaction that reads the tables must not wait for the object
 * storage.
 */
async function storeArchive(db: Db, deps: ExportDeps, claimed: ClaimedExport, now: Date) {
  const { destination, archive } = await openTemporaryFile();
  try {
    const counts = await writeExport(db, claimed.workspace_id, deps.archiveTables, destination, now);
    await deps.objectStorage.put(archiveKey(claimed.id), archive);
    return { counts, size: destination.bytesWritten };
  } finally {
    destination.destroy();
    archive.destroy();
  }
}

/** The file is deleted while it is open, so a crash leaves nothing behind. */
async function openTemporaryFile() {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-export-'));
  try {
    const path = join(folder, 'archive');
    const destination = (await open(path, 'wx', 0o600)).createWriteStream();
    return { destination, archive: (await open(path)).createReadStream() };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Reads all tables in one repeatable-read transaction, so the archive is consistent. */
export function writeExport(
  db: Db,
  workspaceId: string,
  tables: ArchiveTables,
  destination: Writable,
  now: Date,
): Promise<Record<string, number>> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (db) => {
      await nameTransaction(db, 'export');
      const secret_names = await listSecretNames(db, workspaceId);
      const unsealed = await countUnsealed(db, workspaceId);
      const left_out = [
        ...Object.values(omittedTables),
        ...Object.values(omittedColumns),
        ...(unsealed > 0 ? [`audit entries that were not sealed when the export began: ${unsealed}`] : []),
      ];
      const about = { workspace_id: workspaceId, exported_at: now.toISOString(), secret_names, left_out };
      return writeArchive(destination, readAllParts(db, workspaceId, tables), about);
    });
}

async function* readAllParts(db: Db, workspaceId: string, tables: ArchiveTables): AsyncGenerator<TableLines> {
  yield { table: peopleTable, lines: [] };
  for await (const lines of readPeople(db, workspaceId)) yield { table: peopleTable, lines };
  for (const part of parts) {
    const { table } = part;
    yield { table, lines: [] };
    for await (const lines of readPart(db, part, describeTable(tables, table), workspaceId)) yield { table, lines };
  }
}
