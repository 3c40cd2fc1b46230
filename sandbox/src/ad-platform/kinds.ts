// The definition of a resource kind, and the checks that several kinds share.
import { refuse } from './errors.ts';
import type { Draft, Resource } from './state.ts';

export interface ChangeContext {
  readonly draft: Draft;
  readonly customerId: string;
  readonly now: Date;
  /** The resource's location in the request, such as `mutate_operations[0].campaign_operation.create`. */
  readonly field: string;
  readonly acceptsSmartCreation: boolean;
}

export interface ResourceKind {
  readonly collection: string;
  /** The mutate operation's field without the suffix `Operation`. Also the resource's name in rows. */
  readonly name: string;
  /** Returns the last part of a new resource's name. */
  id(resource: Resource, newId: () => string): string;
  /** Completes a new resource, or throws to reject it. */
  create?(resource: Resource, context: ChangeContext): Resource;
  /** Finds an existing resource that is identical to the new one. If there is one, the platform returns it instead. */
  findSame?(resource: Resource, context: ChangeContext): Resource | undefined;
  /** Throws to reject a change. */
  update?(resource: Resource, context: ChangeContext, before: Resource): void;
  /** Throws to reject a removal. Called after the resource has been removed from the draft. */
  removed?(before: Resource, context: ChangeContext): void;
  /** Whether removed resources are kept, with the status `REMOVED`. */
  readonly keepsRemoved?: true;
}

export const idOf = (name: unknown): string => String(name).split('/').at(-1) ?? '';

export const missing = ({ field }: ChangeContext, name: string) =>
  refuse('fieldError.REQUIRED', 'The required field was not present.', `${field}.${name}`);

export function requireReference({ draft, field }: ChangeContext, resource: Resource, name: string): Resource {
  const found = draft.get(String(resource[name]));
  if (found !== undefined && found.status !== 'REMOVED') return found;
  throw refuse('mutateError.RESOURCE_NOT_FOUND', 'Resource was not found.', `${field}.${toSnake(name)}`);
}

export function refuseTakenName(
  { draft, customerId, field }: ChangeContext,
  collection: string,
  attribute: string,
  name: unknown,
  code: string,
  campaign?: unknown,
): void {
  const isTaken = draft
    .list(customerId, collection)
    .some(
      (each) =>
        each[attribute] === name && each.status !== 'REMOVED' && (campaign === undefined || each.campaign === campaign),
    );
  if (isTaken) throw refuse(code, 'A resource with this name already exists.', `${field}.${attribute}`);
}

/** Hosts under `.invalid` never resolve (RFC 6761). */
export const isUncrawlable = (url: string | undefined): boolean =>
  url === undefined || !URL.canParse(url) || new URL(url).hostname.endsWith('.invalid');

/** Rejects changes to a removed campaign's resources. */
export function refuseOfRemoved(resource: Record<string, unknown>, { draft, field }: ChangeContext): void {
  const group = draft.get(String(resource.assetGroup ?? resource.adGroup));
  const campaign = draft.get(String(resource.campaign ?? group?.campaign));
  if (campaign?.status === 'REMOVED')
    throw refuse('contextError.OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE', 'The campaign is removed.', field);
}

/** The creation time, from which the review status is computed. A review takes a minute. */
export const createdNow = ({ now }: ChangeContext) => ({ _createdAt: now.toISOString() });

export const toSnake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
