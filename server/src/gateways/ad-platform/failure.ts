// Converts the platform's error responses (google.rpc.Status with a GoogleAdsFailure) into typed reasons. Pure.
import { asArray, asObject, asText, type Json } from './json.ts';
import type { Reason } from './outcome.ts';

/** All reasons in an error. Empty if the body is not a platform error. */
export function readReasons(body: unknown): readonly Reason[] {
  return readStatus(asObject(asObject(body).error));
}

/** Reads a google.rpc.Status: a response's `error`, or a change's `partialFailureError`. */
export function readStatus(status: Json): readonly Reason[] {
  const reasons = asArray(status.details)
    .flatMap((detail) => asArray(asObject(detail).errors))
    .map((error) => toReason(asObject(error)));
  if (reasons.length > 0) return reasons;
  const name = asText(status.status);
  return name === '' ? [] : [{ ...classify(name, {}), code: name, message: cut(status.message), ...nowhere }];
}

/** The request id from the body, for responses whose header a proxy has removed. */
export function readRequestId(body: unknown): string | null {
  const details = asArray(asObject(asObject(body).error).details);
  return details.map((detail) => asText(asObject(detail).requestId)).find((id) => id !== '') ?? null;
}

/** After these errors a change may have been applied, because the platform stopped partway through. */
const unfinished = new Set([
  'internalError.INTERNAL_ERROR',
  'internalError.TRANSIENT_ERROR',
  'internalError.DEADLINE_EXCEEDED',
  'databaseError.DATA_CONSTRAINT_VIOLATION',
  'INTERNAL',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'UNKNOWN',
  'CANCELLED',
]);

export const isUnfinished = (reasons: readonly Reason[]): boolean => reasons.some(({ code }) => unfinished.has(code));

/** Limits the reasons that are stored and shown. Must run after the check for an unfinished change. */
export const cutReasons = (reasons: readonly Reason[]): readonly Reason[] => reasons.slice(0, 50);

const nowhere = { field: '', operation: undefined } as const;
const cut = (message: unknown): string => asText(message).slice(0, 500);

function toReason(error: Json): Reason {
  const [[area, value] = ['', '']] = Object.entries(asObject(error.errorCode));
  const code = `${area}.${asText(value)}`;
  const path = asArray(asObject(error.location).fieldPathElements).map(asObject);
  const first = path.find(({ fieldName }) =>
    /^(?:mutateOperations|mutate_operations|operations)$/.test(asText(fieldName)),
  );
  const index = Number(first?.index ?? Number.NaN);
  return {
    ...classify(code, asObject(error.details)),
    code,
    message: cut(error.message),
    field: path.map(({ fieldName, index }) => asText(fieldName) + (index === undefined ? '' : `[${index}]`)).join('.'),
    operation: Number.isInteger(index) ? index : undefined,
  };
}

const duplicates = new Set([
  'campaignError.DUPLICATE_CAMPAIGN_NAME',
  'campaignBudgetError.DUPLICATE_NAME',
  'assetGroupError.DUPLICATE_NAME',
  'conversionActionError.DUPLICATE_NAME',
  'adGroupError.DUPLICATE_ADGROUP_NAME',
]);

const ofOperator = /^(?:authenticationError|authorizationError|headerError)\.|^(?:UNAUTHENTICATED|PERMISSION_DENIED)$/;
const busy =
  /^quotaError\.|\.CONCURRENT_MODIFICATION$|^(?:RESOURCE_EXHAUSTED|ABORTED)$|^internalError\.TRANSIENT_ERROR$/;

function classify(code: string, details: Json): Pick<Reason, 'kind' | 'minimum' | 'retryAfterMs'> {
  if (duplicates.has(code)) return { kind: 'duplicate_name' };
  if (code === 'campaignBudgetError.BUDGET_BELOW_PER_DAY_MINIMUM')
    return { kind: 'budget_too_low', ...readMinimum(asObject(details.budgetPerDayMinimumErrorDetails)) };
  if (ofOperator.test(code)) return { kind: 'operator' };
  if (busy.test(code)) return { kind: 'busy', ...readDelay(asObject(details.quotaErrorDetails).retryDelay) };
  return { kind: 'input' };
}

function readMinimum({ currencyCode, budgetPerDayMinimumMicros: micros }: Json): Pick<Reason, 'minimum'> {
  const text = asText(micros);
  return /^\d{1,19}$/.test(text) ? { minimum: { currencyCode: asText(currencyCode), micros: text } } : {};
}

/** Reads a google.protobuf.Duration in JSON, such as `12.5s`. */
function readDelay(value: unknown): Pick<Reason, 'retryAfterMs'> {
  const seconds = /^(\d{1,7}(?:\.\d+)?)s$/.exec(asText(value))?.[1];
  return seconds === undefined ? {} : { retryAfterMs: Math.ceil(Number(seconds) * 1000) };
}
