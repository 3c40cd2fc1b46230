// Measures what a long history costs: claims beside millions of completed rows, the removal of expired days, reads from
// tables in many partitions, and the upgrade of a large table.
import pg from 'pg';
import type { Bench, Judged } from '../harness/bench.ts';
import { startPostgres } from '../harness/postgres.ts';
import { migrateAll } from '../server/src/commands/migrate.ts';
import { type AnyDb, openDatabase } from '../server/src/kit/db/database.ts';
import { measureClaims } from './history/claims.ts';
import type { Measured, Services } from './history/part.ts';
import { measureReads } from './history/reads.ts';
import { measureRemoval } from './history/removal.ts';
import { measureUpgrade } from './history/upgrade.ts';

const parts: Readonly<Record<string, (services: Services) => Promise<Measured>>> = {
  claims: measureClaims,
  removal: measureRemoval,
  reads: measureReads,
  upgrade: measureUpgrade,
};

export const history: Bench = async ({ quick, only, progress }) => {
  const names = Object.keys(parts).filter((name) => only === undefined || name === only);
  if (names.length === 0) throw new Error(`--only is one of ${Object.keys(parts).join(', ')}`);
  const figures: Record<string, unknown> = {};
  const judged: Judged[] = [];
  const postgres = await startPostgres();
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  const database = openDatabase<never>({ url: postgres.url, poolSize: 1 });
  try {
    await migrateAll(postgres.url);
    await pool.query('delete from partitioned_tables'); // no job of this measurement removes what others own
    const services = { url: postgres.url, db: database.db as AnyDb, pool, quick, progress };
    for (const name of names) {
      const measured = await (parts[name] as (services: Services) => Promise<Measured>)({
        ...services,
        progress: (line) => progress(`${name}: ${line}`),
      });
      figures[name] = measured.figures;
      judged.push(...measured.judged);
    }
  } finally {
    await pool.end();
    await database.close();
    postgres.stop();
  }
  return {
    figures,
    judged,
    skipped: [
      'lists of webhook deliveries and of workflow runs, which are not in partitions',
      ...Object.keys(parts)
        .filter((name) => !names.includes(name))
        .map((name) => `the part ${name}`),
    ],
  };
};
