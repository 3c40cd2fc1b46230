// Exports a workspace to an archive (docs/api/workspaces.md#export-and-import). The request only queues the
// export, and a worker writes the archive.
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { audit } from '../../core/audit/audit.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { isBackupRunning } from '../../core/backups/lock.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import type { ObjectStorage } from '../../gateways/storage/index.ts';
import { writeArchive } from '../../kit/archive/write-archive.ts';
import { type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import { afterCommit, takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { limitReached, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { ArchiveTables } from './archive-rows.ts';
import { omittedColumns, omittedTables } from './parts.ts';
import { type ReadOptions, startReading } from './read-parts.ts';
import {
  countLiveExports,
  type ExportProgress,
  type ExportRow,
  findExport,
  finishExport,
  insertExport,
  listExpiredExports,
  removeExport,
  saveProgress,
} from './store/exports.ts';

const keepMs = 7 * 24 * 60 * 60 * 1000;
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
interface StartDeps {
  readonly storage: StorageQuota;
  readonly wake: Pick<WakeUps, 'notify'>;
}

export async function startExport(db: Db, { storage, wake }: StartDeps, access: WorkspaceAccess, now: Date) {
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
    afterCommit(db, () => wake.notify(exportQueue));
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
    attempt: row.claims,
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

/** The queue table for exports, and its wake-up topic. */
const exportQueue = 'workspace_exports';

const progressMs = 2_000;

export const createExportQueue = (deps: ExportDeps & { readonly clock: Clock }): Queue<ExportRow> => ({
  name: exportQueue,
  owner: 'workspace_id',
  byHand: { retry: 'Start a new export with startExport.', cancel: true },
  // Limited, because an archive is written to a local file before it is stored.
  concurrency: 2,
  perOwner: 1,
  timeoutMs: 30 * 60 * 1000,
  quarantineAfter: 3, // exports take minutes, and two unrelated crashes must not make them run one by one
  retryMs: retries(10_000, 60_000),
  async run(row, { db, signal }) {
    let savedAt = performance.now();
    await saveProgress(db, row, { counts: {}, pages: 0 });
    const onPage = async (progress: ExportProgress) => {
      if (performance.now() - savedAt < progressMs) return;
      savedAt = performance.now();
      await saveProgress(db, row, progress);
    };
    // If the chain can't be sealed, the export continues, so the owner still gets their data. The job that seals all
    // chains reports the failure.
    await deps.sealChain(db, row.workspace_id).catch(() => 0);
    const { counts, size } = await storeArchive(db, deps, row, { signal, onPage });
    signal.throwIfAborted(); // another worker takes over
    await deps.countExported(row.workspace_id, size);
    const expires_at = new Date(deps.clock.now().getTime() + keepMs);
    return { record: (db) => finishExport(db, row, { state: 'ready', counts, expires_at, size_bytes: size }) };
  },
  onDeadLetter(db, row) {
    const expires_at = new Date(deps.clock.now().getTime() + keepMs);
    return finishExport(db, row, { state: 'failed', counts: {}, expires_at, size_bytes: 0 });
  },
});

/** Removes expired archives. An archive expires seven days after it was written. */
export async function removeExpiredExports(db: Db, objects: ObjectStorage, now: Date): Promise<number> {
  if (await isBackupRunning(db)) return 0; // it still copies what its dump names
  const expired = await listExpiredExports(db, now);
  await objects.remove(expired.map((row) => archiveKey(row.id)));
  for (const row of expired) await removeExport(db, row);
  return expired.length;
}

/** Writes the archive to a local file first, so a failed attempt leaves nothing in object storage. */
async function storeArchive(
  db: Db,
  deps: ExportDeps,
  { workspace_id, id }: ExportRow,
  running: Pick<ReadOptions, 'signal' | 'onPage'>,
) {
  const { destination, archive } = await openTemporaryFile();
  try {
    const options = { ...running, db, workspaceId: workspace_id, tables: deps.archiveTables };
    const counts = await writeExport(options, destination);
    await deps.objectStorage.put(archiveKey(id), archive);
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

/** Writes everything that the workspace has, and returns the number of rows by table. */
export async function writeExport(options: ReadOptions, destination: Writable): Promise<Record<string, number>> {
  const started_at = new Date().toISOString();
  const { secretNames, unsealed, lines, times } = await startReading(options);
  const left_out = [
    ...Object.values(omittedTables),
    ...Object.values(omittedColumns),
    ...(unsealed > 0 ? [`audit entries that were not sealed when the export began: ${unsealed}`] : []),
  ];
  return writeArchive(destination, lines(), () => ({
    workspace_id: options.workspaceId,
    exported_at: started_at,
    consistency: 'each row as of a time between started_at and ended_at',
    started_at,
    ended_at: new Date().toISOString(),
    per_table: times,
    secret_names: secretNames,
    left_out,
  }));
}
