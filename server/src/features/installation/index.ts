// Entry point for the installation's own operations: health checks, metrics, the OpenAPI document, the reference page,
// and queues.
import { readBackupState } from '../../core/backups/state.ts';
import type { Db } from '../../tables.ts';
import { type QueueRouteDeps, queueRoutes } from './queue-routes.ts';
import { type InstallationDeps, installationRoutes } from './routes.ts';

export const installation = (deps: InstallationDeps & QueueRouteDeps) => ({
  routes: [...installationRoutes(deps), ...queueRoutes(deps)],
  gauges: [
    {
      name: 'plinth_backup_age_seconds',
      help: 'Time since the moment whose data the last complete back-up has',
      read: async (db: Db) => (await readBackupState(db)).backup_age ?? undefined,
    },
    {
      name: 'plinth_backup_verify_age_seconds',
      help: 'Time since a back-up was last restored into a scratch database and found whole',
      read: async (db: Db) => (await readBackupState(db)).verify_age ?? undefined,
    },
    {
      name: 'plinth_backup_verify_failed',
      help: 'Whether the last attempt to verify a back-up has failed: 1 or 0',
      read: async (db: Db) => Number((await readBackupState(db)).has_failed),
    },
  ],
});
