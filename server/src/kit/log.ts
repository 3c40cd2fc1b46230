// Owns the log: JSON lines, one per request, and one per failure. Never bodies, tokens or query values.
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    // A second fence: nothing of ours logs these, and a library that would is cut here.
    redact: { paths: ['*.authorization', '*.api_key', '*.cookie', '*.password', '*.token', '*.secret'], remove: true },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** An error as the log may hold it: no statement parameters, no request. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = (error as { code?: unknown }).code;
  return { name, message, ...(typeof code === 'string' && { code }), stack };
}
