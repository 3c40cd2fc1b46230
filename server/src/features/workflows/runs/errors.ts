// A run's errors (docs/api/workflows.md#errors): those that a definition can catch, and those that end the run.
import { toStorableText } from '../../../kit/text.ts';
import type { ErrorType } from '../definition/model.ts';

/** An error as definitions and users see it, in `$error` and in a step's `error`. */
export interface TaskError {
  /** One of our types, or any string specified by a `raise`. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

/** The technical cause, which is stored with a failed run and used to classify it. */
export type FailureCause =
  | 'dns'
  | 'tls'
  | 'refused'
  | 'reset'
  | 'timeout'
  | 'protocol'
  | 'too_large'
  | 'address'
  | 'status'
  | 'entity_rule'
  | 'model'
  | 'raised';

/** A failed run's `failure` column. */
export interface Failure extends TaskError {
  readonly cause?: FailureCause;
  /** The platform's error code, such as `unique_conflict`. */
  readonly code?: string;
}

const defaults: Readonly<Record<ErrorType, { title: string; status: number }>> = {
  configuration: { title: 'Configuration error', status: 400 },
  validation: { title: 'Validation error', status: 400 },
  expression: { title: 'Expression error', status: 400 },
  authentication: { title: 'Authentication error', status: 401 },
  authorization: { title: 'Authorization error', status: 403 },
  timeout: { title: 'Timeout error', status: 408 },
  communication: { title: 'Communication error', status: 500 },
  runtime: { title: 'Runtime error', status: 500 },
};

/** Thrown when a task fails. An enclosing `try` may catch it. */
export class TaskFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = toStorableFailure(failure);
  }
}

/** Endpoint responses and raised errors may contain characters that PostgreSQL rejects. */
export const toStorableFailure = (failure: Failure): Failure => ({
  ...failure,
  type: toStorableText(failure.type),
  title: toStorableText(failure.title),
  detail: toStorableText(failure.detail),
});

export const fail = (
  type: ErrorType,
  detail: string,
  more: { readonly status?: number; readonly cause?: FailureCause; readonly code?: string } = {},
): TaskFailure => new TaskFailure({ type, ...defaults[type], detail, ...more });

export const titleOf = (type: string): string => defaults[type as ErrorType]?.title ?? type;

export const toTaskError = ({ type, title, status, detail }: Failure): TaskError => ({ type, title, status, detail });

/** Why a run ends without a failure that a `try` could catch. */
export type StopReason = 'insufficient_credits' | 'timeout' | 'step_limit';

/** Thrown when the run must end. No `try` catches it. */
export class RunStopped extends Error {
  /** Null if the failure says enough. */
  readonly reason: StopReason | null;
  readonly failure: Failure;

  constructor(reason: StopReason | null, failure: Failure) {
    super(failure.detail);
    this.reason = reason;
    this.failure = failure;
  }
}

export const stop = (reason: StopReason, detail: string, status: number): RunStopped =>
  new RunStopped(reason, {
    type: reason === 'timeout' ? 'timeout' : 'runtime',
    title: stopTitles[reason],
    status,
    detail,
  });

const stopTitles: Readonly<Record<StopReason, string>> = {
  insufficient_credits: 'Not enough credits',
  timeout: 'Timeout error',
  step_limit: 'Too many steps',
};

/** Thrown when this worker has lost its claim: another worker has claimed the run, or the run was removed. */
export class ClaimLost extends Error {
  constructor() {
    super('the run is no longer claimed by this worker');
  }
}
