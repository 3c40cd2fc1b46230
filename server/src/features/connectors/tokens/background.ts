// The background token jobs: ending connections whose tokens have expired, and moving secrets to the current master key.
import type { Job } from '../../../kit/background/workers/schedule.ts';
import { rewrapEach } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import { connectionSecret, type SealedColumn } from '../sealed.ts';
import { endExpired, type RefreshDeps } from './refresh.ts';
import { endDueInMs, findById, listEnded } from './store/refreshes.ts';
import { listUnderOldKeys, type SealedConnection, saveRewrapped } from './store/rewrapping.ts';

export type TokenJobDeps = RefreshDeps & { readonly masterKeyId: string };

export const tokenJobs = (deps: TokenJobDeps): Job[] => [
  { name: 'end expired connections', everyMs: 15_000, dueInMs: endDueInMs, run: (db, now) => endDue(db, now) },
  { name: 'rewrap connection secrets', everyMs: 60_000, run: (db) => rewrapConnections(db, deps) },
];

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
