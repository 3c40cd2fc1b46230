// Owns the HTTP contract of entity schemas.
import { z } from 'zod';
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { bulkBytes, perMinute } from '../../../core/auth/limits.ts';
import { appAs, nestedResource } from '../../../core/auth/resource-guards.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { parse } from '../../../kit/http/faults.ts';
import { Success } from '../../../kit/http/shapes.ts';
import {
  DeleteSchemaQuery,
  EntityName,
  PutSchemaQuery,
  Schema,
  SchemaDocument,
  SchemaSaved,
  SchemaSync,
  SchemasSynced,
} from '../contract.ts';
import {
  deleteEntitySchema,
  getEntitySchema,
  type ListNamedEntities,
  listEntitySchemas,
  putEntitySchema,
  syncEntitySchemas,
  type TrashAllRecords,
} from './schema.ts';
import { findSchema } from './store.ts';

const schemaWriteCredentials = { ...writeCredentials, workspaceKey: 'schemas:write' } as const;
const limitReached = { status: 409, code: 'limit_reached' } as const;

interface SchemaDeps {
  /** `countBytes` counts the records towards the byte budget. */
  trashAllRecords(countBytes: (bytes: number) => Promise<unknown>, ...args: Parameters<TrashAllRecords>): Promise<void>;
  readonly listNamedEntities: ListNamedEntities;
}

export const schemaRoutes = ({ trashAllRecords, listNamedEntities }: SchemaDeps): Route[] => [
  route({
    name: 'listEntitySchemas',
    method: 'GET',
    path: '/api/apps/{app_id}/entity-schemas',
    summary: "List an app's entity schemas, sorted by name",
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(120, 'caller'),
    work: 'slow',
    answers: { 200: z.array(Schema) },
    handle: ({ db, access }) => listEntitySchemas(db, access),
  }),
  route({
    name: 'syncEntitySchemas',
    headers: ['X-Warning'],
    method: 'PUT',
    path: '/api/apps/{app_id}/entity-schemas',
    summary: 'Create or replace many schemas in one revision, all or nothing',
    description:
      'With `delete_missing`, schemas that were not sent are deleted. If one of those has records, the whole request is refused.',
    credentials: schemaWriteCredentials,
    access: appAs('editor'),
    limit: perMinute(20, 'caller'),
    work: 'slow',
    body: SchemaSync,
    bodyLimitBytes: 10 * 1024 * 1024,
    bytes: bulkBytes,
    audits: ['entity_schema.created', 'entity_schema.updated', 'entity_schema.deleted'],
    answers: { 200: SchemasSynced },
    refusals: [{ status: 409, code: 'schema_in_use' }, limitReached],
    handle: ({ db, access, body, now }) => syncEntitySchemas(db, access, body, listNamedEntities, now),
  }),
  route({
    name: 'getEntitySchema',
    method: 'GET',
    path: '/api/apps/{app_id}/entity-schemas/{entity_name}',
    summary: 'Read one schema',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: schemaGuard('viewer'),
    limit: perMinute(120, 'caller'),
    work: 'slow',
    answers: { 200: Schema },
    handle: ({ db, access }) => getEntitySchema(db, access),
  }),
  route({
    name: 'putEntitySchema',
    headers: ['X-Warning'],
    method: 'PUT',
    path: '/api/apps/{app_id}/entity-schemas/{entity_name}',
    summary: 'Create or replace an entity: the schema with its fields and rules',
    description:
      'The response reports the impact on existing records. Rules say who may read, create, change and delete records, for example the owner alone. Existing records that violate the new schema stay readable and are validated when they are next written. `impact.violating_records` covers the newest 1,000 records. `impact.newly_open` says what the new rules allow that the old ones refused, with an example for each operation: one of the newest 1,000 records, or one that is found by reasoning on the rules. `X-Partial-Result` names it if there are more records, if reasoning did not come to a conclusion, or if field rules may open something. `expected_revision` is the revision of the stored schema, or 0 if it must not exist yet. `closed_operations` lists the operations that are closed to users of the app and anonymous callers for want of a rule; `X-Warning: rule_missing:<ops>` lists those without a rule, joined by `+`.',
    credentials: schemaWriteCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    work: 'slow',
    query: PutSchemaQuery,
    body: SchemaDocument,
    audits: ['entity_schema.created', 'entity_schema.updated'],
    answers: { 200: SchemaSaved },
    refusals: [{ status: 409, code: 'revision_conflict' }, limitReached],
    handle: ({ db, access, params, query, body, now }) =>
      putEntitySchema(db, access, parse(EntityName, ['path', 'entity_name'], params.entity_name), body, query, now),
  }),
  route({
    name: 'deleteEntitySchema',
    method: 'DELETE',
    path: '/api/apps/{app_id}/entity-schemas/{entity_name}',
    summary: 'Delete a schema; if requested, up to 5,000 records are moved to the trash first',
    credentials: schemaWriteCredentials,
    access: schemaGuard('editor'),
    limit: perMinute(20, 'caller'),
    bytes: bulkBytes,
    work: 'slow',
    query: DeleteSchemaQuery,
    audits: ['entity_schema.deleted'],
    answers: { 200: Success },
    refusals: [{ status: 409, code: 'schema_in_use' }],
    handle: ({ db, access, query, now, countBytes }) => {
      const trashRecords: TrashAllRecords = (...args) => trashAllRecords(countBytes, ...args);
      return deleteEntitySchema(db, access, query.delete_records ? trashRecords : undefined, listNamedEntities, now);
    },
  }),
];

function schemaGuard(role: 'viewer' | 'editor') {
  return nestedResource(appAs(role), 'entity', findSchema, 'entity_name');
}
