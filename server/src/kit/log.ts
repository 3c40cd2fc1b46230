// The log, which has one line of JSON per request and per error. It never contains bodies, tokens or query values.
import { type DestinationStream, type Logger, pino } from 'pino';
import { classifyFailure, isLockOrStatementTimeout } from './db/failures.ts';

export type Log = Logger;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Our own code does not log these fields. They are removed in case a library does.
    redact: { paths: ['*.authorization', '*.api_key', '*.cookie', '*.password', '*.token', '*.secret'], remove: true },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Returns the error's fields that may be logged. Omits statement parameters and the request. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = (error as { code?: unknown }).code;
  // If the database is unavailable, the stack is omitted, because the code that needed the database is irrelevant.
  const isUnavailable = classifyFailure(error) !== undefined && !isLockOrStatementTimeout(error);
  return { name, message, ...(typeof code === 'string' && { code }), ...(!isUnavailable && { stack }) };
}
