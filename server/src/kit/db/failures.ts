// Classifies database errors by whether anything may have changed.

const statementTimeout = '57014';
const lockTimeout = '55P03';
const deadlock = '40P01';
const uniqueViolation = '23505';

// No connection was made, or PostgreSQL rolled the statement back.
const notStarted = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P03', // starting up
  '53300', // too many connections
  lockTimeout,
  statementTimeout,
  '40001', // serialisation failure
  deadlock,
  '25006', // read-only server
]);
// The socket broke, the server shut down (57P01, 57P02), or the server lost the connection (08…).
const connectionLost = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', '57P01', '57P02', '08006', '08003', '08000']);

const getCode = (error: unknown): string | undefined => (error as { code?: string }).code;

/** Whether the statement exceeded its time limit. Running it again would take just as long. */
export const isStatementTimeout = (error: unknown): boolean => getCode(error) === statementTimeout;

/** Whether the statement waited too long for a lock or ran too long. Other work is not affected. */
export const isLockOrStatementTimeout = (error: unknown): boolean =>
  isStatementTimeout(error) || getCode(error) === lockTimeout;

/** Whether the server cancelled the transaction, which changed nothing, and is otherwise as it was. */
export const isCancelled = (error: unknown): boolean => isLockOrStatementTimeout(error) || getCode(error) === deadlock;

/** Whether a row with the same key already exists. The transaction has failed, so nothing was changed. */
export const isUniqueViolation = (error: unknown): boolean => getCode(error) === uniqueViolation;

const refusals = new Set(['28000', '28P01', '3D000', '42501']);

/** Whether the role, its password, the database or a right of the role is not there. */
export const isRefusal = (error: unknown): boolean => refusals.has(getCode(error) ?? '');

/**
 * - `not_started`: nothing was changed.
 * - `connection_lost`: the commit may or may not have happened.
 * - undefined: any other error.
 */
export function classifyFailure(error: unknown): 'not_started' | 'connection_lost' | undefined {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code !== undefined && notStarted.has(code)) return 'not_started';
  if (/timeout exceeded when trying to connect|due to connection timeout/.test(message)) return 'not_started';
  if (code !== undefined && connectionLost.has(code)) return 'connection_lost';
  if (message.startsWith('Connection terminated') || message.includes('not queryable')) return 'connection_lost';
  return undefined;
}
