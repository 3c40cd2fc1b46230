// A worker of the soak. It never looks at all rows after its start, so nothing finds a row that its looks missed.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { runDrillWorker } from '../../../harness/worker.ts';
import { type Queue, type QueueRow, retries } from '../../../server/src/kit/background/queues/queue.ts';
import { openWakeUps } from '../../../server/src/kit/background/workers/wake.ts';
import { clockMs } from '../journal.ts';
import { openJournal } from './journal.ts';
import { limits, table } from './settings.ts';

const {
  SOAK_URL: url = '',
  SOAK_REDIS_URL: redis = '',
  SOAK_PREFIX: prefix = '',
  SOAK_JOURNAL: path = '',
} = process.env;
const journal = openJournal(path);

interface SoakRow extends QueueRow {
  readonly owner_id: string;
  readonly concurrency_key: string;
  readonly due_at: Date;
}

interface Completion {
  readonly id: string;
  readonly claims: number;
  readonly again: boolean;
}

const queue: Queue<SoakRow> = {
  name: table,
  owner: 'owner_id',
  concurrency: 200,
  perOwner: limits.perOwner,
  globalLimits: { concurrencyKey: 'concurrency_key', perKey: limits.perKey },
  asyncCommit: true,
  timeoutMs: 15_000,
  retryMs: retries(1_000, 5_000),
  async run({ id, claims, owner_id: owner, concurrency_key: key, due_at, crash_count: crashes }) {
    journal.write({ id, claims, owner, key, dueAt: due_at.getTime(), crashes, startedAt: clockMs() });
    await sleep(Math.random() * 30);
    const again = Math.random() < 1 / 8;
    journal.write({ id, claims, endedAt: clockMs() });
    return { result: { id, claims, again } satisfies Completion, ...(again && { runAgainInMs: Math.random() * 800 }) };
  },
  // In the transaction that completes the rows.
  recordAll: async (db, results) =>
    void (await sql`insert into soak_completions select * from json_populate_recordset(null::soak_completions,
      ${JSON.stringify(results)}::json)`.execute(db)),
};

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const slot = await runDrillWorker({
  url,
  slots: 3,
  wake: openWakeUps(redis, prefix),
  work: { queues: [queue as Queue] },
  fullLookEveryMs: Number.POSITIVE_INFINITY,
  onRecovered: (recovered) => say({ recovered }),
});
say({ working: slot });
