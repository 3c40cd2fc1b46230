// Owns the background work on tokens: refreshing those that expire soon, ending connections whose tokens have expired, and moving
// secrets to the current master key.
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
/** A service that does not answer holds each of its requests for 10 seconds. */
const maxPerService = 8;

/** Returns how many connections were due. One that can't be refreshed does not stop the others. */
async function refreshDue(db: Db, deps: RefreshDeps, now: Date): Promise<number> {
  const due = await listDue(db, now, maxAtOnce, maxPerService);
  const results = await Promise.allSettled(due.map((connection) => refreshNext(db, connection, deps)));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} connections could not be refreshed`);
  return due.length;
}

async function refreshNext(db: Db, key: DueConnection, deps: RefreshDeps): Promise<void> {
  const connection = await findById(db, key);
  if (connection?.status === 'active') await refreshTokens(db, connection, deps);
}

const maxEndedAtOnce = 100;

/** Returns how many access tokens have expired that can't be refreshed. */
async function endDue(db: Db, now: Date): Promise<number> {
  const ended = await listEnded(db, now, maxEndedAtOnce);
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
