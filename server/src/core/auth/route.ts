// Owns `route()`: an operation together with who may call it. `credentials`, `access` and `limit` have no default, so
// leaving one out does not compile.
import type { z } from 'zod';
import type { Answers, Operation, OperationSpec } from '../../kit/http/operation.ts';
import type { Tables } from '../../tables.ts';
import type { AcceptedCredentials, open } from './credentials.ts';
import type { Limit, unlimited } from './limits.ts';
import type { GatedFeature } from './plans.ts';
import type { Guard } from './resource-guards.ts';

interface Guarded<Proof> {
  readonly credentials: AcceptedCredentials | typeof open;
  readonly access: Guard<Proof>;
  readonly plan?: GatedFeature;
  readonly limit: Limit | typeof unlimited;
  /**
   * The audit entries a change leaves (contract §2.8); `sometimes`: those that only some do. Must be said by everything
   * that is not a GET.
   */
  readonly audits?: readonly string[] | { readonly sometimes: readonly string[] } | 'nothing';
}

export type Route = Operation & Guarded<unknown>;

export const route = <
  Proof,
  const Path extends string,
  A extends Answers,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  spec: OperationSpec<Tables, Proof, Path, Query, Body, A> & Guarded<Proof>,
): Route => spec as unknown as Route;
