// The entry point of the audit log. core/audit writes entries in the transaction that makes the change. This feature
// seals, lists, exports and verifies them.

import type { Job } from '../../kit/background/workers/schedule.ts';
import { type AuditDeps, auditRoutes } from './routes.ts';
import { removeExpiredEntries, sealAll, sealChain } from './seal.ts';
import { countAllUnsealed, readUnsealedSeconds, sealingDueInMs } from './store.ts';

export { auditArchiveTables } from './archive-rows.ts';

export const audit = (deps: AuditDeps) => ({
  sealChain,
  routes: auditRoutes(deps),
  jobs: [
    { name: 'seal audit entries', everyMs: 1_000, dueInMs: sealingDueInMs, run: (db) => sealAll(db) },
    { name: 'remove expired audit entries', everyMs: 60 * 60 * 1000, run: (db) => removeExpiredEntries(db) },
  ] satisfies Job[],
  gauges: [
    { name: 'plinth_audit_unsealed_entries', help: 'Audit entries that are not sealed yet', read: countAllUnsealed },
    {
      name: 'plinth_audit_unsealed_seconds',
      help: 'How long the oldest audit entry has waited to be sealed',
      read: readUnsealedSeconds,
    },
  ],
});
