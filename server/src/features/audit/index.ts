// The entry point of the audit log. core/audit writes entries in the transaction that makes the change. This feature
// seals, lists, exports and verifies them.

import type { Job } from '../../kit/background/workers/schedule.ts';
import { withTimeLimit } from '../../kit/db/database.ts';
import type { Metrics } from '../../kit/metrics.ts';
import type { Db } from '../../tables.ts';
import { type AuditDeps, auditRoutes } from './routes.ts';
import { createSealer, removeExpiredEntries, sealChain } from './seal.ts';
import { countAllUnsealed, readUnsealedSeconds, sealingDueInMs } from './store.ts';

export { auditArchiveTables } from './archive-rows.ts';
export { listWholeChains } from './store.ts';
export { verifyAllChains } from './verify.ts';

const sealing = 'seal audit entries';

/** Under an old snapshot, reading by state passes all entries that were sealed since. The gauge is then missing. */
const limited = (read: (db: Db) => Promise<number>) => (db: Db) => withTimeLimit(db, 1_000, read);

export const audit = ({ metrics, ...deps }: AuditDeps & { readonly metrics: Pick<Metrics, 'countMissed'> }) => {
  const sealer = createSealer({ onMissed: (count) => metrics.countMissed('audit_pending', count) });
  return {
    sealChain,
    routes: auditRoutes(deps),
    jobs: [
      {
        name: sealing,
        everyMs: 1_000,
        dueInMs: sealingDueInMs(`($2::json -> '${sealing}')`),
        known: () => sealer.known,
        run: sealer.seal,
      },
      { name: 'remove expired audit entries', everyMs: 60 * 60 * 1000, run: (db) => removeExpiredEntries(db) },
    ] satisfies Job[],
    gauges: [
      {
        name: 'plinth_audit_unsealed_entries',
        help: 'Audit entries that are not sealed yet',
        read: limited(countAllUnsealed),
      },
      {
        name: 'plinth_audit_unsealed_seconds',
        help: 'How long the oldest audit entry has waited to be sealed',
        queue: 'audit_pending',
        read: limited(readUnsealedSeconds),
      },
    ],
  };
};
