// Owns `plinth api`: serves until a signal asks it to stop, then finishes the requests in progress.

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

/** `overrides`: for drills. */
export async function serve(
  config: Config,
  log = createLog(config.LOG_LEVEL),
  overrides: Partial<AppDeps> = {},
): Promise<App> {
  const app = createApp(config, { ...overrides, log, migrations: await readMigrations(migrationsFolder) });
  stopOnSignal(app, log); // before listening, so that no request is cut off by an early signal
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
    if (stopping) process.exit(1); // a second signal exits immediately
    stopping = true;
    log.info({ signal }, 'draining');
    await app.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal));
}

/** Until the first user exists, each start prints a set-up token. A missing database must not stop the process. */
async function printSetupToken(app: App, config: Config, log: Log): Promise<void> {
  if (config.PLINTH_SETUP_TOKEN !== undefined) return;
  try {
    const setupToken = await createSetupToken(app.database.db, config.TOKEN_PEPPERS[0], new Date());
    if (setupToken) log.info({ setup_token: setupToken }, 'not set up yet: send this token to POST /api/setup');
  } catch (error) {
    const reason = explainFailure(error);
    log.warn(reason ? { reason } : { error: describeError(error) }, 'set-up token not created');
  }
}
