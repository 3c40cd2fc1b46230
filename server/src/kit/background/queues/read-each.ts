// Reads the state of several queues for people and metrics. Under an old snapshot, reading by state passes everything
// that was completed since. Nobody may wait for that, nor may it take much of PostgreSQL's time, or the connections that
// requests need.
import { type AnyDb, withTimeLimit } from '../../db/database.ts';
import { isCancelled } from '../../db/failures.ts';

/** The limit for each statement that reads a queue's state. */
export const readLimitMs = 1_000;

const readAtOnce = 2;
/** No read begins later. Prometheus waits at most ten seconds for all metrics. */
const allReadsMs = 4_000;

/** Each call begins with another source: slow ones must not keep the same others from being read. */
let turn = 0;

/**
 * Reads something for each of the sources. What could not be read in time is undefined, because 0 would mean that nothing
 * waits. Any other failure, such as a database that can't be reached, makes the whole call fail.
 */
export async function readEach<Source, Value>(
  db: AnyDb,
  sources: readonly Source[],
  read: (db: AnyDb, source: Source) => Promise<Value>,
): Promise<readonly (Value | undefined)[]> {
  const values = new Array<Value | undefined>(sources.length).fill(undefined);
  const endsAt = performance.now() + allReadsMs;
  const all = [...sources.entries()];
  turn += 1;
  const left = [...all.slice(turn % all.length), ...all.slice(0, turn % all.length)].values();
  const readNext = async () => {
    for (const [n, source] of left) {
      if (performance.now() >= endsAt) return;
      values[n] = await withTimeLimit(db, readLimitMs, (db) => read(db, source)).catch((error: unknown) => {
        if (!isCancelled(error)) throw error;
        return undefined;
      });
    }
  };
  await Promise.all(Array.from({ length: readAtOnce }, readNext));
  return values;
}
