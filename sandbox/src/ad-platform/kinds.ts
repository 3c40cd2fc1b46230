// What a kind of resource has to have, and what several kinds check.
import { refuse } from './errors.ts';
import type { Draft, Resource } from './state.ts';

export interface ChangeContext {
  readonly draft: Draft;
  readonly customerId: string;
  readonly now: Date;
  /** Where the resource is in the request: `mutate_operations[0].campaign_operation.create`. */
  readonly field: string;
  readonly acceptsSmartCreation: boolean;
}

export interface ResourceKind {
  readonly collection: string;
  /** The field of a mutate operation without `Operation`, which is also the name of the resource in rows. */
  readonly name: string;
  /** The last part of a new resource's name. */
  id(resource: Resource, newId: () => string): string;
  /** Completes a new resource, or refuses it. */
  create?(resource: Resource, context: ChangeContext): Resource;
  /** The resource that a new one is the same as: the platform answers with that one. */
  findSame?(resource: Resource, context: ChangeContext): Resource | undefined;
  /** Refuses a changed resource. */
  update?(resource: Resource, context: ChangeContext, before: Resource): void;
  /** Refuses that a resource is removed, which is gone already. */
  removed?(before: Resource, context: ChangeContext): void;
  /** Removed resources with a status keep existing. */
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

/** `.invalid` never resolves (RFC 6761). */
export const isUncrawlable = (url: string | undefined): boolean =>
  url === undefined || !URL.canParse(url) || new URL(url).hostname.endsWith('.invalid');

/** What belongs to a removed campaign can't be changed any more. */
export function refuseOfRemoved(resource: Record<string, unknown>, { draft, field }: ChangeContext): void {
  const group = draft.get(String(resource.assetGroup ?? resource.adGroup));
  const campaign = draft.get(String(resource.campaign ?? group?.campaign));
  if (campaign?.status === 'REMOVED')
    throw refuse('contextError.OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE', 'The campaign is removed.', field);
}

/** For the review, which takes a minute. */
export const createdNow = ({ now }: ChangeContext) => ({ _createdAt: now.toISOString() });

export const toSnake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
