// Runs the product's worker without the workflow queues and jobs, to measure how much they cost while idle.
import { runDrillWorker } from '../../harness/worker.ts';
import { createApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';
import { readMigrations } from '../../server/src/kit/db/migrate.ts';
import { migrationsFolder } from '../../server/src/release.ts';

const config = readConfig();
const app = createApp(config, { migrations: await readMigrations(migrationsFolder) });
const belongsToWorkflows = ({ name }: { readonly name: string }) => /workflow/.test(name);
const { queues, jobs } = app.background;
await runDrillWorker({
  url: config.DATABASE_URL,
  slots: config.WORKER_SLOTS,
  wake: app.wake,
  work: {
    ...app.background,
    queues: queues.filter((queue) => !belongsToWorkflows(queue)),
    jobs: jobs.filter((job) => !belongsToWorkflows(job)),
  },
});
process.send?.('ready');
