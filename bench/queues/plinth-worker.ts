// Runs Plinth's own worker with one queue table: slots, leases, polling, wake-ups over Redis, and claims that are fair
// between owners, as in the product. Commits wait for the disk, as in the other systems. Webhook deliveries, whose
// commits do not wait, would be faster.
import { runDrillWorker } from '../../harness/worker.ts';
import { type Queue, type QueueRow, retries } from '../../server/src/kit/background/queues/queue.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { openJournal } from './journal.ts';
import { jobName, plinthSettings } from './settings.ts';

const { BENCH_URL: url = '', BENCH_REDIS_URL: redis = '', BENCH_PREFIX: prefix = '', BENCH_LIMITS } = process.env;
const journal = openJournal();

const queue: Queue<QueueRow & { readonly number: number }> = {
  name: jobName,
  owner: 'owner_id',
  concurrency: plinthSettings.concurrency,
  perOwner: plinthSettings.perOwner,
  ...(BENCH_LIMITS && { globalLimits: { concurrencyKey: 'concurrency_key', perKey: plinthSettings.perKey } }),
  timeoutMs: 15_000,
  retryMs: retries(1_000, 5_000),
  async run(row) {
    journal.recordStart(row.number);
    return {};
  },
};

await runDrillWorker({ url, slots: 1, wake: openWakeUps(redis, prefix), work: { queues: [queue as Queue] } });
journal.serve();
