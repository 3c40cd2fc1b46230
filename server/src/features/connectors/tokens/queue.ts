// The queue of tokens to refresh. A connection says when its tokens are to be refreshed, and triggers keep its row due at
// that time (migration 0161).
import type { Queue, QueueRow } from '../../../kit/background/queues/queue.ts';
import { type RefreshDeps, refreshTokens } from './refresh.ts';
import { leaseMs } from './schedule.ts';
import { findById, isInTrash, stopRefreshing } from './store/refreshes.ts';

interface RefreshRow extends QueueRow {
  readonly workspace_id: string;
}

const minuteMs = 60_000;
const trashMs = 15 * minuteMs;

export const createRefreshQueue = (deps: RefreshDeps): Queue<RefreshRow> => ({
  name: 'connection_refreshes',
  owner: 'workspace_id',
  byHand: {
    retry: 'Use the connection: its tokens are refreshed then.',
    cancel: 'Disconnect the service in the connectors of the app.',
  },
  concurrency: 32,
  perOwner: 16,
  // Limited, because an unresponsive service blocks each request for 10 seconds.
  globalLimits: { concurrencyKey: 'integration_type', perKey: 8 },
  timeoutMs: leaseMs + 30_000, // new tokens are stored until the claim of the connection ends
  retryMs: () => minuteMs,
  /** Refreshes unless another process does. What it stores says when the row is due again. */
  async run(row, { db }) {
    const connection = await findById(db, row);
    if (connection?.status !== 'active') return {};
    if (await isInTrash(db, connection)) return { runAgainInMs: trashMs };
    await refreshTokens(db, deps, connection);
    return {};
  },
  /** Its workers crashed again and again. A use of the connection still refreshes its tokens. */
  onDeadLetter: (db, row) => stopRefreshing(db, row),
});
