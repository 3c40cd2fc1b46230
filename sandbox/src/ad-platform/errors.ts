// The ad platform's error responses: google.rpc.Status with a GoogleAdsFailure.

export interface PlatformError {
  /** A field of `errorCode` and its value, such as `campaignError.DUPLICATE_CAMPAIGN_NAME`. */
  readonly code: string;
  readonly message: string;
  /** A path such as `mutate_operations[0].campaign_operation.create.name`. */
  readonly field?: string;
  readonly details?: object;
}

/** Thrown to reject a request. */
export class Refusal extends Error {
  readonly errors: readonly PlatformError[];

  constructor(...errors: PlatformError[]) {
    super(errors[0]?.code);
    this.errors = errors;
  }
}

export const refuse = (code: string, message: string, field = '', details?: object): Refusal =>
  new Refusal({ code, message, field, ...(details && { details }) });

/** Returns the HTTP status and the gRPC status name for an error code. */
function statusOf(code: string): [number, string] {
  if (code.startsWith('authenticationError.')) return [401, 'UNAUTHENTICATED'];
  if (code.startsWith('authorizationError.')) return [403, 'PERMISSION_DENIED'];
  if (code.startsWith('quotaError.')) return [429, 'RESOURCE_EXHAUSTED'];
  if (code.endsWith('.CONCURRENT_MODIFICATION')) return [409, 'ABORTED'];
  if (code.startsWith('internalError.')) return [500, 'INTERNAL'];
  return [400, 'INVALID_ARGUMENT'];
}

export function toErrorBody(version: string, requestId: string, errors: readonly PlatformError[]) {
  const [code, status] = statusOf(errors[0]?.code ?? '');
  const message = code === 500 ? 'Internal error encountered.' : 'Request contains an invalid argument.';
  return { status: code, body: { error: { ...toStatus(version, requestId, errors, code, message), status } } };
}

/** Builds `partialFailureError`, which has the numeric gRPC code instead of the status name. */
export const toPartialFailure = (version: string, requestId: string, errors: readonly PlatformError[]) =>
  toStatus(version, requestId, errors, 3, 'Multiple errors in ‘details’. First error: see details.');

const toStatus = (
  version: string,
  requestId: string,
  errors: readonly PlatformError[],
  code: number,
  message: string,
) => ({
  code,
  message,
  details: [
    {
      '@type': `type.googleapis.com/google.ads.googleads.${version}.errors.GoogleAdsFailure`,
      errors: errors.map(toError),
      requestId,
    },
  ],
});

function toError({ code, message, field, details }: PlatformError) {
  const [area = '', value] = code.split('.');
  const fieldPathElements = (field ?? '')
    .split('.')
    .filter(Boolean)
    .map((part) => {
      const [, fieldName, index] = /^(\w+)(?:\[(\d+)\])?$/.exec(part) ?? [];
      return { fieldName, ...(index !== undefined && { index: Number(index) }) };
    });
  return {
    errorCode: { [area]: value },
    message,
    ...(fieldPathElements.length > 0 && { location: { fieldPathElements } }),
    ...(details && { details }),
  };
}
