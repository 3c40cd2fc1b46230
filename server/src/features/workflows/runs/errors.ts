// Owns the errors of a run (docs/api/workflows.md#errors): those that a definition can catch, and those that end the run.
import { toStorableText } from '../../../kit/text.ts';
import type { ErrorType } from '../definition/model.ts';

/** An error as definitions and readers see it: `$error`, and the `error` of a step. */
export interface TaskError {
  /** One of ours, or any text that a `raise` chose. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

/** What happened technically. Kept with a failed run, for classifying it. */
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

/** The columns `failure` of a failed run. */
export interface Failure extends TaskError {
  readonly cause?: FailureCause;
  /** The code of the platform's own refusal, such as `unique_conflict`. */
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

/** A task failed. A `try` around it may catch this. */
export class TaskFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = toStorableFailure(failure);
  }
}

/** What endpoints answer and what definitions raise may have characters that PostgreSQL refuses. */
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

/** Why a run ends although no task failed in a way that could be caught. */
export type StopReason = 'insufficient_credits' | 'timeout' | 'step_limit';

/** The run has to end. Nothing catches this. */
export class RunStopped extends Error {
  readonly reason: StopReason;
  readonly failure: Failure;

  constructor(reason: StopReason, failure: Failure) {
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

/** The run is no longer this worker's: another one has claimed it, or it was removed. */
export class ClaimLost extends Error {
  constructor() {
    super('the run is no longer claimed by this worker');
  }
}
