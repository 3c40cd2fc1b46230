// Owns the classification of database errors: did the work never start, or is its outcome unknown?

const statementTimeout = '57014';
const lockTimeout = '55P03';

// No connection was made, or PostgreSQL rolled the statement back.
const notStarted = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P03', // starting up
  '53300', // too many connections
  lockTimeout,
  statementTimeout,
  '40001', // serialization failure
  '40P01', // deadlock
  '25006', // read-only server
]);
// The socket broke, or the server shut down (57P01, 57P02) or lost the connection (08…).
const connectionLost = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', '57P01', '57P02', '08006', '08003', '08000']);

const getCode = (error: unknown): string | undefined => (error as { code?: string }).code;

/** The statement exceeded its time limit. It would take as long again. */
export const isStatementTimeout = (error: unknown): boolean => getCode(error) === statementTimeout;

/** The statement waited too long for a lock, or ran too long. Work beside it need not wait. */
export const isLockOrStatementTimeout = (error: unknown): boolean =>
  isStatementTimeout(error) || getCode(error) === lockTimeout;

/**
 * `not_started`: nothing was changed.
 * `connection_lost`: a commit may or may not have happened.
 * undefined: another error.
 */
export function classifyFailure(error: unknown): 'not_started' | 'connection_lost' | undefined {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code !== undefined && notStarted.has(code)) return 'not_started';
  if (/timeout exceeded when trying to connect|due to connection timeout/.test(message)) return 'not_started';
  if (code !== undefined && connectionLost.has(code)) return 'connection_lost';
  if (message.startsWith('Connection terminated') || message.includes('not queryable')) return 'connection_lost';
  return undefined;
}
