// What commands for back-ups have in common: the connection with the role that owns the tables, and the end of the command by
// a signal.
import { type Config, ConfigError } from '../../config.ts';
import { liftTimeLimits } from '../../core/backups/snapshot.ts';
import { mayRecord } from '../../core/backups/state.ts';
import { openDatabase } from '../../kit/db/database.ts';
import type { Db, Tables } from '../../tables.ts';
import { explainForOwner, migrateUrl } from '../migrate.ts';

/** Runs `work` on one connection without time limits. */
export async function withOwner<Result>(
  config: Config,
  work: (connection: Db) => Promise<Result>,
  url = migrateUrl(config),
): Promise<Result> {
  const { db, close } = openDatabase<Tables>({
    url,
    poolSize: 1,
    applicationName: 'plinth backup',
    silenceTimeoutMs: 0, // a query that reads whole tables sends nothing for minutes
  });
  try {
    return await db.connection().execute(async (connection) => {
      await liftTimeLimits(connection);
      return work(connection);
    });
  } catch (error) {
    throw explainForOwner(error, config);
  } finally {
    await close();
  }
}

/** Runs `work` with a signal that is aborted when the process is told to end, so it can remove what is not complete. */
export async function untilInterrupted<Result>(
  outcome: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new ConfigError(`Interrupted. ${outcome}`));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    stop.signal.throwIfAborted();
    throw error;
  } finally {
    for (const name of signals) process.off(name, onSignal);
  }
}

/** Throws a ConfigError if the connection's role is the run role. It reads all tables, but can't record a back-up. */
export async function requireOwner(db: Db): Promise<void> {
  const { role, may } = await mayRecord(db);
  if (!may)
    throw new ConfigError(
      `The role "${role}" does not own the tables. Set MIGRATE_DATABASE_URL to a URL with the role that does: docs/operate/install.md#two-database-roles.`,
    );
}
