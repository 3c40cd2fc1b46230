// The command line's messages about failures that an operator can fix. They are sentences instead of stack traces.
import pg from 'pg';
import { ConfigError, readDatabaseUrl } from '../config.ts';
import { classifyFailure } from '../kit/db/failures.ts';
import { MigrationError } from '../kit/db/migrate.ts';
import { describeError } from '../kit/log.ts';

interface Failure {
  readonly code?: string;
  readonly message: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  /** One failure per address, if a host name has several. */
  readonly errors?: readonly Failure[];
}

/** The setting with the URL that was used. */
type UrlSetting = 'DATABASE_URL' | 'MIGRATE_DATABASE_URL';

/** Explains the failure and what to do about it. Undefined for unexpected errors, whose stack traces are needed. */
export function explainFailure(error: unknown, setting: UrlSetting = 'DATABASE_URL'): string | undefined {
  if (error instanceof ConfigError || error instanceof MigrationError) return error.message;
  if (!(error instanceof Error)) return undefined;
  const failure: Failure = error;
  const explain = explanations[failure.code ?? ''];
  if (explain !== undefined) return explain(failure, setting);
  return classifyFailure(error) === undefined ? undefined : unreachable(failure, setting);
}

/** Throws a ConfigError that says all that is wrong, if anything is. */
export function refuseFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
}

/** For a log: a sentence for failures that an operator can fix, and the stack trace for all others. */
export function toReason(error: unknown): object {
  const reason = explainFailure(error);
  return reason === undefined ? { error: describeError(error) } : { reason };
}

const unreachable = (failure: Failure, setting: UrlSetting): string => {
  const { address, port } = failure.errors?.[0] ?? failure;
  const place = address === undefined ? '' : ` at ${address}:${port}`;
  const reason = failure.code ?? failure.message;
  return `PostgreSQL can't be reached${place} (${reason}). Start it, or correct ${setting}.`;
};

const unresolved = ({ hostname, code }: Failure, setting: UrlSetting): string =>
  `The host ${hostname} in ${setting} could not be resolved (${code}). Correct the host name.`;

const refused = ({ message }: Failure, setting: UrlSetting): string =>
  `PostgreSQL refused the role in ${setting}: ${message}. Correct its name or password.`;

const notMigrated = ({ message }: Failure): string =>
  `The database doesn't have this release's tables (${message}). Run: npm run plinth -- migrate`;

const notAllowed = ({ message }: Failure): string =>
  `PostgreSQL refused a statement (${message}). Run "npm run plinth -- migrate", which grants the role in DATABASE_URL what it needs: docs/operate/install.md#two-database-roles`;

// The error codes are from Node and PostgreSQL.
const explanations: Readonly<Record<string, (failure: Failure, setting: UrlSetting) => string>> = {
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  '3D000': ({ message }, setting) =>
    `PostgreSQL has no such database: ${message}. Create it with "${formatDatabaseCommand('createdb', readDatabaseUrl(setting))}", or correct ${setting}.`,
  '25006': ({ message }, setting) =>
    `PostgreSQL is read-only (${message}), as a standby is. Set ${setting} to the address of the primary.`,
  '28000': refused,
  '28P01': refused,
  '42501': notAllowed,
  '42P01': notMigrated,
  '42703': notMigrated,
  '3F000': notMigrated,
  '55P03': ({ message }) =>
    `Something else in PostgreSQL holds a lock that this needs (${message}). Try again, and see which session holds it if this happens again.`,
};

/**
 * The command line of PostgreSQL's `createdb` or `dropdb`. They would otherwise use the local socket and the name of the
 * operating system's user, which is another role than the URL's. They ask for the password.
 */
export function formatDatabaseCommand(program: 'createdb' | 'dropdb', url: string): string {
  const { host, port, user, database } = new pg.Client(url);
  return `${program} -h ${host} -p ${port} -U ${user} ${database}`;
}

/** Explains why a process can't listen at its address. `setting` is the name of the port's setting. */
export function explainListenFailure(
  error: unknown,
  host: string,
  port: number,
  setting: string,
  hostSetting = 'HOST',
): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new ConfigError(
      `Port ${port} at ${host} is in use. Stop the process that uses it, or set ${setting} to another port.`,
    );
  if (code === 'EACCES')
    return new ConfigError(`This user is not allowed to listen on port ${port}. Set ${setting} to a port above 1023.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new ConfigError(`${host} is not an address of this machine. Correct ${hostSetting}.`);
  return error;
}
