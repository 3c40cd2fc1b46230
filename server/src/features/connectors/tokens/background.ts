// The background token jobs: refreshing tokens that expire soon, ending connections whose tokens have expired, and
// moving secrets to the current master key.
import type { Job } from '../../../kit/background/workers/schedule.ts';
import { rewrapEach } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import { connectionSecret, type SealedColumn } from '../sealed.ts';
import { endExpired, type RefreshDeps, refreshTokens } from './refresh.ts';
import { type DueConnection, endDueInMs, findById, listDue, listEnded, refreshDueInMs } from './store/refreshes.ts';
import { listUnderOldKeys, type SealedConnection, saveRewrapped } from './store/rewrapping.ts';

export type TokenJobDeps = RefreshDeps & { readonly masterKeyId: string };

export const tokenJobs = (deps: TokenJobDeps): Job[] => [
  {
    name: 'refresh connections',
    everyMs: 15_000,
    dueInMs: refreshDueInMs,
    run: (db, now) => refreshDue(db, deps, now),
  },
  { name: 'end expired connections', everyMs: 15_000, dueInMs: endDueInMs, run: (db, now) => endDue(db, now) },
  { name: 'rewrap connection secrets', everyMs: 60_000, run: (db) => rewrapConnections(db, deps) },
];

const maxAtOnce = 32;
/** Limited, because an unresponsive service blocks each request for 10 seconds. */
const maxPerService = 8;

/** Returns the number of due connections. If one can't be refreshed, the others are still processed. */
async function refreshDue(db: Db, deps: RefreshDeps, now: Date): Promise<number> {
  const due = await listDue(db, maxAtOnce, maxPerService, now);
  const results = await Promise.allSettled(due.map((connection) => refreshNext(db, deps, connection)));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} connections could not be refreshed`);
  return due.length;
}

async function refreshNext(db: Db, deps: RefreshDeps, key: DueConnection): Promise<void> {
  const connection = await findById(db, key);
  if (connection?.status === 'active') await refreshTokens(db, deps, connection);
}

const maxEndedAtOnce = 100;

/** Ends connections whose access token has expired and can't be refreshed. Returns their number. */
async function endDue(db: Db, now: Date): Promise<number> {
  const ended = await listEnded(db, maxEndedAtOnce, now);
  for (const key of ended) {
    const connection = await findById(db, key);
    if (connection !== undefined) await endExpired(db, connection, now);
  }
  return ended.length;
}

const rewrapConnections = async (db: Db, { secrets, masterKeyId }: TokenJobDeps): Promise<number> =>
  rewrapEach('connections', await listUnderOldKeys(db, masterKeyId, 500), (row) => {
    const rewrapped = (column: SealedColumn) => {
      const sealed = row[column];
      return sealed === null ? null : (secrets.rewrap(sealed, connectionSecret(row.id, column)) ?? sealed);
    };
    const after: SealedConnection = {
      ...row,
      access_token_sealed: rewrapped('access_token_sealed'),
      refresh_token_sealed: rewrapped('refresh_token_sealed'),
      credentials_sealed: rewrapped('credentials_sealed'),
    };
    return saveRewrapped(db, row, after);
  });
