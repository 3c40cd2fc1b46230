// The drill's API process, which also runs the job that looks for accounts. Time runs ten times as fast, including
// timeouts, because it normally takes a minute until a request is certain to be lost.
import { setInterval as every } from 'node:timers/promises';
import { createApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';
import { readMigrations } from '../../server/src/kit/db/migrate.ts';
import { createLog } from '../../server/src/kit/log.ts';
import { migrationsFolder } from '../../server/src/release.ts';
import { speed } from './speed.ts';

const startedAt = Number(process.env.DRILL_STARTED_AT);
const clock = { now: () => new Date(startedAt + (Date.now() - startedAt) * speed) };
const log = createLog('error');
const config = readConfig();
const app = createApp(config, {
  clock,
  log,
  migrations: await readMigrations(migrationsFolder),
  adPlatform: { changeTimeoutMs: 30_000 / speed, readTimeoutMs: 20_000 / speed },
});
await app.server.listen({ host: config.HOST, port: config.PORT });
console.log(JSON.stringify({ msg: 'listening' }));

const job = app.background.jobs.find(({ name }) => name === 'settle advertising accounts');
if (job === undefined) throw new Error('the job that looks for accounts has another name');
for await (const _ of every(job.everyMs / speed))
  await job
    .run(app.database.db, clock.now())
    .catch((error: unknown) => log.error({ error: String(error) }, 'job failed'));
