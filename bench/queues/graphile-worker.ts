// Runs graphile-worker, configured for throughput as its performance page recommends: a local queue that fetches many
// jobs at a time, and batched completions without delay. Of the queue sizes tried, 1,024 was the fastest. LISTEN/NOTIFY
// needs no configuration.
import { Logger, run } from 'graphile-worker';
import { openJournal } from './journal.ts';
import { connections, graphileWorkerSettings, jobName } from './settings.ts';

const journal = openJournal();
// Logs only errors. graphile-worker also warns that there are fewer connections than concurrent jobs, but because it
// fetches and completes jobs in batches, it uses only a few connections.
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
      maxPoolSize: connections,
      ...graphileWorkerSettings,
    },
  },
});
journal.serve();
