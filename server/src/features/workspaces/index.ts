// The door of workspaces: where people work together, what their plan gives, and what an operator sets.
import { purgeWorkspaces } from '../../access/workspaces.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import type { Job } from '../../kit/later/schedule.ts';
import { workspaceRoutes } from './routes.ts';
import type { WorkspaceParts } from './workspace.ts';

export const workspaces = (parts: WorkspaceParts & { cursors: Cursors }) => ({
  routes: workspaceRoutes(parts),
  jobs: [{ name: 'purge workspaces', everyMs: 60 * 60 * 1000, run: purgeWorkspaces }] satisfies Job[],
});
