// The door of credits: how a workspace stands, its ledger, and what keeps both true. Acts spend through access/credits.

import type { Mismatch } from '../../core/credits/reconciliation.ts';
import { releaseExpired, removeOldReservations } from '../../core/credits/reservations.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { reconcilePools } from './reconcile.ts';
import { creditRoutes } from './routes.ts';

/** `alarm` is told of every pool that its ledger does not add up to. */
export const credits = ({ cursors, alarm }: { cursors: Cursors; alarm(mismatch: Mismatch): void }) => ({
  routes: creditRoutes(cursors),
  jobs: [
    { name: 'release expired reservations', everyMs: 10_000, run: releaseExpired },
    { name: 'forget reservations', everyMs: 60 * 60 * 1000, run: removeOldReservations },
    { name: 'check credit pools', everyMs: 10 * 60 * 1000, run: (db, now) => reconcilePools(db, alarm, now) },
  ] satisfies Job[],
});
