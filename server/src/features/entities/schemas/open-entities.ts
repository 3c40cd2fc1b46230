// Finds an app's entities that are open to anonymous callers.
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { rowOperations } from '../rules/grammar.ts';
import { parseStoredSchema } from './schema-cache.ts';
import { type AppScope, listSchemas } from './store.ts';

export interface OpenEntity {
  readonly name: string;
  readonly operations: readonly string[];
}

/** Lists entities with an operation that every caller may use. An anonymous caller never meets a condition. */
export async function listOpenEntities(db: Db, access: AppScope): Promise<OpenEntity[]> {
  const entities = await mapInSlices(await listSchemas(db, access), ({ name, document }): OpenEntity => {
    const { rules } = parseStoredSchema(document);
    return { name, operations: rowOperations.filter((operation) => rules[operation] === 'everyone') };
  });
  return entities.filter(({ operations }) => operations.length > 0);
}
