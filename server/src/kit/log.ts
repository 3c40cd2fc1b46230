// The log, which has one line of JSON per request and per error. It never contains bodies, tokens or query values.
import { type DestinationStream, type Logger, pino } from 'pino';
import { classifyFailure, isLockOrStatementTimeout } from './db/failures.ts';

export type Log = Logger;

/** What a disk without space keeps from being written is dropped beyond this. */
const maxUnwrittenBytes = 1_000_000;

/**
 * Each line is written before the process continues, so none is lost if it crashes. If whoever reads the log has ended,
 * the process does its work without one. By default, pino would end it, or try the last line again without end.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: maxUnwrittenBytes });
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || code === 'ECONNRESET') output.write = () => true;
  });
  return output;
}

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Our own code does not log these fields. They are removed in case a library does.
    redact: { paths: ['*.authorization', '*.api_key', '*.cookie', '*.password', '*.token', '*.secret'], remove: true },
  };
  return pino(options, destination ?? standardOutput());
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
