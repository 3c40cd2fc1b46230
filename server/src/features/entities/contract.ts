// Owns the shapes of what is sent and shown about schemas and records (docs/contract.md §5.1–§5.5).
import { z } from 'zod';
import {
  answer,
  count,
  list,
  openObject,
  optional,
  pattern,
  query,
  queryFlag,
  queryInteger,
  strictBody,
  timestamp,
} from '../../kit/http/shapes.ts';
import { entityName } from './schemas/document.ts';

const document = z.record(z.string(), z.unknown());

export const EntityName = pattern(entityName, 64);

export const Schema = answer('EntitySchema', {
  name: z.string(),
  schema: document,
  revision: count,
  record_count: count,
  updated_date: timestamp,
});

export const SchemaDocument = openObject;

export const PutQuery = query({
  dry_run: queryFlag.optional(),
  expected_revision: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
});

export const SchemaSaved = answer('EntitySchemaSaved', {
  name: z.string(),
  schema: document,
  revision: count,
  created: z.boolean(),
  impact: answer('SchemaImpact', {
    records: count,
    violating_records: count,
    fields_removed: z.array(z.string()),
    newly_open: z.array(
      answer('NewlyOpen', {
        operation: z.string(),
        example: answer('NewlyOpenExample', { id: z.string(), principal: z.string() }),
      }),
    ),
  }),
});

export const SchemaSync = strictBody({
  schemas: list(openObject, 0, 100),
  delete_missing: optional(z.boolean()),
  dry_run: optional(z.boolean()),
});

export const SchemasSynced = answer('EntitySchemasSynced', {
  created: z.array(z.string()),
  updated: z.array(z.string()),
  deleted: z.array(z.string()),
});

export const DeleteQuery = query({ delete_records: queryFlag.optional() });
