// This process's cache of parsed schemas. Each request's lookup includes the app's revision. An entry stays fresh
// until the revision is newer than the one at which the entry was read, so processes need not be notified of changes.
import type { Db } from '../../../tables.ts';
import { entityName, parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { deriveKeys, type RecordKey } from './keys.ts';
import { type AppScope, findSchemaWithKeys } from './store.ts';

/** One of an app's entities, with its keys and its parsed schema, which includes its rules. */
export interface Entity {
  readonly name: string;
  readonly schema: EntitySchema;
  readonly keys: readonly RecordKey[];
  /** The names of the keys that are fully built, so every record has its rows. */
  readonly ready: ReadonlySet<string>;
}

/** Whether every key is built. If not, the job `build entity keys` may also write key rows. */
export const hasAllKeysBuilt = ({ keys, ready }: Entity): boolean => keys.every((key) => ready.has(key.name));

export type FindEntity = (db: Db, access: AppScope, name: string, now: Date) => Promise<Entity | undefined>;

interface CacheEntry {
  readonly entity: Entity;
  readonly revision: number;
  readonly readAt: number;
  readonly size: number;
}

const maxSize = 32 * 1024 * 1024; // characters in documents, plus the size of their compiled patterns
const patternWeight = 170; // bytes that a compiled pattern takes up per step of its cost
const buildingTtlMs = 10_000; // maximum delay before this process sees that keys are built

export function createSchemaCache(): FindEntity {
  const entries = new Map<string, CacheEntry>(); // least recently used first
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
    const loaded = await loadEntity(db, access, name);
    if (loaded === undefined) return undefined;
    evict(id); // a concurrent request may have loaded it as well
    entries.set(id, { ...loaded, revision: access.app.revision, readAt: now.getTime() });
    size += loaded.size;
    for (const oldest of entries.keys()) {
      if (size <= maxSize || oldest === id) break;
      evict(oldest);
    }
    return loaded.entity;
  };
}

async function loadEntity(
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

/** Parses a stored document. Documents are validated when they are saved, so a fault is a bug. */
export function parseStoredSchema(document: unknown): EntitySchema {
  const parsed = parseSchema(document, [], 'stored');
  if ('schema' in parsed) return parsed.schema;
  throw new Error(`a stored schema can't be parsed: ${JSON.stringify(parsed.faults.slice(0, 3))}`);
}

/** The schema of an entity that exists without being declared, which only `User` does. */
export const findImplicitSchema = (name: string): EntitySchema | undefined =>
  name === implicitUser.name ? implicitUser.schema : undefined;

/** `User` records are ordinary records, not the app's users (docs/api/entities.md#the-user-entity). */
const implicitUser: Entity = {
  name: 'User',
  schema: parseStoredSchema({
    name: 'User',
    properties: { email: { type: 'string' }, full_name: { type: 'string' }, role: { type: 'string' } },
  }),
  keys: [],
  ready: new Set(),
};
