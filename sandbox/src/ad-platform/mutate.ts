// Changes to resources. A request applies either all of its operations or none. With partial failure, it applies
// every valid operation. Operations may refer to resources by temporary ids.
import { checkChangedAssetGroup, checkNewAssetGroup } from './assets.ts';
import { type PlatformError, Refusal, refuse } from './errors.ts';
import { type ChangeContext, type ResourceKind, refuseOfRemoved, toSnake } from './kinds.ts';
import type { Resource, State } from './state.ts';

export interface Operation {
  readonly kind: ResourceKind;
  /** The operation's location in the request, such as `mutate_operations[0].campaign_operation`. */
  readonly field: string;
  readonly create?: Resource;
  readonly update?: Resource;
  readonly updateMask?: string;
  readonly remove?: string;
}

export interface MutateOptions {
  readonly customerId: string;
  readonly now: Date;
  readonly acceptsSmartCreation: boolean;
  readonly partialFailure: boolean;
  readonly validateOnly: boolean;
}

export interface Mutated {
  /** Each operation's resource name. Undefined if the operation was not applied. */
  readonly names: readonly (string | undefined)[];
  readonly errors: readonly PlatformError[];
  readonly changes: ReadonlyMap<string, Resource | null>;
}

/** Computes the changes without applying them. Throws a Refusal if nothing can be applied. */
export function mutate(state: State, operations: readonly Operation[], options: MutateOptions): Mutated {
  if (!options.partialFailure) {
    const { draft, names } = applyAll(state, operations, options);
    return { names, errors: [], changes: draft.changes };
  }
  const names: (string | undefined)[] = [];
  const errors: PlatformError[] = [];
  const changes = new Map<string, Resource | null>();
  for (const operation of operations) {
    try {
      const { draft, names: added } = applyAll(state, [operation], options);
      if (!options.validateOnly) state.apply(draft.changes); // makes the change visible to the next operation
      for (const [name, resource] of draft.changes) changes.set(name, resource);
      names.push(added[0]);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      errors.push(...error.errors);
      names.push(undefined);
    }
  }
  return { names, errors, changes };
}

function applyAll(state: State, operations: readonly Operation[], options: MutateOptions) {
  const draft = state.draft();
  const temporary = new Map<string, string>();
  const contextOf = ({ field }: Operation, verb: string): ChangeContext => ({
    ...options,
    draft,
    field: `${field}.${verb}`,
  });
  const names = operations.map((operation) => {
    if (operation.create !== undefined) return create(operation, contextOf(operation, 'create'), temporary);
    if (operation.update !== undefined) return update(operation, contextOf(operation, 'update'), temporary);
    if (operation.remove !== undefined) return remove(operation, contextOf(operation, 'remove'));
    throw refuse('mutateError.MUTATE_NOT_ALLOWED', 'No operation was set.', operation.field);
  });
  operations.forEach((operation, index) => {
    const created = operation.create && draft.get(names[index] ?? '');
    if (created === undefined) return;
    if (operation.kind.name === 'assetGroup') checkNewAssetGroup(created, contextOf(operation, 'create'));
    if (operation.kind.name === 'assetGroupAsset') checkChangedAssetGroup(created, contextOf(operation, 'create'));
  });
  return { draft, names };
}

function create({ kind, create: sent }: Operation, context: ChangeContext, temporary: Map<string, string>): string {
  const { draft, customerId, field } = context;
  if (kind.create === undefined || sent === undefined)
    throw refuse('mutateError.MUTATE_NOT_ALLOWED', 'This resource can only be updated.', field);
  const { resourceName: sentName, ...rest } = resolveTemporary(sent, temporary, customerId, field, sent.resourceName);
  const fields = { ...rest, resourceName: '' };
  refuseOfRemoved(fields, context);
  const same = kind.findSame?.(fields, context);
  const resourceName =
    same?.resourceName ?? `customers/${customerId}/${kind.collection}/${kind.id(fields, draft.newId)}`;
  if (sentName !== undefined) {
    const id = /\/(-\d+)$/.exec(String(sentName))?.[1];
    if (id === undefined)
      throw refuse('newResourceCreationError.CANNOT_SET_ID_FOR_CREATE', 'Cannot set the id.', `${field}.resource_name`);
    if (temporary.has(String(sentName)))
      throw refuse(
        'newResourceCreationError.DUPLICATE_TEMP_IDS',
        'The temporary id is used twice.',
        `${field}.resource_name`,
      );
    temporary.set(String(sentName), resourceName);
    // A Smart campaign's settings have the same id as the campaign.
    if (kind.name === 'campaign')
      temporary.set(
        `customers/${customerId}/smartCampaignSettings/${id}`,
        resourceName.replace('/campaigns/', '/smartCampaignSettings/'),
      );
  }
  if (same !== undefined) return resourceName;
  if (draft.get(resourceName) !== undefined)
    throw refuse('mutateError.RESOURCE_ALREADY_EXISTS', 'Resource already exists.', field);
  draft.put(kind.create({ ...fields, resourceName }, context));
  return resourceName;
}

function update(
  { kind, update: sent, updateMask }: Operation,
  context: ChangeContext,
  temporary: Map<string, string>,
): string {
  const { draft, customerId, field } = context;
  const resource = resolveTemporary<Resource>(sent ?? { resourceName: '' }, temporary, customerId, field);
  const before = draft.get(String(resource.resourceName));
  if (before === undefined || kindOf(before) !== kind.collection)
    throw refuse('mutateError.RESOURCE_NOT_FOUND', 'Resource was not found.', `${field}.resource_name`);
  refuseOfRemoved(before, context);
  if (!updateMask) throw refuse('fieldMaskError.FIELD_MASK_MISSING', 'The field mask must be provided.', field);
  const after = structuredClone(before);
  for (const path of updateMask.split(',')) {
    const names = path
      .trim()
      .replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
      .split('.');
    if (names[0] === 'resourceName' || names[0]?.startsWith('_'))
      throw refuse('fieldError.IMMUTABLE_FIELD', 'The field can’t be changed.', `${field}.${toSnake(names[0])}`);
    copyField(resource, after, names);
  }
  kind.update?.(after, context, before);
  draft.put(after);
  return after.resourceName;
}

/** Copies one field. If `from` does not have the field, it is removed from `to`. */
function copyField(from: Record<string, unknown>, to: Record<string, unknown>, [name = '', ...rest]: string[]): void {
  if (from[name] === undefined) delete to[name];
  else if (rest.length === 0) to[name] = from[name];
  else {
    to[name] ??= {};
    copyField(from[name] as Record<string, unknown>, to[name] as Record<string, unknown>, rest);
  }
}

function remove({ kind, remove: name = '' }: Operation, context: ChangeContext): string {
  const before = context.draft.get(name);
  if (before === undefined || kindOf(before) !== kind.collection)
    throw refuse('mutateError.RESOURCE_NOT_FOUND', 'Resource was not found.', context.field);
  if (before.status === 'REMOVED')
    throw refuse('contextError.OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE', 'It is removed.', context.field);
  refuseOfRemoved(before, context);
  if (!kind.keepsRemoved) {
    context.draft.remove(name);
    kind.removed?.(before, context);
  } else {
    const statuses = before._statuses as object[] | undefined;
    context.draft.put({
      ...before,
      status: 'REMOVED',
      ...(statuses && { _statuses: [...statuses, { at: context.now.toISOString(), status: 'REMOVED' }] }),
    });
  }
  return name;
}

const kindOf = ({ resourceName }: Resource): string => resourceName.split('/').at(-2) ?? '';

/** Replaces temporary names, which earlier operations must have defined. `own` is the resource's own temporary name. */
function resolveTemporary<Value>(
  value: Value,
  temporary: ReadonlyMap<string, string>,
  customerId: string,
  field: string,
  own?: string,
): Value {
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'string' || inner === own || !/^customers\/\d+\/\w+\/-\d+$/.test(inner)) return inner;
    const real = temporary.get(inner);
    if (real === undefined || !inner.startsWith(`customers/${customerId}/`))
      throw refuse('newResourceCreationError.TEMP_ID_RESOURCE_HAD_ERRORS', 'Unknown temporary id.', field);
    return real;
  });
  return JSON.parse(text) as Value;
}
