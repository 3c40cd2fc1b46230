// Owns the request and response shapes of schemas and records (docs/api/entities.md).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  distinct,
  id,
  list,
  objectOf,
  openObject,
  openQuery,
  optional,
  pattern,
  query,
  queryFlag,
  queryInteger,
  queryJson,
  storedObjectOf,
  strictBody,
  timestamp,
} from '../../kit/http/shapes.ts';
import { rowOperations } from './rules/grammar.ts';
import { entityName } from './schemas/document.ts';

const document = storedObjectOf('EntitySchemaDocument');

export const EntityName = pattern(entityName, 64);

/** What app users and anonymous callers can't do because the schema has no rule for it. */
const closedOperations = z.array(z.enum(rowOperations));

export const Schema = answer('EntitySchema', {
  name: z.string(),
  schema: document,
  closed_operations: closedOperations,
  revision: count,
  record_count: count,
  updated_date: timestamp,
});

export const SchemaDocument = objectOf('EntitySchemaDocument');

export const PutSchemaQuery = query({
  dry_run: queryFlag.optional(),
  expected_revision: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
});

export const SchemaSaved = answer('EntitySchemaSaved', {
  name: z.string(),
  schema: document,
  closed_operations: closedOperations,
  revision: count,
  created: z.boolean(),
  impact: answer('SchemaImpact', {
    records: count,
    violating_records: count,
    fields_removed: z.array(z.string()),
    newly_open: z.array(
      answer('NewlyOpen', {
        operation: z.string(),
        example: answer('NewlyOpenExample', { id, principal: z.string() }),
      }),
    ),
  }),
});

export const SchemaSync = strictBody({
  schemas: list(SchemaDocument, 0, 100),
  delete_missing: optional(z.boolean()),
  dry_run: optional(z.boolean()),
});

export const SchemasSynced = answer('EntitySchemasSynced', {
  created: z.array(z.string()),
  updated: z.array(z.string()),
  deleted: z.array(z.string()),
});

export const DeleteSchemaQuery = query({ delete_records: queryFlag.optional() });

/** The automatic fields, and those that the entity's schema declares. */
export const EntityRecord = z
  .looseObject({
    id,
    created_date: timestamp.optional(),
    updated_date: timestamp.optional(),
    created_by: z.string().optional(),
    created_by_id: z.string().optional(),
    is_sample: z.boolean().optional(),
  })
  .meta({ id: 'EntityRecord' });

export const RecordBody = openObject;
export const NewRecords = list(openObject, 0, 500);
export const RecordChanges = list(openObject, 1, 500);

const filterParameters = { q: queryJson('RecordQuery').optional() };
export const ListRecordsQuery = openQuery({
  ...filterParameters,
  sort: z.string().optional(),
  fields: z.string().optional(),
  limit: queryInteger(1, 1000).optional(),
  cursor: z.string().optional(),
});
export const CountRecordsQuery = openQuery(filterParameters);
export const RecordCount = answer('RecordCount', { count });

export const DeleteRecordsBody = body({ query: optional(objectOf('RecordQuery')), all: optional(z.boolean()) });
export const RecordsDeleted = answer('RecordsDeleted', { success: z.literal(true), deleted: count });

export const UpsertBody = body({
  records: list(openObject, 1, 500),
  key: distinct(list(z.string(), 1, 3), (name) => name),
});
export const RecordsUpserted = answer('RecordsUpserted', {
  created: count,
  updated: count,
  records: z.array(EntityRecord),
});
