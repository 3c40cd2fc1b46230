// Owns the error of a turn that can't go on.
import type { ErrorCode } from './session.ts';

/** Thrown by whatever finds that the turn can't go on. The message says to the person what happened and what to do next. */
export class SessionFault extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
