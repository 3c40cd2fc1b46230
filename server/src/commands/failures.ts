// Owns what the command line says about failures that an operator can mend: a sentence instead of a stack trace.
import { ConfigError } from '../config.ts';
import { classifyFailure } from '../kit/db/failures.ts';
import { MigrationError } from '../kit/db/migrate.ts';

interface Failure {
  readonly code?: string;
  readonly message: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  /** One per address, if a host name has several. */
  readonly errors?: readonly Failure[];
}

/** Says what happened and what to do next. Undefined for anything unexpected, whose stack trace is needed. */
export function explainFailure(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof MigrationError) return error.message;
  if (!(error instanceof Error)) return undefined;
  const failure: Failure = error;
  const explain = explanations[failure.code ?? ''];
  if (explain !== undefined) return explain(failure);
  return classifyFailure(error) === undefined ? undefined : unreachable(failure);
}

const unreachable = (failure: Failure): string => {
  const { address, port } = failure.errors?.[0] ?? failure;
  const place = address === undefined ? '' : ` at ${address}:${port}`;
  const reason = failure.code ?? failure.message;
  return `PostgreSQL can't be reached${place} (${reason}). Start it, or correct DATABASE_URL.`;
};

const unresolved = ({ hostname, code }: Failure): string =>
  `The host ${hostname} of DATABASE_URL has no address (${code}). Correct the name.`;

const refused = ({ message }: Failure): string =>
  `PostgreSQL refused the role of DATABASE_URL: ${message}. Correct its name or its password.`;

const notMigrated = ({ message }: Failure): string =>
  `The database does not have the tables of this release (${message}). Run: plinth migrate`;

// The codes are Node's and PostgreSQL's.
const explanations: Readonly<Record<string, (failure: Failure) => string>> = {
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  '3D000': ({ message }) =>
    `PostgreSQL has no such database: ${message}. Create it with createdb, or correct DATABASE_URL.`,
  '28000': refused,
  '28P01': refused,
  '42P01': notMigrated,
  '42703': notMigrated,
  '3F000': notMigrated,
};

/** Explains why a process can't listen at its address. `setting` names the setting with the port. */
export function explainListenFailure(error: unknown, host: string, port: number, setting: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new ConfigError(
      `Port ${port} at ${host} is in use. Stop the process that uses it, or set ${setting} to another port.`,
    );
  if (code === 'EACCES')
    return new ConfigError(`This user may not listen on port ${port}. Set ${setting} to a port above 1023.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new ConfigError(`${host} is not an address of this machine. Correct HOST.`);
  return error;
}
