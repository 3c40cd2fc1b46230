// Changes several resources in one request (googleAds:mutate). Either all operations are applied or none. With
// `partialFailure`, every operation that can be applied is applied.
import type { Calls } from './calls.ts';
import { cutReasons, isUnfinished, readStatus } from './failure.ts';
import { asArray, asObject, asText, type Json } from './json.ts';
import type { Change, Reason } from './outcome.ts';

/**
 * An object with one field, such as `campaignOperation`, that contains `create`, `update` and `updateMask`, or
 * `remove`.
 */
export type Operation = Readonly<Record<string, Json>>;

export interface MutateOptions {
  /** Runs all checks and changes nothing. */
  readonly validateOnly?: true;
  /** Applies every operation that can be applied. The results of the others contain reasons. */
  readonly partialFailure?: true;
  /** A `performance.now()` time. After it, nothing is sent and the call stops waiting for a response. */
  readonly notAfter?: number;
}

/** The results, in operation order. Empty with `validateOnly`. */
export type MutateResult = readonly { readonly resourceName: string; readonly reasons: readonly Reason[] }[];

export function mutate(
  calls: Calls,
  customerId: string,
  mutateOperations: readonly Operation[],
  { notAfter, ...options }: MutateOptions = {},
): Promise<Change<MutateResult>> {
  const body = { mutateOperations, ...options };
  return calls.change(
    { path: `/customers/${customerId}/googleAds:mutate`, body },
    (answer) => {
      if (options.validateOnly) return [];
      const results = asArray(answer.mutateOperationResponses).map((response) => Object.values(asObject(response))[0]);
      return readMutateResult(answer, results, mutateOperations.length, options.partialFailure === true);
    },
    notAfter,
  );
}

/**
 * Undefined if an operation has no result or the platform stopped in the middle of one. In both cases it is unknown
 * which operations were applied.
 */
export function readMutateResult(
  body: Json,
  received: readonly unknown[],
  expected: number,
  allowsPartial: boolean,
): MutateResult | undefined {
  const reasons = readStatus(asObject(body.partialFailureError));
  const hasFailed = body.partialFailureError !== undefined;
  if (hasFailed && (!allowsPartial || reasons.length === 0 || isUnfinished(reasons))) return undefined;
  const failures = Map.groupBy(reasons, ({ operation }) => operation);
  const results = received.map((result, index) => {
    const resourceName = asText(asObject(result).resourceName);
    // A failure that names no operation applies to all operations without a result.
    const ofAll = resourceName === '' ? failures.get(undefined) : undefined;
    return { resourceName, reasons: cutReasons(failures.get(index) ?? ofAll ?? []) };
  });
  const isComplete =
    results.length === expected &&
    results.every(({ resourceName, reasons }) => resourceName !== '' || reasons.length > 0);
  return isComplete ? results : undefined;
}
