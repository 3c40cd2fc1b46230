// Defines how commands change the location catalogue. The commands run one at a time, as the role that owns the tables.
import { loadBundledPlaces } from '../app/advertising.ts';
import { systemClock } from '../kit/clock.ts';
import { openDatabase } from '../kit/db/database.ts';
import { withMigrationLock } from '../kit/db/migrate.ts';
import type { Db, Tables } from '../tables.ts';

/** Returns the number of loaded locations, or undefined if the catalogue is up to date or has been imported. */
export const loadLocations = (url: string): Promise<number | undefined> =>
  changeLocations(url, (db) => loadBundledPlaces(db, systemClock.now()));

/** Makes other processes that migrate or import wait until the catalogue is complete. */
export const changeLocations = <Result>(url: string, work: (db: Db) => Promise<Result>): Promise<Result> =>
  withMigrationLock(url, async () => {
    const { db, close } = openDatabase<Tables>({ url, poolSize: 1 });
    try {
      return await work(db);
    } finally {
      await close();
    }
  });
