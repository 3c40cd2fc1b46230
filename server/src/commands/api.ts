// `plinth api`, which serves requests until it receives a signal, and then finishes the requests in progress.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type App, type AppDeps, createApp } from '../app.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { createSetupToken } from '../core/identity/accounts.ts';
import { readMigrations } from '../kit/db/migrate.ts';
import { createLog, type Log } from '../kit/log.ts';
import { consoleFolder, migrationsFolder } from '../release.ts';
import { explainListenFailure, toReason } from './failures.ts';
import { requireSoundStart } from './start-checks.ts';

export async function api(): Promise<void> {
  await serve(readConfig());
}

/** Drills pass `overrides`. */
export async function serve(
  config: Config,
  log = createLog(config.LOG_LEVEL),
  overrides: Partial<AppDeps> = {},
): Promise<App> {
  let isStartChecked = false;
  const app = createApp(config, {
    isStartChecked: () => isStartChecked,
    ...(config.CONSOLE === 'on' && { consoleFolder }),
    ...overrides,
    log,
    migrations: await readMigrations(migrationsFolder),
  });
  stopOnSignal(app, log); // called before listening, so an early signal does not cut off requests
  await checkStart(app, config, log, () => {
    isStartChecked = true;
  });
  const { HOST: host, PORT: port } = config;
  const address = await app.server.listen({ host, port }).catch((error) => {
    throw explainListenFailure(error, host, port, 'PORT');
  });
  log.info({ address }, 'listening');
  await listenInternally(app, config, log);
  await printSetupToken(app, config, log);
  return app;
}

/** Never on the public port: the answers say which apps exist, and there is no limit on who may ask. */
async function listenInternally({ internalServer }: App, config: Config, log: Log): Promise<void> {
  const { INTERNAL_HOST: host, INTERNAL_PORT: port } = config;
  if (port === undefined) return;
  internalServer.listen(port, host);
  await once(internalServer, 'listening').catch((error) => {
    throw explainListenFailure(error, host, port, 'INTERNAL_PORT', 'INTERNAL_HOST');
  });
  log.info({ internal_address: internalServer.address() }, 'listening for the proxy');
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

const recheckMs = 1_000;

/**
 * An unreachable database, or one without tables, must not stop the process, which answers 503 meanwhile. It is checked
 * until it can be, and the process is not ready until then.
 */
async function checkStart(app: App, config: Config, log: Log, onChecked: () => void): Promise<void> {
  const check = () => requireSoundStart(app.database, config).then(onChecked);
  try {
    await check();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    log.warn(toReason(error), 'the database could not be checked yet');
    void checkUntilPossible(check, log);
  }
}

async function checkUntilPossible(check: () => Promise<void>, log: Log): Promise<void> {
  for (;;) {
    await sleep(recheckMs, undefined, { ref: false });
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof ConfigError)) continue;
      log.fatal({ reason: error.message }, 'stopped, because the database or the keys are not suitable');
      process.exit(1);
    }
  }
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
    log.warn(toReason(error), 'setup token not created');
  }
}
