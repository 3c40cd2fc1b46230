// Owns the request and response shapes of schemas and records (docs/api/entities.md).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  distinct,
  email,
  id,
  list,
  objectOf,
  oneOf,
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
import { callerKinds, openingOperations } from './rules/openings.ts';
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

const openAnswer = z.record(z.string(), z.unknown());

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
        operation: z.enum(openingOperations),
        example: answer('NewlyOpenExample', {
          record_id: id.nullable(),
          record: openAnswer.nullable(),
          change: openAnswer.nullable(),
          principal: z.enum(callerKinds),
          attributes: openAnswer.nullable(),
        }),
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

export const ExplainBody = strictBody({
  operation: z.enum(rowOperations),
  record_id: optional(z.string()),
  record: optional(openObject),
  patch: optional(openObject),
  as: optional(
    strictBody({ app_user_id: optional(z.string()), email: optional(email), anonymous: optional(z.literal(true)) }),
  ),
});

const ruleDecision = oneOf('allow', 'deny', 'unknown', 'hidden');

export const Explanation = answer('RuleExplanation', {
  decision: ruleDecision,
  rule: oneOf('present', 'missing', 'true', 'false'),
  principal: answer('RulePrincipal', {
    kind: oneOf('person', 'app_user', 'anonymous'),
    id: id.nullable(),
    email: z.string().nullable(),
    full_name: z.string().nullable(),
    role: z.string().nullable(),
    manages_app: z.boolean(),
    reaches_app: z.boolean(),
  }),
  clauses: z.array(
    answer('RuleClause', {
      path: z.string(),
      value: z.unknown(),
      compared_with: z.unknown(),
      result: oneOf('true', 'false', 'unknown', 'hidden'),
      deciding: z.boolean(),
    }),
  ),
  fields: z.array(answer('FieldDecision', { name: z.string(), decision: ruleDecision, clause: z.string().nullable() })),
  suggestion: answer('RuleSuggestion', {
    text: z.string(),
    target: oneOf('rule', 'record', 'patch'),
    patch: z.array(
      answer('PatchOperation', { op: oneOf('add', 'remove'), path: z.string(), value: z.unknown().optional() }),
    ),
  }).nullable(),
});
export type Explanation = z.output<typeof Explanation>;
