// Runs pg-boss, configured for throughput: it fetches batches, immediately fetches the next batch after a full one, and
// uses LISTEN/NOTIFY for jobs that arrive one by one. A batch is completed when all of its jobs have ended. Of the
// divisions tried, four batches of 64 were the fastest.
import { PgBoss } from 'pg-boss';
import { openJournal } from './journal.ts';
import { connections, jobName, pgBossSettings } from './settings.ts';

const journal = openJournal();
const boss = new PgBoss({
  connectionString: process.env.BENCH_URL ?? '',
  max: connections,
  useListenNotify: true,
});
boss.on('error', (error) => console.error('pg-boss:', error));
boss.on('warning', ({ message }) => console.error('pg-boss:', message));
await boss.start();
await boss.work<{ number: number }>(jobName, pgBossSettings, async (jobs) => {
  for (const { data } of jobs) journal.recordStart(data.number);
});
journal.serve();
