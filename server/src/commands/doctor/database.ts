// Checks PostgreSQL and what is read from it: migrations, the rights of the roles, workers and the clock. All checks share
// a pool of connections.
import pg from 'pg';
import { readBackupState } from '../../core/backups/state.ts';
import { isWorkerSeen } from '../../kit/background/metrics.ts';
import { type Database, openDatabase } from '../../kit/db/database.ts';
import { listPendingMigrations, MigrationError, readMigrations } from '../../kit/db/migrate.ts';
import { migrationsFolder } from '../../release.ts';
import type { Tables } from '../../tables.ts';
import { explainFailure } from '../failures.ts';
import { listKeyFaults } from '../known-keys.ts';
import { readRoleState } from '../run-role.ts';
import { inspectDatabase } from '../start-checks.ts';
import {
  broken,
  type Check,
  type CheckContext,
  type CheckResult,
  describeReason,
  InvalidSetting,
  missing,
  notConfigured,
  readSetting,
  works,
} from './check.ts';
import { checkSecrets } from './secrets.ts';

const connectMs = 4_000;
const maxConnections = 4;
/** Signed requests to other services are refused if the clocks differ by about a minute. */
const maxClockDifferenceMs = 5_000;

export function createDatabaseChecks(): readonly Check[] {
  let connecting: Promise<OpenDatabase> | undefined;
  const connect = async (context: CheckContext): Promise<OpenDatabase> => {
    connecting ??= openAndConnect(readSetting(context, 'DATABASE_URL'));
    return connecting;
  };

  /** A check that needs a working connection. The check of the database explains why there is none. */
  const onDatabase = (
    part: string,
    check: (database: OpenDatabase, context: CheckContext) => Promise<CheckResult>,
  ): Check => ({
    part,
    async run(context) {
      const database = await connect(context).catch(() => undefined);
      if (database === undefined)
        return { ...broken('This could not be checked, because the database does not work.'), because: 'database' };
      return check(database, context);
    },
  });

  return [
    { part: 'database', run: async (context) => checkConnection(context, () => connect(context)) },
    onDatabase('migrations', checkMigrations),
    onDatabase('database roles', checkRoles),
    onDatabase('encrypted secrets', checkEncrypted),
    onDatabase('worker', checkWorker),
    onDatabase('clock', checkClock),
    onDatabase('backups', checkBackups),
  ];
}

type OpenDatabase = Database<Tables>;

async function openAndConnect(url: string): Promise<OpenDatabase> {
  const applicationName = 'plinth doctor';
  const database = openDatabase<Tables>({
    url,
    poolSize: maxConnections,
    acquireTimeoutMs: connectMs,
    applicationName,
  });
  try {
    await database.pool.query('select 1');
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function checkConnection(context: CheckContext, connect: () => Promise<OpenDatabase>): Promise<CheckResult> {
  try {
    const { pool } = await connect();
    const { host, port } = new pg.Client(readSetting(context, 'DATABASE_URL'));
    const { server, faults } = await inspectDatabase(pool);
    const found = `PostgreSQL ${server.version.split(' ')[0]} at ${host}:${port}, database "${server.database}".`;
    return faults.length === 0 ? works(found) : broken([found, ...faults].join(' '));
  } catch (error) {
    if (error instanceof InvalidSetting) throw error;
    const explained = explainFailure(error);
    const message =
      explained === undefined
        ? `PostgreSQL does not answer: ${describeReason(error, context)}. Correct DATABASE_URL.`
        : context.redact(explained);
    // Without a setting, Plinth only assumes that there is a server on this machine.
    return context.isSet('DATABASE_URL') ? broken(message) : missing(`${message} DATABASE_URL is not set.`);
  }
}

async function checkMigrations({ pool }: OpenDatabase, context: CheckContext): Promise<CheckResult> {
  const migrations = await readMigrations(migrationsFolder);
  try {
    const pending = await listPendingMigrations(pool, migrations);
    if (pending.length > 0)
      return missing(
        `${pending.length} of ${migrations.length} are not applied, so requests answer 503. Run: npm run plinth -- migrate`,
      );
    return works(`All ${migrations.length} are applied.`);
  } catch (error) {
    const reason = describeReason(error, context);
    return broken(
      error instanceof MigrationError
        ? `${reason}.`
        : `They can't be read: ${reason}. Run "npm run plinth -- migrate", which grants the role of DATABASE_URL what it needs.`,
    );
  }
}

const rolesGuide = 'docs/operate/install.md#two-database-roles';

async function checkRoles({ pool }: OpenDatabase, context: CheckContext): Promise<CheckResult> {
  const owner = readSetting(context, 'MIGRATE_DATABASE_URL');
  if (owner !== undefined) {
    const fault = await findOwnerFault(owner, context);
    if (fault !== undefined) return broken(fault);
  }
  const { role, isUnlimited, missing: lacking, excess } = await readRoleState(pool);
  if (isUnlimited)
    return notConfigured(
      `"${role}" owns the tables and also runs the service, so whoever takes over a process can change tables and rewrite the audit log. Use two roles in production: ${rolesGuide}.`,
    );
  if (lacking.length > 0)
    return broken(
      `"${role}" lacks ${summarize(lacking)}. Run "npm run plinth -- migrate" with MIGRATE_DATABASE_URL, which grants it: ${rolesGuide}.`,
    );
  if (excess.length > 0)
    return broken(`"${role}" has more rights than it should: ${summarize(excess)}. Revoke them: ${rolesGuide}.`);
  return works(`"${role}" may change rows, but not tables or sealed audit entries.`);
}

/** Returns what is wrong with the owner's URL, if anything. */
async function findOwnerFault(url: string, context: CheckContext): Promise<string | undefined> {
  try {
    const owner = await openAndConnect(url);
    try {
      const { isUnlimited, role } = await readRoleState(owner.pool);
      return isUnlimited
        ? undefined
        : `"${role}" of MIGRATE_DATABASE_URL does not own the tables, so it can't migrate them: ${rolesGuide}.`;
    } finally {
      await owner.close();
    }
  } catch (error) {
    const reason = explainFailure(error, 'MIGRATE_DATABASE_URL');
    return context.redact(reason ?? `MIGRATE_DATABASE_URL does not work: ${describeReason(error, context)}.`);
  }
}

const summarize = (privileges: readonly string[]): string =>
  privileges.length <= 3
    ? privileges.join(', ')
    : `${privileges.slice(0, 3).join(', ')} and ${privileges.length - 3} more`;

async function checkEncrypted({ db }: OpenDatabase, context: CheckContext): Promise<CheckResult> {
  const keys = {
    MASTER_KEYS: readSetting(context, 'MASTER_KEYS'),
    TOKEN_PEPPERS: readSetting(context, 'TOKEN_PEPPERS'),
  };
  try {
    const checked = await checkSecrets(db, keys.MASTER_KEYS);
    const faults = checked.outcome === 'works' ? await listKeyFaults(db, keys) : [];
    return faults.length === 0 ? checked : broken(faults.join(' '));
  } catch (error) {
    const reason = explainFailure(error);
    return reason === undefined
      ? broken(`They can't be counted: ${describeReason(error, context)}.`)
      : { ...broken(context.redact(reason)), because: 'migrations' };
  }
}

const withoutWorker =
  'Agents do not reply, webhooks and mails are not sent, and exports are not written until one runs. Start one: npm run plinth -- worker';

async function checkWorker({ db }: OpenDatabase, context: CheckContext): Promise<CheckResult> {
  try {
    // The same question as that of /readyz and /metrics.
    return (await isWorkerSeen(db))
      ? works('At least one was seen in the last 30 seconds.')
      : missing(`None was seen in the last 30 seconds. ${withoutWorker}`);
  } catch (error) {
    const reason = explainFailure(error) ?? `Whether one runs can't be read: ${describeReason(error, context)}.`;
    return missing(context.redact(reason));
  }
}

async function checkClock({ pool }: OpenDatabase): Promise<CheckResult> {
  const before = Date.now();
  const { rows } = await pool.query<{ now: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now',
  );
  const after = Date.now();
  // The database read its clock at some time between the two readings of ours.
  const theirs = Number(rows[0]?.now);
  const difference = theirs < before ? before - theirs : theirs > after ? theirs - after : 0;
  const seconds = (difference / 1000).toFixed(1);
  if (difference <= maxClockDifferenceMs) return works(`It differs from the database's by ${seconds} seconds.`);
  const direction = theirs < before ? 'ahead of' : 'behind';
  return broken(
    `This machine's clock is ${seconds} seconds ${direction} the database's, so links and tokens expire at the wrong time and other services may refuse signed requests. Synchronise both machines with NTP.`,
  );
}

const backupGuide = 'docs/operate/backup.md';
const maxBackupAge = 26 * 60 * 60;
const maxVerifyAge = 8 * 24 * 60 * 60;

async function checkBackups({ db }: OpenDatabase, context: CheckContext): Promise<CheckResult> {
  const state = await readBackupState(db).catch((error) => describeReason(error, context));
  if (typeof state === 'string')
    return { ...broken(`When one was made can't be read: ${state}.`), because: 'migrations' };
  const { backup_name, backup_age, verify_age, failed_name, has_failed } = state;
  if (backup_age === null)
    return notConfigured(
      `"plinth backup" has made none of this database. See ${backupGuide}, unless other means make them.`,
    );
  const found = `The last one, ${backup_name}, is ${formatAge(backup_age)} old`;
  if (has_failed)
    return broken(
      `${found}, and ${failed_name} could not be restored when it was verified. Run: npm run plinth -- backup --verify`,
    );
  if (backup_age > maxBackupAge)
    return broken(`${found}. See whether the timer runs, and why the command fails: ${backupGuide}#every-night.`);
  if (verify_age === null) return works(`${found}. None was verified yet: npm run plinth -- backup --verify`);
  const verified = `${found}; one was verified ${formatAge(verify_age)} ago`;
  return verify_age > maxVerifyAge
    ? broken(`${verified}. See whether the timer runs: ${backupGuide}#every-night.`)
    : works(`${verified}.`);
}

const formatAge = (seconds: number): string =>
  seconds < 2 * 24 * 60 * 60 ? `${(seconds / 3600).toFixed(1)} hours` : `${Math.floor(seconds / 86_400)} days`;
