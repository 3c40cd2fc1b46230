// plinth worker: everything that happens later. Any number may run; each takes a slot, and those beyond wait as spares.
// One that loses its slot ends at once, to be started again by whatever keeps it running.
import { createServer } from 'node:http';
import { type App, createApp, migrationsFolder } from '../app.ts';
import { type Config, readConfig } from '../config.ts';
import { acquireSlot, type WorkerSlot } from '../kit/background/workers/slots.ts';
import { startWorker } from '../kit/background/workers/worker.ts';
import { systemClock } from '../kit/clock.ts';
import { readMigrations } from '../kit/db/migrate.ts';
import { createLog, describeError, type Log } from '../kit/log.ts';
import { isBearerToken } from '../kit/metrics.ts';

export async function worker(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.LOG_LEVEL);
  const stop = stopSignal();
  const slot = await acquireSlot({ url: config.DATABASE_URL, slots: config.WORKER_SLOTS }, stop);
  if (slot === undefined) return;
  try {
    await runInSlot(slot, config, log, stop);
    process.exit(0);
  } catch (error) {
    // A process that goes on holding a slot without working in it would keep everybody else from it.
    log.fatal({ error: describeError(error) }, 'could not work');
    process.exit(1);
  }
}

async function runInSlot(slot: WorkerSlot, config: Config, log: Log, stop: AbortSignal): Promise<void> {
  void slot.lost.then((reason) => {
    log.fatal({ slot: slot.slot, reason }, 'slot lost');
    process.exit(1); // at once: somebody else may be doing the same work by now
  });
  const app = createApp(config, {
    log,
    migrations: await readMigrations(migrationsFolder),
    sessionName: slot.sessionName,
  });
  const working = await startWorker(app.background, slot, {
    url: config.DATABASE_URL,
    db: app.database.db,
    clock: systemClock,
    wake: app.wake,
    engine: app.engine,
    onError: (what, error) => log.error({ what, error: describeError(error) }, 'failed'),
    onRun: app.metrics.countRun,
    onRecovered: (settled) => log.info({ slot: settled }, 'what the slot’s earlier holder had begun was given back'),
  });
  serveMetrics(app, config, log);
  log.info({ slot: slot.slot, epoch: slot.epoch, jobs: app.background.jobs.map((job) => job.name) }, 'working');
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
  log.info('stopping');
  await working.stop();
  await app.close();
}

/** By a signal; or because whoever started this process, and holds its other end, is gone. */
function stopSignal(): AbortSignal {
  const asked = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(signal, () => asked.abort());
  return asked.signal;
}

function serveMetrics(app: App, { WORKER_METRICS_PORT, METRICS_TOKEN, HOST }: Config, log: Log): void {
  if (WORKER_METRICS_PORT === undefined) return;
  const server = createServer(async (request, response) => {
    if (request.url === '/healthz') response.end('{"status":"ok"}');
    else if (request.url !== '/metrics' || METRICS_TOKEN === undefined) response.writeHead(404).end();
    else if (!isBearerToken(request.headers.authorization, METRICS_TOKEN)) response.writeHead(401).end();
    else response.end(await app.metrics.render());
  });
  server.on('error', (error) => log.error({ error: describeError(error) }, 'figures cannot be served'));
  server.listen(WORKER_METRICS_PORT, HOST);
}
