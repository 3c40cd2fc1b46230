// What the client throws. Every refusal of the server, and every failure to reach it, is a PlinthError, which programs
// narrow by its code.
import type { ProblemCodes } from './generated/codes.ts';
import { findOperation } from './operation.ts';

/**
 * The codes of the client itself. `unreachable`: no whole answer arrived. `timeout`: none arrived in time.
 * `unexpected_answer`: something else than Plinth answered, such as a proxy. `operation_not_on_server`: the server is
 * older or newer than the client. `notes_refused`: `onNotes` is `throw` and there are notes. `cursor_reset`: a list
 * began again in the middle.
 */
export type OwnCode =
  | 'validation'
  | 'unreachable'
  | 'timeout'
  | 'unexpected_answer'
  | 'operation_not_on_server'
  | 'notes_refused'
  | 'cursor_reset';

export type Code = keyof ProblemCodes | OwnCode;

/** The members of a problem with this code. A misspelt member does not compile. */
export type Details<C extends string> = string extends C
  ? Readonly<Record<string, unknown>>
  : C extends keyof ProblemCodes
    ? Readonly<ProblemCodes[C]>
    : Readonly<Record<never, never>>;

/** An error for each of the codes, so that looking at the code narrows the details. */
export type Refusal<C extends string> = C extends string ? PlinthError<C> : never;

/** A part of the request that is not valid. */
export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

interface ErrorFields {
  readonly code: string;
  readonly operation: string;
  readonly message: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retrySafe?: boolean | undefined;
  readonly outcomeUnknown?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly faults?: readonly Fault[] | undefined;
  readonly cause?: unknown;
}

export class PlinthError<C extends string = string> extends Error {
  /** A stable code. Decide by it. */
  readonly code: C;
  /** The HTTP status. Undefined if there was no answer. */
  readonly status: number | undefined;
  readonly operation: string;
  readonly requestId: string | undefined;
  /** Whether the same request can be sent again without a second effect. */
  readonly retrySafe: boolean;
  /** Whether the request may have taken effect although it failed. Look before you send it again. */
  readonly outcomeUnknown: boolean;
  readonly retryAfterSeconds: number | undefined;
  /** The members that problems with this code have. */
  readonly details: Details<C>;
  /** The parts of the request that are not valid; empty unless the code is `validation`. */
  readonly faults: readonly Fault[];

  constructor({ message, cause, ...fields }: ErrorFields & { readonly code: C }) {
    super(`${fields.operation}: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'PlinthError';
    this.code = fields.code;
    this.status = fields.status;
    this.operation = fields.operation;
    this.requestId = fields.requestId;
    this.retrySafe = fields.retrySafe ?? false;
    this.outcomeUnknown = fields.outcomeUnknown ?? false;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.details = (fields.details ?? {}) as Details<C>;
    this.faults = fields.faults ?? [];
  }
}

/** Whether the error is one of Plinth's, and has one of the codes if any are named. */
export function isPlinthError(error: unknown): error is PlinthError;
export function isPlinthError<C extends Code>(error: unknown, ...codes: readonly [C, ...C[]]): error is Refusal<C>;
export function isPlinthError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof PlinthError && (codes.length === 0 || codes.includes(error.code));
}

const problemMembers = new Set(['type', 'title', 'status', 'detail', 'code', 'request_id', 'retry_safe']);

export interface ErrorSource {
  readonly operation: string;
  readonly status: number;
  readonly requestId: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Turns the body of a problem or of a 422 into an error. Returns undefined if it is neither. */
export function toError(body: unknown, about: ErrorSource): PlinthError | undefined {
  if (typeof body !== 'object' || body === null || !('code' in body)) return undefined;
  const { code, detail, request_id, retry_safe } = body as Record<string, unknown>;
  const faults = Array.isArray(detail) ? (detail as Fault[]) : undefined;
  const isUnknownHere = code === 'route_not_found' && !findOperation(about.operation)?.has('u');
  return new PlinthError({
    ...about,
    code: isUnknownHere ? 'operation_not_on_server' : String(code),
    message: isUnknownHere
      ? 'The server does not have this operation. Compare the versions with `serverInfo`.'
      : faults
        ? `The request is not valid: ${faults.map(({ loc, msg }) => `${loc.join('.')} ${msg}`).join('; ')}`
        : String(detail),
    requestId: typeof request_id === 'string' ? request_id : about.requestId,
    retrySafe: retry_safe === true,
    details: Object.fromEntries(Object.entries(body).filter(([member]) => !problemMembers.has(member))),
    faults,
  });
}

/** The same error, about an outcome that an earlier attempt left unknown. */
export const withUnknownOutcome = (error: PlinthError): PlinthError =>
  new PlinthError({
    ...error,
    message: error.message.slice(error.operation.length + 2),
    cause: error.cause,
    outcomeUnknown: true,
  });
