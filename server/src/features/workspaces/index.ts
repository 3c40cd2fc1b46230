// Entry point for workspaces: workspaces, plans, operator settings, export and import.
import { purgeWorkspaces } from '../../core/identity/workspaces.ts';
import { recountStorage, type StorageDrift } from '../../core/storage/recount.ts';
import { foldDueInMs, foldStorageChanges } from '../../core/storage/usage.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { createExportQueue, type ExportDeps, removeExpiredExports } from './export.ts';
import { type RouteDeps, workspaceRoutes } from './routes.ts';

export { type ArchiveTables, workspaceArchiveTables } from './archive-rows.ts';
export { type ImportOptions, importWorkspace } from './import.ts';

type Deps = RouteDeps & ExportDeps & { clock: Clock; cursors: Cursors; reportStorageDrift(drift: StorageDrift): void };

export const workspaces = (deps: Deps) => ({
  routes: workspaceRoutes(deps),
  queues: [createExportQueue(deps)],
  jobs: [
    { name: 'purge workspaces', everyMs: 60 * 60 * 1000, run: purgeWorkspaces },
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
