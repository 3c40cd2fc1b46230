// Owns how commands change the catalogue of locations: as the owner of the tables, one at a time.
import { loadBundledPlaces } from '../app.ts';
import { systemClock } from '../kit/clock.ts';
import { openDatabase } from '../kit/db/database.ts';
import { withMigrationLock } from '../kit/db/migrate.ts';
import type { Db, Tables } from '../tables.ts';

/** Returns how many were loaded, or undefined if the catalogue is up to date or was imported. */
export const loadLocations = (url: string): Promise<number | undefined> =>
  changeLocations(url, (db) => loadBundledPlaces(db, systemClock.now()));

/** Another process that migrates or imports waits, so that it sees the finished catalogue. */
export const changeLocations = <Result>(url: string, work: (db: Db) => Promise<Result>): Promise<Result> =>
  withMigrationLock(url, async () => {
    const { db, close } = openDatabase<Tables>({ url, poolSize: 1 });
    try {
      return await work(db);
    } finally {
      await close();
    }
  });
