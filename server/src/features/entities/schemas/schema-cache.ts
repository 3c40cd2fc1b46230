// Owns the schemas this process has parsed. One is good for as long as the app's revision, which comes with each request's
// proof, has not passed the one it was read at: so there is nothing to tell anybody when a schema changes.
import type { Db } from '../../../tables.ts';
import { entityName, parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { deriveKeys, type RecordKey } from './keys.ts';
import { type AppScope, findSchemaWithKeys } from './store.ts';

/** An entity of an app, as its records are checked, guarded and found by. */
export interface Entity {
  readonly name: string;
  readonly schema: EntitySchema;
  readonly keys: readonly RecordKey[];
  /** The keys that every record has. */
  readonly ready: ReadonlySet<string>;
}

/** Whether every record has every key: nobody else gives records keys then. */
export const hasAllKeysBuilt = ({ keys, ready }: Entity): boolean => keys.every((key) => ready.has(key.name));

export type FindEntity = (db: Db, access: AppScope, name: string, now: Date) => Promise<Entity | undefined>;

interface CacheEntry {
  readonly entity: Entity;
  readonly revision: number;
  readonly readAt: number;
  readonly size: number;
}

const maxSize = 32 * 1024 * 1024; // characters of documents, and what their patterns weigh
const patternWeight = 170; // bytes that a compiled pattern keeps for each step of its cost
const buildingTtlMs = 10_000; // while keys are being built, how long another process's news may take

export function createSchemaCache(): FindEntity {
  const entries = new Map<string, CacheEntry>(); // the longest unused first
  let size = 0;

  const evict = (id: string) => {
    size -= entries.get(id)?.size ?? 0;
    entries.delete(id);
  };
  const isFresh = ({ revision, entity, readAt }: CacheEntry, access: AppScope, now: Date) =>
    revision >= access.app.revision && (hasAllKeysBuilt(entity) || Math.abs(now.getTime() - readAt) < buildingTtlMs);

  return async (db, access, name, now) => {
    const id = `${access.app.id} ${name}`;
    const cached = entries.get(id);
    if (cached !== undefined) {
      entries.delete(id);
      entries.set(id, cached);
      if (isFresh(cached, access, now)) return cached.entity;
      evict(id);
    }
    const read = await readEntity(db, access, name);
    if (read === undefined) return undefined;
    evict(id); // another request may have read it meanwhile
    entries.set(id, { ...read, revision: access.app.revision, readAt: now.getTime() });
    size += read.size;
    for (const oldest of entries.keys()) {
      if (size <= maxSize || oldest === id) break;
      evict(oldest);
    }
    return read.entity;
  };
}

async function readEntity(
  db: Db,
  access: AppScope,
  name: string,
): Promise<Pick<CacheEntry, 'entity' | 'size'> | undefined> {
  if (!entityName.test(name)) return undefined;
  const row = await findSchemaWithKeys(db, access, name);
  if (row === undefined) return name === 'User' ? { entity: implicitUser, size: 0 } : undefined;
  const schema = parseStoredSchema(row.document);
  const entity = { name, schema, keys: deriveKeys(schema, 0, row.keys), ready: new Set(row.ready) };
  return { entity, size: JSON.stringify(row.document).length + schema.patternCost * patternWeight };
}

/** What was taken once must be readable for ever. */
export function parseStoredSchema(document: unknown): EntitySchema {
  const parsed = parseSchema(document, []);
  if ('schema' in parsed) return parsed.schema;
  throw new Error(`a stored schema can no longer be read: ${JSON.stringify(parsed.faults.slice(0, 3))}`);
}

/** What an entity is where no schema says so. */
export const findImplicitSchema = (name: string): EntitySchema | undefined =>
  name === implicitUser.name ? implicitUser.schema : undefined;

/** Records under `User` are a set of their own, never the app's users (docs/contract.md §5.9). */
const implicitUser: Entity = {
  name: 'User',
  schema: parseStoredSchema({
    name: 'User',
    properties: { email: { type: 'string' }, full_name: { type: 'string' }, role: { type: 'string' } },
  }),
  keys: [],
  ready: new Set(),
};
