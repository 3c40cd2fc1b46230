// The error that ends a turn.
import type { ErrorCode } from '../session/session.ts';

/** Thrown when the turn can't continue. The message tells the user what happened and what to do next. */
export class SessionFault extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
