// The records of an app by entity: `plinth.app(id).entity('Task')`.
import type { Call, CallOptions } from './call.ts';
import { PlinthError, withOutcome } from './errors.ts';
import type { AppOperations } from './generated/operations.ts';
import type { EntityRecord } from './generated/schemas.ts';
import { createId } from './request.ts';

type ListArguments = Omit<Parameters<AppOperations['listRecords']>[0], 'entity_name'>;
type Fields = Readonly<Record<string, unknown>>;
type CallOf<Name extends keyof AppOperations> = ReturnType<AppOperations[Name]>;

export interface Entity {
  list(args?: ListArguments, options?: CallOptions): CallOf<'listRecords'>;
  get(entity_id: string, options?: CallOptions): CallOf<'getRecord'>;
  create(record: Fields, options?: CallOptions): CallOf<'createRecord'>;
  update(entity_id: string, change: Fields, options?: CallOptions): CallOf<'updateRecord'>;
  delete(entity_id: string, options?: CallOptions): CallOf<'deleteRecord'>;
  /**
   * Creates any number of records, 500 per request. Each request has a key that is made from `key`, so a run that was
   * interrupted can be started again with the same records and the same key within 24 hours: nothing is created twice.
   * A record that was deleted in between is null. An error has the key and the records created so far as `progress`.
   */
  createMany(records: readonly Fields[], options?: CreateManyOptions): Promise<(EntityRecord | null)[]>;
}

export interface CreateManyOptions extends Omit<CallOptions, 'idempotencyKey'> {
  /** At most 180 characters of `A-Z a-z 0-9 _ . : -`. By default, a random one. */
  readonly key?: string;
}

export type Entities = Readonly<Record<string, Entity>>;

/** Any name is an entity: only the server knows which there are. */
export const createEntities = (app: AppOperations): Entities =>
  new Proxy({} as Record<string, Entity>, {
    get: (_, name) => (typeof name === 'string' ? createEntity(app, name) : undefined),
  });

export const createEntity = (app: AppOperations, entity_name: string): Entity => ({
  list: (args, options) => app.listRecords({ ...args, entity_name }, options),
  get: (entity_id, options) => app.getRecord({ entity_name, entity_id }, options),
  create: (record, options) => app.createRecord({ entity_name, body: record }, options),
  update: (entity_id, change, options) => app.updateRecord({ entity_name, entity_id, body: change }, options),
  delete: (entity_id, options) => app.deleteRecord({ entity_name, entity_id }, options),
  async createMany(records, { key = createId(), ...options } = {}) {
    const created: (EntityRecord | null)[] = [];
    const rethrow = (error: unknown): never => {
      const isAborted = options.signal?.aborted && !(error instanceof PlinthError);
      const failure = isAborted ? describeAbort(error) : error;
      throw failure instanceof PlinthError ? withOutcome(failure, { progress: { key, created } }) : failure;
    };
    for (const [index, body] of cutIntoParts(records).entries()) {
      const call: Call<(EntityRecord | null)[], string> = app.createRecords(
        { entity_name, body },
        { ...options, idempotencyKey: `${key}.${index + 1}` },
      );
      created.push(...(await call.then(undefined, rethrow)));
    }
    return created;
  },
});

/** The reason of a signal can't say which key continues. */
const describeAbort = (cause: unknown): PlinthError =>
  new PlinthError({
    code: 'aborted',
    operation: 'createRecords',
    message: 'The signal ended it. Call it again with the same records and the key of `progress`.',
    outcomeUnknown: true,
    cause,
  });

/** The server takes 500 records, and bodies of 10 MiB. */
const maxRecords = 500;
const maxBytes = 8 * 1024 * 1024;

/** The parts depend on the records alone, so the same records have the same parts when they are sent again. */
function cutIntoParts(records: readonly Fields[]): Fields[][] {
  const parts: Fields[][] = [];
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const record of records) {
    const size = encoder.encode(JSON.stringify(record)).byteLength + 1;
    const last = parts.at(-1);
    if (last === undefined || last.length === maxRecords || bytes + size > maxBytes) {
      parts.push([record]);
      bytes = size;
    } else {
      last.push(record);
      bytes += size;
    }
  }
  return parts;
}
