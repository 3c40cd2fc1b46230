// The HTTP contract for entity schemas.
import { z } from 'zod';
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { bulkBytes, perMinute } from '../../../core/auth/limits.ts';
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
  listEntitySchemas,
  putEntitySchema,
  type SyncDeps,
  syncEntitySchemas,
  type TrashAllRecords,
} from './schema.ts';
import { findSchema } from './store.ts';

const schemaWriteCredentials = { ...writeCredentials, workspaceKey: 'schemas:write' } as const;
const limitReached = { status: 409, code: 'limit_reached' } as const;

const quotaExceeded = { status: 402, code: 'storage_quota_exceeded' } as const;

interface SchemaDeps extends SyncDeps {
  /** `countBytes` counts the records toward the byte budget. */
  trashAllRecords(countBytes: (bytes: number) => Promise<unknown>, ...args: Parameters<TrashAllRecords>): Promise<void>;
}

export const schemaRoutes = ({ trashAllRecords, storage, listNamedEntities }: SchemaDeps): Route[] => [
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
    stores: 'measured',
    work: 'slow',
    body: SchemaSync,
    bodyLimitBytes: 10 * 1024 * 1024,
    bytes: bulkBytes,
    repeat: 'safe',
    audits: ['entity_schema.created', 'entity_schema.updated', 'entity_schema.deleted'],
    answers: { 200: SchemasSynced },
    refusals: [{ status: 409, code: 'schema_in_use' }, limitReached, quotaExceeded],
    handle: ({ db, access, body, now }) => syncEntitySchemas(db, { storage, listNamedEntities }, access, body, now),
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
      'The response reports the impact on existing records. Rules say who may read, create, change and delete records, for example the owner alone. Existing records that violate the new schema stay readable and are validated when they are next written. `impact.violating_records` covers the newest 1,000 records. `impact.newly_open` has an example for each operation in which the new rules allow what the old ones refused. `X-Partial-Result` names a field of `impact` that may be incomplete. `expected_revision` is the revision of the stored schema, or 0 if it must not exist yet. `X-Warning: rule_missing:<ops>` lists the operations that are closed because they have no rule, joined by `+`, and `rule_open:<ops>` those that everybody may do because their rule is `true`.',
    credentials: schemaWriteCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    stores: 'measured',
    work: 'slow',
    query: PutSchemaQuery,
    body: SchemaDocument,
    repeat: 'safe',
    audits: ['entity_schema.created', 'entity_schema.updated'],
    answers: { 200: SchemaSaved },
    refusals: [{ status: 409, code: 'revision_conflict' }, limitReached, quotaExceeded],
    handle: ({ db, access, params, query, body, now }) =>
      putEntitySchema(
        db,
        storage,
        access,
        { name: parse(EntityName, ['path', 'entity_name'], params.entity_name), document: body, options: query },
        now,
      ),
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
    repeat: 'safe',
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
