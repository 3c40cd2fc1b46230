// plinth api: serve until told to stop, then finish what is under way.

import { type App, createApp, migrationsFolder } from '../app.ts';
import { type Config, readConfig } from '../config.ts';
import type { Pepper } from '../core/auth/tokens.ts';
import { createSetupToken } from '../core/identity/accounts.ts';
import { readMigrations } from '../kit/db/migrate.ts';
import { createLog, describeError, type Log } from '../kit/log.ts';

export async function api(): Promise<void> {
  await serve(readConfig());
}

export async function serve(config: Config): Promise<App> {
  const log = createLog(config.LOG_LEVEL);
  const app = createApp(config, { log, migrations: await readMigrations(migrationsFolder) });
  stopOnSignal(app, log); // before the first request can come
  const address = await app.server.listen({ host: config.HOST, port: config.PORT });
  log.info({ address }, 'listening');
  await printSetupToken(app, config, log);
  return app;
}

function stopOnSignal(app: App, log: Log): void {
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) process.exit(1); // asked twice: at once
    stopping = true;
    log.info({ signal }, 'draining');
    await app.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal));
}

/** Printed once per start while there is nobody yet. A database that is not there yet must not end the process. */
async function printSetupToken(app: App, config: Config, log: Log): Promise<void> {
  if (config.PLINTH_SETUP_TOKEN !== undefined) return;
  try {
    const setupToken = await createSetupToken(app.database.db, config.TOKEN_PEPPERS[0] as Pepper, new Date());
    if (setupToken) log.info({ setup_token: setupToken }, 'not set up yet: POST /api/setup with this token');
  } catch (error) {
    log.warn({ error: describeError(error) }, 'no set-up token could be made: is the database migrated?');
  }
}
