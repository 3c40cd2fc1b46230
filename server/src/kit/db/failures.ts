// Owns the reading of database errors: did the work never begin, or was it cut short with its outcome unknown?

// Could not connect, too many connections, starting up, or given up by the server before any effect could last.
const notBegun = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P03',
  '53300',
  '55P03',
  '57014',
  '40001',
  '40P01',
  '25006',
]);
const cutShort = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', '57P01', '57P02', '08006', '08003', '08000']);

const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code;

/** A statement was given up because it took too long: it would only take as long again. */
export const isStatementTimeout = (error: unknown): boolean => codeOf(error) === '57014';

/** Somebody holds what it needs, or it took too long: others that ran beside it need not wait for that. */
export const isLockOrStatementTimeout = (error: unknown): boolean =>
  isStatementTimeout(error) || codeOf(error) === '55P03';

/**
 * `not_begun`: nothing was changed, and it is honest to say so.
 * `cut_short`: the connection was lost on the way; a commit may or may not have happened.
 */
export function classifyFailure(error: unknown): 'not_begun' | 'cut_short' | undefined {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code !== undefined && notBegun.has(code)) return 'not_begun';
  if (/timeout exceeded when trying to connect|due to connection timeout/.test(message)) return 'not_begun';
  if (code !== undefined && cutShort.has(code)) return 'cut_short';
  if (message.startsWith('Connection terminated') || message.includes('not queryable')) return 'cut_short';
  return undefined;
}
