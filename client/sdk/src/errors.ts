// What the client throws. Every refusal of the server, and every failure to reach it, is a PlinthError, which programs
// narrow by its code.
import type { ProblemCodes } from './generated/codes.ts';
import type { EntityRecord } from './generated/schemas.ts';
import { findOperation } from './operation.ts';

/**
 * The codes of the client itself. `unreachable`: no whole answer arrived. `timeout`: none arrived in time.
 * `unexpected_answer`: something else than Plinth answered, such as a proxy. `operation_not_on_server`: the server is
 * older or newer than the client. `notes_refused`: `onNotes` is `throw` and there are notes. `cursor_reset`: a list
 * began again in the middle. `aborted`: your `signal` ended `createMany`; the `progress` says how far it came.
 */
export type OwnCode =
  | 'validation'
  | 'unreachable'
  | 'timeout'
  | 'unexpected_answer'
  | 'operation_not_on_server'
  | 'notes_refused'
  | 'cursor_reset'
  | 'aborted';

export type Code = keyof ProblemCodes | OwnCode;

/** The members of a problem with this code. A misspelt member does not compile. */
export type Details<C extends string> = string extends C
  ? Readonly<Record<string, unknown>>
  : C extends keyof ProblemCodes
    ? Readonly<ProblemCodes[C]>
    : Readonly<Record<never, never>>;

/** An error for each of the codes: comparing the code narrows the details. */
export type Refusal<C extends string> = C extends string ? PlinthError<C> : never;

/** A part of the request that is not valid. */
export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** How far `createMany` came. Called again with the same records and this key, it continues. */
export interface Progress {
  readonly key: string;
  readonly created: readonly (EntityRecord | null)[];
}

interface ErrorFields {
  readonly code: string;
  readonly operation: string;
  readonly message: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retrySafe?: boolean | undefined;
  readonly outcomeUnknown?: boolean | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly progress?: Progress | undefined;
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
  /** Whether the same request can be sent again without a second effect, with the same `idempotencyKey` if it had one. */
  readonly retrySafe: boolean;
  /** Whether the request may have taken effect although it failed. Look before you send it again. */
  readonly outcomeUnknown: boolean;
  /** The key of the request, even if the client chose it. Pass it to repeat the call. */
  readonly idempotencyKey: string | undefined;
  readonly progress: Progress | undefined;
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
    this.idempotencyKey = fields.idempotencyKey;
    this.progress = fields.progress;
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
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, detail, request_id, retry_safe } = body as Record<string, unknown>;
  // Gateways answer with codes too. Only Plinth's problems also have the id of the request.
  if (typeof code !== 'string' || typeof request_id !== 'string') return undefined;
  const faults = Array.isArray(detail) ? (detail as Fault[]) : undefined;
  const isUnknownHere = code === 'route_not_found' && !findOperation(about.operation)?.has('u');
  return new PlinthError({
    ...about,
    code: isUnknownHere ? 'operation_not_on_server' : code,
    message: isUnknownHere
      ? 'The server does not have this operation. Compare the versions with `serverInfo`.'
      : faults
        ? `The request is not valid: ${faults.map(({ loc, msg }) => `${loc.join('.')} ${msg}`).join('; ')}`
        : String(detail),
    requestId: request_id,
    retrySafe: retry_safe === true,
    details: Object.fromEntries(Object.entries(body).filter(([member]) => !problemMembers.has(member))),
    faults,
  });
}

/** The same error, with what is known about the whole call. */
export const withOutcome = (
  error: PlinthError,
  known: Pick<ErrorFields, 'outcomeUnknown' | 'idempotencyKey' | 'progress'>,
): PlinthError =>
  new PlinthError({
    ...error,
    message: error.message.slice(error.operation.length + 2),
    cause: error.cause,
    ...known,
  });
