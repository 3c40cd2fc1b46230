// `plinth worker`, which runs background work in a worker slot. If there are more workers than slots, the others
// wait for a free slot. A worker that loses its slot exits immediately, and the process supervisor restarts it.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { toSessionFolder } from '../app/settings.ts';
import { type App, type AppDeps, createApp } from '../app.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { chooseQueues } from '../kit/background/workers/queue-choice.ts';
import { acquireSlot, type WorkerSlot } from '../kit/background/workers/slots.ts';
import { startWorker } from '../kit/background/workers/worker.ts';
import { systemClock } from '../kit/clock.ts';
import { readMigrations } from '../kit/db/migrate.ts';
import { createLog, describeError, type Log } from '../kit/log.ts';
import { isBearerToken } from '../kit/metrics.ts';
import { listGaps } from '../kit/unprivileged.ts';
import { migrationsFolder } from '../release.ts';
import { explainListenFailure, toReason } from './failures.ts';
import { requireSoundStart } from './start-checks.ts';

/** Drills pass `overrides`. */
export async function worker(overrides: Partial<AppDeps> = {}): Promise<void> {
  const config = readConfig();
  const log = createLog(config.LOG_LEVEL);
  const stop = stopSignal();
  const onUnreachable = (error: unknown) => log.warn(toReason(error), 'waiting for the database');
  const slot = await acquireSlot({ url: config.DATABASE_URL, slots: config.WORKER_SLOTS, onUnreachable }, stop);
  if (slot === undefined) return;
  try {
    await runInSlot(slot, config, log, stop, overrides);
    process.exit(0);
  } catch (error) {
    // Exits, because a process that holds a slot without working would block the slot.
    log.fatal(toReason(error), 'worker failed');
    process.exit(1);
  }
}

/** Their rows make a worker decode images, parse code or run git on repositories that strangers have made. */
const queuesWithFilesOfStrangers = ['ads_asset_sessions', 'coding_sessions', 'security_scans'];

const unknownQueues = (unknown: readonly string[], { background }: App): ConfigError => {
  const names = background.queues.map(({ name }) => name).sort();
  return new ConfigError(
    `WORKER_QUEUES: there is no queue ${unknown.join(' or ')}. The queues are ${names.join(', ')}.`,
  );
};

async function runInSlot(
  slot: WorkerSlot,
  config: Config,
  log: Log,
  stop: AbortSignal,
  overrides: Partial<AppDeps>,
): Promise<void> {
  void slot.lost.then((reason) => {
    log.fatal({ slot: slot.slot, reason }, 'slot lost');
    process.exit(1); // another worker may already be processing the same rows
  });
  const app = createApp(config, {
    ...overrides,
    log,
    migrations: await readMigrations(migrationsFolder),
    sessionName: slot.sessionName,
  });
  await requireSoundStart(app.database, config);
  const { chosen: queues, unknown } = chooseQueues(app.background.queues, config.WORKER_QUEUES);
  if (unknown.length > 0) throw unknownQueues(unknown, app);
  const worker = await startWorker(app.background, slot, {
    queues,
    db: app.database.db,
    clock: systemClock,
    wake: app.wake,
    onError: (what, error) => {
      app.metrics.countFailure(what);
      log.error({ what, error: describeError(error) }, 'background work failed');
    },
    onRun: app.metrics.countRun,
    onClaim: app.metrics.countClaim,
    onMissed: app.metrics.countMissed,
    onRecovered: (recovered) => log.info({ slot: recovered }, "released the claims of the slot's previous worker"),
  });
  await serveMetrics(app, config, log);
  const handlesStrangers = queues.some(({ name }) => queuesWithFilesOfStrangers.includes(name));
  for (const gap of handlesStrangers ? listGaps(toSessionFolder(config)) : [])
    log.warn({ gap }, 'files of strangers are not kept apart from this worker');
  const [queueNames, jobs] = [queues, app.background.jobs].map((works) => works.map(({ name }) => name));
  log.info({ slot: slot.slot, epoch: slot.epoch, queues: queueNames, jobs }, 'worker started');
  process.send?.('started'); // only if `plinth dev` started this process
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
  log.info('stopping');
  await worker.stop();
  await app.close();
}

/** Aborts on SIGTERM or SIGINT, or when the parent process exits. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(signal, () => controller.abort());
  return controller.signal;
}

async function serveMetrics(app: App, { WORKER_METRICS_PORT, METRICS_TOKEN, HOST }: Config, log: Log): Promise<void> {
  if (WORKER_METRICS_PORT === undefined) return;
  const server = createServer(async (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    if (request.url === '/healthz') response.end('{"status":"ok"}');
    else if (request.url !== '/metrics' || METRICS_TOKEN === undefined) response.writeHead(404).end();
    else if (!isBearerToken(request.headers.authorization, METRICS_TOKEN)) response.writeHead(401).end();
    else response.end(await app.metrics.render());
  });
  server.listen(WORKER_METRICS_PORT, HOST);
  await once(server, 'listening').catch((error) => {
    throw explainListenFailure(error, HOST, WORKER_METRICS_PORT, 'WORKER_METRICS_PORT');
  });
  server.on('error', (error) => log.error({ error: describeError(error) }, 'metrics server failed'));
}
