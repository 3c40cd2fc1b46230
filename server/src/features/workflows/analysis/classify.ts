// Owns the class of a failure (docs/api/workflows.md#failure-classes): what kind of problem ended a run. It depends only on what
// the run recorded, so that it is the same at every call and needs no model.

export const failureClasses = [
  'timeout',
  'authentication',
  'authorization',
  'rate_limit',
  'not_found',
  'bad_request',
  'server_error',
  'network',
  'dns',
  'tls',
  'expression',
  'validation',
  'entity_rule',
  'credits',
  'step_limit',
  'unknown',
] as const;

export type FailureClass = (typeof failureClasses)[number];

/** What a failed run recorded about its failure. */
export interface FailedRun {
  readonly status_reason: string | null;
  readonly failure: RecordedFailure | null;
}

/** The error that ended the run. */
export interface RecordedFailure {
  /** The type of the error: one of ours, or what a `raise` chose. */
  readonly type: string;
  readonly status: number;
  /** What happened technically. */
  readonly cause?: string;
  /** The code of the platform's own refusal. */
  readonly code?: string;
}

/** The most specific fact decides: why the platform ended the run, its own refusal, what happened technically, the error's type. */
export function classifyFailure({ status_reason, failure }: FailedRun): FailureClass {
  const reason = status_reason === null ? undefined : classByReason.get(status_reason);
  if (reason !== undefined) return reason;
  if (failure === null) return 'unknown';
  const { type, cause, code } = failure;
  // Also one that took too long.
  if (type === 'expression') return 'expression';
  return (
    (code === undefined ? undefined : classByCode.get(code)) ??
    (cause === undefined ? undefined : classByCause.get(cause)) ??
    classByType.get(type) ??
    classifyRest(failure)
  );
}

const classByReason = new Map<string, FailureClass>([
  ['insufficient_credits', 'credits'],
  ['step_limit', 'step_limit'],
  ['timeout', 'timeout'],
]);

/** Refusals of the platform whose status does not say what they are about. */
const classByCode = new Map<string, FailureClass>([
  ['credits_exhausted', 'credits'],
  ['unique_conflict', 'validation'],
]);

const classByCause = new Map<string, FailureClass>([
  ['timeout', 'timeout'],
  ['dns', 'dns'],
  ['tls', 'tls'],
  ['refused', 'network'],
  ['reset', 'network'],
  ['protocol', 'network'],
  // The platform refuses the value or the address, whatever the other side would say.
  ['too_large', 'validation'],
  ['address', 'validation'],
  ['entity_rule', 'entity_rule'],
  ['model', 'server_error'],
]);

const classByType = new Map<string, FailureClass>([
  ['timeout', 'timeout'],
  ['authentication', 'authentication'],
  ['authorization', 'authorization'],
  ['validation', 'validation'],
]);

/** What the definition names may not exist; otherwise a fault of the definition is one of validation. */
function classifyRest(failure: RecordedFailure): FailureClass {
  const { type, status } = failure;
  if (type === 'configuration') return status === 404 ? 'not_found' : 'validation';
  return hasOwnStatus(failure) ? classifyStatus(status) : 'unknown';
}

/** An error of the type `runtime` has the status 500 without anybody having answered it. */
const hasOwnStatus = ({ type, status }: RecordedFailure): boolean => type !== 'runtime' || status !== 500;

function classifyStatus(status: number): FailureClass {
  const exact = classByStatus.get(status);
  if (exact !== undefined) return exact;
  if (status >= 500 && status <= 599) return 'server_error';
  // A redirect is not followed: the request went to the wrong address.
  return status >= 300 && status <= 499 ? 'bad_request' : 'unknown';
}

const classByStatus = new Map<number, FailureClass>([
  [401, 'authentication'],
  [403, 'authorization'],
  [404, 'not_found'],
  [407, 'authentication'],
  [408, 'timeout'],
  [410, 'not_found'],
  [429, 'rate_limit'],
  [504, 'timeout'],
]);
