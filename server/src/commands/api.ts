// `plinth api`, which serves requests until it receives a signal, and then finishes the requests in progress.

import { type App, type AppDeps, createApp } from '../app.ts';
import { type Config, readConfig } from '../config.ts';
import { createSetupToken } from '../core/identity/accounts.ts';
import { readMigrations } from '../kit/db/migrate.ts';
import { createLog, describeError, type Log } from '../kit/log.ts';
import { migrationsFolder } from '../release.ts';
import { explainFailure, explainListenFailure } from './failures.ts';

export async function api(): Promise<void> {
  await serve(readConfig());
}

/** Drills pass `overrides`. */
export async function serve(
  config: Config,
  log = createLog(config.LOG_LEVEL),
  overrides: Partial<AppDeps> = {},
): Promise<App> {
  const app = createApp(config, { ...overrides, log, migrations: await readMigrations(migrationsFolder) });
  stopOnSignal(app, log); // called before listening, so an early signal does not cut off requests
  const { HOST: host, PORT: port } = config;
  const address = await app.server.listen({ host, port }).catch((error) => {
    throw explainListenFailure(error, host, port, 'PORT');
  });
  log.info({ address }, 'listening');
  await printSetupToken(app, config, log);
  return app;
}

function stopOnSignal(app: App, log: Log): void {
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) process.exit(1); // exits immediately on a second signal
    stopping = true;
    log.info({ signal }, 'draining');
    await app.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal));
}

/**
 * Prints a setup token at each start until the first user exists. An unreachable database must not stop the process.
 */
async function printSetupToken(app: App, config: Config, log: Log): Promise<void> {
  if (config.PLINTH_SETUP_TOKEN !== undefined) return;
  try {
    const setupToken = await createSetupToken(app.database.db, config.TOKEN_PEPPERS[0], new Date());
    if (setupToken)
      log.info({ setup_token: setupToken }, 'not set up yet: open BASE_URL in a browser and enter this token');
  } catch (error) {
    const reason = explainFailure(error);
    log.warn(reason ? { reason } : { error: describeError(error) }, 'setup token not created');
  }
}
