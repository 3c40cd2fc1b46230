// Entry point for workspaces: workspaces, plans, operator settings, export and import.
import { purgeWorkspaces } from '../../core/identity/workspaces.ts';
import { recountStorage, type StorageDrift } from '../../core/storage/recount.ts';
import { foldDueInMs, foldStorageChanges } from '../../core/storage/usage.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { type ExportDeps, removeExpiredExports, runExport } from './export.ts';
import { workspaceRoutes } from './routes.ts';
import { exportDueInMs } from './store.ts';
import type { WorkspaceDeps } from './workspace.ts';

export { type ArchiveTables, workspaceArchiveTables } from './archive-rows.ts';
export { type ImportOptions, importWorkspace } from './import.ts';

type Deps = WorkspaceDeps & ExportDeps & { cursors: Cursors; reportStorageDrift(drift: StorageDrift): void };

export const workspaces = (deps: Deps) => ({
  routes: workspaceRoutes(deps),
  jobs: [
    { name: 'purge workspaces', everyMs: 60 * 60 * 1000, run: purgeWorkspaces },
    { name: 'write exports', everyMs: 2_000, dueInMs: exportDueInMs, run: (db, now) => runExport(db, deps, now) },
    {
      name: 'remove expired exports',
      everyMs: 60 * 60 * 1000,
      run: (db, now) => removeExpiredExports(db, deps.objectStorage, now),
    },
    { name: 'fold storage changes', everyMs: 5_000, dueInMs: foldDueInMs, run: foldStorageChanges },
    {
      name: 'recount storage',
      everyMs: 10 * 60 * 1000,
      run: (db, now) => recountStorage(db, deps.reportStorageDrift, now),
    },
  ] satisfies Job[],
});
