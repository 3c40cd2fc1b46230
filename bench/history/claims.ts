// Claims rows of a queue table that contains millions of completed rows.
import { insertCompleted, openClaims } from '../held-snapshot/claims.ts';
import { measureRounds } from '../held-snapshot/part.ts';
import { type Measured, readBackend, type Services } from './part.ts';

const bar = 1.2;

export async function measureClaims({ db, pool, quick, progress }: Services): Promise<Measured> {
  const completed = quick ? 100_000 : 20_000_000;
  const rounds = quick ? 21 : 101;
  const part = await openClaims({ db, pool });
  const measure = async () => {
    const pid = await readBackend(db); // another one after the connection was idle for long
    await measureRounds(part, pid, 10); // warm-up
    return measureRounds(part, pid, rounds);
  };
  await pool.query('vacuum analyze bench_claims');
  const empty = await measure();
  await insertCompleted(pool, completed);
  await pool.query('vacuum analyze bench_claims');
  const full = await measure();
  progress(`a claim of 10: ${JSON.stringify({ empty, full })}`);
  return {
    figures: { completed, empty, full },
    judged: [
      {
        bar: `a claim beside ${completed} completed rows takes <= ${bar} of the CPU time of PostgreSQL in an empty table`,
        met: full.cpu_ms <= bar * empty.cpu_ms,
      },
    ],
  };
}
