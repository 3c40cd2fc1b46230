// The ad platform's API calls. A call returns its response together with the changes to apply once the journal has
// recorded them.
import { createClient } from './accounts.ts';
import { refuse, toPartialFailure } from './errors.ts';
import { parseQuery } from './gaql.ts';
import { type ResourceKind, toSnake } from './kinds.ts';
import { type MutateOptions, mutate, type Operation } from './mutate.ts';
import { kindByCollection, kindByOperation } from './resources.ts';
import { runQuery } from './rows.ts';
import type { RowContext } from './sources.ts';
import type { Resource } from './state.ts';

export interface Settings {
  /** Whether Smart campaigns can be created. False on the live platform. */
  readonly accepts_smart_creation: boolean;
  readonly tag_delay_ms: number;
  /** How long it takes until queries return a new account. */
  readonly client_delay_ms: number;
  readonly page_size: number;
}

export interface CallContext extends RowContext {
  readonly settings: Settings;
  readonly version: string;
  readonly requestId: string;
}

export interface CallResult {
  readonly body: object;
  readonly changes: ReadonlyMap<string, Resource | null>;
}

type Body = Readonly<Record<string, unknown>>;

export interface CallPath {
  /** The call's name in faults and in the journal. */
  readonly call: 'createCustomerClient' | 'mutate' | 'search';
  readonly customerId: string;
  readonly version: string;
  run(body: Body, context: CallContext): CallResult;
}

const nothing: ReadonlyMap<string, Resource | null> = new Map();

/** Returns undefined if the platform does not serve the path. */
export function findCall(path: string): CallPath | undefined {
  const [, version = '', customerId = '', rest = ''] = /^\/(v\d+)\/customers\/(\d+)([:/].+)$/.exec(path) ?? [];
  const found = { version, customerId };
  if (rest === ':createCustomerClient')
    return {
      ...found,
      call: 'createCustomerClient',
      run(body, { state, now }) {
        const { resourceName, changes } = createClient(state, customerId, body.customerClient ?? {}, now);
        return body.validateOnly === true ? { body: {}, changes: nothing } : { body: { resourceName }, changes };
      },
    };
  if (rest === '/googleAds:search') return { ...found, call: 'search', run: search };
  if (rest === '/googleAds:mutate')
    return { ...found, call: 'mutate', run: (body, context) => mutateAll(body, context, readMixedOperations(body)) };
  const kind = kindByCollection.get(/^\/(\w+):mutate$/.exec(rest)?.[1] ?? '');
  if (kind === undefined) return undefined;
  return { ...found, call: 'mutate', run: (body, context) => mutateOne(body, context, kind) };
}

function search(body: Body, context: CallContext): CallResult {
  if (body.pageSize !== undefined)
    throw refuse('requestError.PAGE_SIZE_NOT_SUPPORTED', 'Setting the page size is not supported.', 'page_size');
  const rows = runQuery(parseQuery(String(body.query ?? '')), context);
  const from = body.pageToken === undefined ? 0 : Number(Buffer.from(String(body.pageToken), 'base64url').toString());
  if (!Number.isInteger(from)) throw refuse('requestError.INVALID_PAGE_TOKEN', 'Invalid page token.', 'page_token');
  const next = from + context.settings.page_size;
  const results = rows.slice(from, next);
  return {
    body: {
      ...(results.length > 0 && { results }),
      ...(next < rows.length && { nextPageToken: Buffer.from(String(next)).toString('base64url') }),
      fieldMask: '',
    },
    changes: nothing,
  };
}

const optionsOf = (body: Body, { customerId, now, settings }: CallContext): MutateOptions => ({
  customerId,
  now,
  acceptsSmartCreation: settings.accepts_smart_creation,
  partialFailure: body.partialFailure === true,
  validateOnly: body.validateOnly === true,
});

function mutateAll(body: Body, context: CallContext, operations: readonly Operation[]): CallResult {
  const { names, errors, changes } = mutate(context.state, operations, optionsOf(body, context));
  const partialFailureError = errors.length > 0 && toPartialFailure(context.version, context.requestId, errors);
  const failure = partialFailureError ? { partialFailureError } : {};
  if (body.validateOnly === true) return { body: failure, changes: nothing };
  const mutateOperationResponses = names.map((resourceName, index) => {
    const name = operations[index]?.kind.name;
    return resourceName === undefined ? {} : { [`${name}Result`]: { resourceName } };
  });
  return { body: { mutateOperationResponses, ...failure }, changes };
}

function mutateOne(body: Body, context: CallContext, kind: ResourceKind): CallResult {
  const sent = Array.isArray(body.operations) ? (body.operations as Partial<Operation>[]) : [];
  const operations = sent.map((operation, index) => ({ ...operation, kind, field: `operations[${index}]` }));
  const { names, errors, changes } = mutate(context.state, operations, optionsOf(body, context));
  const failure = errors.length > 0 && {
    partialFailureError: toPartialFailure(context.version, context.requestId, errors),
  };
  if (body.validateOnly === true) return { body: { ...failure }, changes: nothing };
  const results = names.map((resourceName) => (resourceName === undefined ? {} : { resourceName }));
  return { body: { results, ...failure }, changes };
}

function readMixedOperations(body: Body): Operation[] {
  const sent = Array.isArray(body.mutateOperations)
    ? (body.mutateOperations as Record<string, Partial<Operation>>[])
    : [];
  return sent.map((operation, index) => {
    const [[name, content] = ['', {}]] = Object.entries(operation);
    const field = `mutate_operations[${index}]`;
    const kind = kindByOperation.get(name);
    if (kind === undefined) throw refuse('mutateError.MUTATE_NOT_ALLOWED', 'Unknown operation.', field);
    return { ...content, kind, field: `${field}.${toSnake(name)}` };
  });
}
