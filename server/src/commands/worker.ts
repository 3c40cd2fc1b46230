// plinth worker: everything that happens later. Any number may run beside each other.
import { createApp, migrationsFolder } from '../app.ts';
import { readConfig } from '../config.ts';
import { systemClock } from '../kit/clock.ts';
import { readMigrations } from '../kit/db/migrate.ts';
import { runJobs } from '../kit/later/schedule.ts';
import { createLog, logged } from '../kit/log.ts';

export async function worker(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.LOG_LEVEL);
  const app = createApp(config, { log, migrations: await readMigrations(migrationsFolder) });
  const onError = (job: string, error: unknown) => log.error({ job, error: logged(error) }, 'job failed');
  const running = runJobs(app.jobs, app.database.db, systemClock, onError);
  log.info({ jobs: app.jobs.map((job) => job.name) }, 'working');
  const stopped = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stopped.resolve());
  await stopped.promise;
  await running.stop();
  await app.close();
}
