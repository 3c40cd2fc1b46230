// Runs DBOS Transact with one queue and a workflow without steps, the least it can do for a job. DBOS finds queued
// workflows only by polling and starts no more than its concurrency limit per poll, so the polling interval limits both
// rate and latency. Frequent polling uses CPU time even when idle, so this worker pauses while others are measured.
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
