// Removes a month of notes by the day, and the same notes row by row.
import { sql } from 'kysely';
import pg from 'pg';
import { rounded } from '../../harness/statistics.ts';
import { removeOldPartitions } from '../../server/src/kit/background/partitions.ts';
import { purge } from '../../server/src/kit/background/purge.ts';
import { besideWrites, createDays, createNotes, insertNotes, type Measured, measure, type Services } from './part.ts';

const days = 30;
const keptDays = 2;
const bars = { cpuRatio: 10, lockMs: 100, writeMs: 1_000 };

export async function measureRemoval(services: Services): Promise<Measured> {
  const { pool, quick, progress } = services;
  // The first partition contains one day's rows, as many as a busy installation has.
  const rows = quick ? { largeDay: 150_000, otherDays: 30_000 } : { largeDay: 1_000_000, otherDays: 2_000_000 };
  for (const name of ['bench_days', 'bench_rows']) {
    await pool.query(createNotes(name, name === 'bench_days'));
    if (name === 'bench_days') await createDays(pool, name, days, keptDays);
    await pool.query(insertNotes(name, rows.largeDay, days + 2, days + 1));
    await pool.query(insertNotes(name, rows.otherDays, days, keptDays + 1));
    await pool.query(`vacuum analyze ${name}`);
  }
  const dump = await removeBesideDump(services);
  progress(`beside a dump: ${JSON.stringify(dump)}`);
  const day = await removeDay(services);
  progress(`a day of ${rows.largeDay} rows by its partition: ${JSON.stringify(day)}`);
  const dayByRow = await removeRows(services, sql`id < first_id_at(now() - ${days} * interval '1 day')`);
  progress(`the same day row by row: ${JSON.stringify(dayByRow)}`);
  const month = await removeMonth(services);
  const monthByRow = await removeRows(services, sql`id < first_id_at(now() - ${keptDays} * interval '1 day')`);
  progress(`the other days: ${JSON.stringify({ month, monthByRow })}`);
  return {
    figures: { rows, day, day_by_row: dayByRow, month, month_by_row: monthByRow, beside_a_dump: dump },
    judged: [
      {
        bar: `removing a day of ${rows.largeDay} rows costs <= 1/${bars.cpuRatio} of the CPU time of deleting its rows`,
        met: day.cpu_ms * bars.cpuRatio <= dayByRow.cpu_ms,
      },
      { bar: `the table is locked <= ${bars.lockMs} ms`, met: day.lock_ms <= bars.lockMs },
      {
        bar: `no write waits > ${bars.writeMs} ms while days are removed`,
        met: Math.max(day.writes.longest_ms, month.writes.longest_ms) <= bars.writeMs,
      },
      {
        bar: `beside a dump the removal gives up, no write waits > ${bars.writeMs} ms, and it succeeds afterwards`,
        met: dump.removed === 0 && dump.writes.longest_ms <= bars.writeMs && day.removed,
      },
    ],
  };
}

/** The two transactions of the job, measured apart: the table is locked only in the first. */
async function removeDay(services: Services) {
  const { db } = services;
  const call = (text: string) => measure(services, () => sql<{ name: string | null }>`${sql.raw(text)}`.execute(db));
  const { result, writes } = await besideWrites(services, 'bench_days', async () => ({
    detached: await call("select detach_partition('bench_days') as name"),
    dropped: await call("select drop_detached_partition('bench_days') as name"),
  }));
  const { detached, dropped } = result;
  return {
    removed: dropped.result.rows[0]?.name === 'bench_days_until_20000101',
    lock_ms: detached.ms,
    ms: rounded(detached.ms + dropped.ms),
    cpu_ms: rounded(detached.cpu_ms + dropped.cpu_ms),
    writes,
  };
}

async function removeMonth(services: Services) {
  const { result, writes } = await besideWrites(services, 'bench_days', () =>
    measure(services, async () => {
      let removed = 0;
      while (await isOverdue(services)) removed += await removeOldPartitions(services.db);
      return removed;
    }),
  );
  return { days: result.result, ms: result.ms, cpu_ms: result.cpu_ms, writes };
}

/** The job gives up, and is repeated, where it does not get the lock in time. */
async function isOverdue({ pool }: Services): Promise<boolean> {
  const { rowCount } = await pool.query(
    "select from list_partitions('bench_days') where time_of_id(to_id) <= now() - $1 * interval '1 day'",
    [keptDays],
  );
  return rowCount !== 0;
}

/** Deletes rows as the jobs do for other tables, and vacuums, which is part of its price. */
async function removeRows(services: Services, where: ReturnType<typeof sql>) {
  const expired = { table: 'bench_rows', where, order: 'id' };
  const { result, writes } = await besideWrites(services, 'bench_rows', async () => {
    const deleted = await measure(services, async () => {
      let removed = 0;
      for (let inTurn = 1; inTurn > 0; removed += inTurn) inTurn = await purge(services.db, expired);
      return removed;
    });
    return { deleted, vacuumed: await measure(services, () => sql`vacuum bench_rows`.execute(services.db)) };
  });
  const { deleted, vacuumed } = result;
  return {
    rows: deleted.result,
    ms: deleted.ms,
    cpu_ms: deleted.cpu_ms,
    vacuum_ms: vacuumed.ms,
    vacuum_cpu_ms: vacuumed.cpu_ms,
    writes,
  };
}

/** A dump has a lock of every table until it ends. */
async function removeBesideDump(services: Services) {
  const client = new pg.Client(services.url);
  await client.connect();
  await client.query('begin; lock table bench_days in access share mode');
  const { result, writes } = await besideWrites(services, 'bench_days', () =>
    measure(services, () => removeOldPartitions(services.db)),
  );
  await client.end();
  return { removed: result.result, ms: result.ms, writes };
}
