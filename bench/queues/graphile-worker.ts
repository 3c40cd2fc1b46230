// graphile-worker, set up for throughput as its page on performance says: a local queue that fetches many jobs at once, and
// completions in batches, which wait for nothing. Of the sizes tried, 1,024 was the fastest. LISTEN/NOTIFY needs no setting.
import { Logger, run } from 'graphile-worker';
import { openJournal } from './journal.ts';
import { concurrency, connections, jobName } from './settings.ts';

const journal = openJournal();
// It also warns that there are fewer connections than jobs at once. With both kinds of batches it uses no more than a few.
const onLog = (level: string, message: string) => {
  if (level === 'error') console.error(`graphile-worker: ${message}`);
};

await run({
  logger: new Logger(() => onLog),
  noHandleSignals: true,
  taskList: {
    [jobName]: (payload) => journal.recordStart((payload as { number: number }).number),
  },
  preset: {
    worker: {
      connectionString: process.env.BENCH_URL ?? '',
      concurrentJobs: concurrency,
      maxPoolSize: connections,
      localQueue: { size: 4 * concurrency },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
});
journal.serve();
