// Owns the log: JSON lines, one per request and one per error. It never contains bodies, tokens or query values.
import { type DestinationStream, type Logger, pino } from 'pino';
import { classifyFailure, isLockOrStatementTimeout } from './db/failures.ts';

export type Log = Logger;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Our code does not log these. This removes them if a library does.
    redact: { paths: ['*.authorization', '*.api_key', '*.cookie', '*.password', '*.token', '*.secret'], remove: true },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** The fields of an error that may be logged: no statement parameters, no request. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = (error as { code?: unknown }).code;
  // That the database is unavailable says everything. Where it was needed does not matter.
  const isUnavailable = classifyFailure(error) !== undefined && !isLockOrStatementTimeout(error);
  return { name, message, ...(typeof code === 'string' && { code }), ...(!isUnavailable && { stack }) };
}
