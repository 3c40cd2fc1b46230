// Entry point of workspaces: workspaces, plans, what operators set, export and import.
import { purgeWorkspaces } from '../../core/identity/workspaces.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { type ExportDeps, removeExpiredExports, runExport } from './export.ts';
import { workspaceRoutes } from './routes.ts';
import type { WorkspaceDeps } from './workspace.ts';

export { importWorkspace } from './import.ts';

export const workspaces = (deps: WorkspaceDeps & ExportDeps & { cursors: Cursors }) => ({
  routes: workspaceRoutes(deps),
  jobs: [
    { name: 'purge workspaces', everyMs: 60 * 60 * 1000, run: purgeWorkspaces },
    { name: 'write exports', everyMs: 2_000, run: (db, now) => runExport(db, deps, now) },
    {
      name: 'remove expired exports',
      everyMs: 60 * 60 * 1000,
      run: (db, now) => removeExpiredExports(db, deps.exportsFolder, now),
    },
  ] satisfies Job[],
});
