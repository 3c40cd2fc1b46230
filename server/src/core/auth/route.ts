// `route()`: an operation together with its access rules. `credentials`, `access` and `limit` have no default, so
// a route without one of them does not compile.
import type { z } from 'zod';
import type { Answers, Operation, OperationSpec } from '../../kit/http/operation.ts';
import type { Tables } from '../../tables.ts';
import type { AcceptedCredentials, open } from './credentials.ts';
import type { Guard } from './guards/guard.ts';
import type { ByteBudget, Limit, unlimited } from './limits.ts';
import type { GatedFeature } from './plans.ts';
import type { Price } from './prices.ts';

interface AccessOptions<Proof> {
  readonly credentials: AcceptedCredentials | typeof open;
  readonly access: Guard<Proof>;
  readonly plan?: GatedFeature;
  readonly limit: Limit | typeof unlimited;
  /** For operations whose requests are large or cause a lot of work. */
  readonly bytes?: ByteBudget;
  /** What a call costs in credits. */
  readonly prices?: readonly Price[];
  /**
   * The audit entries that a call writes (docs/api/audit-log.md). `sometimes` lists entries that only some calls write.
   * Required except for GET.
   */
  readonly audits?: readonly string[] | { readonly sometimes: readonly string[] } | 'nothing';
}

export type Route = Operation & AccessOptions<unknown>;

/** Checks the type parameters and drops them from the result, because a list of routes is heterogeneous. */
export const route = <
  Proof,
  const Path extends string,
  A extends Answers,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Checked = unknown,
>(
  spec: OperationSpec<Tables, Proof, Path, Query, Body, A, Checked> & AccessOptions<Proof>,
): Route => spec as unknown as Route;
