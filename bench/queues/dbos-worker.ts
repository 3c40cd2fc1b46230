// DBOS Transact with one queue and a workflow without steps, the least that it can do for a job. It finds queued workflows by polling
// alone, and starts no more than its concurrency at each poll, so the interval bounds both its rate and its latency. So
// frequent a polling costs CPU time while there is nothing to do, and therefore this worker pauses while others are measured.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { openJournal } from './journal.ts';
import { concurrency, connections, dbosVersion, jobName } from './settings.ts';

const pollMs = 10;

const journal = openJournal();
const ignore = () => {};
const report = (entry: unknown) => console.error('DBOS:', entry);

DBOS.setConfig({
  name: jobName,
  systemDatabaseUrl: process.env.BENCH_URL ?? '',
  systemDatabasePoolSize: connections,
  applicationVersion: dbosVersion,
  runMigrations: false,
  logger: { info: ignore, debug: ignore, warn: report, error: report },
});
DBOS.registerWorkflow(async (number: number) => journal.recordStart(number), { name: jobName });

const resume = async () => {
  await DBOS.launch();
  await DBOS.registerQueue(jobName, { workerConcurrency: concurrency, minPollingIntervalMs: pollMs });
};
await resume();
const pause = () => DBOS.shutdown();
await pause();
journal.serve({ resume, pause });
