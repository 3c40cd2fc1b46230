// Failure classes (docs/api/workflows.md#failure-classes), which name the kind of problem that ended a run. The
// class depends only on the run's recorded data, so it never changes and needs no model.
import type { RecordedFailure } from '../store/analyses.ts';

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
  'storage',
  'unknown',
] as const;

export type FailureClass = (typeof failureClasses)[number];

/** A failed run's recorded data about its failure. */
export interface FailedRun {
  readonly status_reason: string | null;
  readonly failure: RecordedFailure | null;
}

/**
 * The most specific fact decides, in this order: why the platform ended the run, the platform's error code, the
 * technical cause, and the error type.
 */
export function classifyFailure({ status_reason, failure }: FailedRun): FailureClass {
  const reason = status_reason === null ? undefined : classByReason.get(status_reason);
  if (reason !== undefined) return reason;
  if (failure === null) return 'unknown';
  const { type, cause, code } = failure;
  // Includes expressions that took too long.
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

/** Platform error codes for which the status alone doesn't identify the problem. */
const classByCode = new Map<string, FailureClass>([
  ['credits_exhausted', 'credits'],
  ['storage_quota_exceeded', 'storage'],
  ['unique_conflict', 'validation'],
]);

const classByCause = new Map<string, FailureClass>([
  ['timeout', 'timeout'],
  ['dns', 'dns'],
  ['tls', 'tls'],
  ['refused', 'network'],
  ['reset', 'network'],
  ['protocol', 'network'],
  // The platform rejects the value or the address, whatever the other side would have returned.
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

/**
 * A configuration error with status 404 means that something doesn't exist. All others mean that the definition is
 * invalid.
 */
function classifyRest(failure: RecordedFailure): FailureClass {
  const { type, status } = failure;
  if (type === 'configuration') return status === 404 ? 'not_found' : 'validation';
  return hasOwnStatus(failure) ? classifyStatus(status) : 'unknown';
}

/** By default, a `runtime` error has status 500 even though no service returned it. */
const hasOwnStatus = ({ type, status }: RecordedFailure): boolean => type !== 'runtime' || status !== 500;

function classifyStatus(status: number): FailureClass {
  const exact = classByStatus.get(status);
  if (exact !== undefined) return exact;
  if (status >= 500 && status <= 599) return 'server_error';
  // Redirects are not followed, so a 3xx status means that the request was sent to the wrong address.
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
