// Entry point for credits: a workspace's balance and ledger, and the jobs that reconcile them. Features spend credits
// through core/credits.

import type { Mismatch } from '../../core/credits/reconciliation.ts';
import { expiredDueInMs, releaseExpired, removeOldReservations } from '../../core/credits/reservations.ts';
import { removeOldUnpaid } from '../../core/credits/unpaid.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Db } from '../../tables.ts';
import { reconcilePools } from './reconcile.ts';
import { type CreditRouteDeps, creditRoutes } from './routes.ts';
import { countOpenReservations } from './store.ts';

export { creditArchiveTables } from './archive-rows.ts';

interface CreditsDeps extends CreditRouteDeps {
  /** Called for every pool whose balance differs from its ledger's total. */
  reportMismatch(mismatch: Mismatch): void;
}

export const credits = ({ reportMismatch, ...deps }: CreditsDeps) => ({
  routes: creditRoutes(deps),
  jobs: [
    { name: 'release expired reservations', everyMs: 10_000, dueInMs: expiredDueInMs, run: releaseExpired },
    { name: 'remove old reservations', everyMs: 60 * 60 * 1000, run: removeOldReservations },
    { name: 'remove old counts of unpaid work', everyMs: 60 * 60 * 1000, run: removeOldUnpaid },
    {
      name: 'reconcile credit pools',
      everyMs: 10 * 60 * 1000,
      run: (db, now) => reconcilePools(db, reportMismatch, now),
    },
  ] satisfies Job[],
  gauges: [
    {
      name: 'plinth_credit_reservations_open',
      help: 'Reservations of credits that are neither settled nor released',
      read: (db: Db) => countOpenReservations(db, 'all'),
    },
    {
      name: 'plinth_credit_reservations_overdue',
      help: 'Open reservations of credits beyond their lease, which a job should have released',
      read: (db: Db) => countOpenReservations(db, 'overdue'),
    },
  ],
});
