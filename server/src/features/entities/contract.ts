// The request and response schemas for entity schemas and records (docs/api/entities.md).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  described,
  distinct,
  email,
  id,
  items,
  list,
  objectOf,
  oneOf,
  openObject,
  openQuery,
  optional,
  pageQuery,
  parameter,
  pattern,
  query,
  queryFlag,
  queryInteger,
  queryJson,
  storedObjectOf,
  strictBody,
  strictQuery,
  timestamp,
  unstoredText,
} from '../../kit/http/shapes.ts';
import { rowOperations } from './rules/grammar.ts';
import { callerKinds, openingOperations } from './rules/openings/openings.ts';
import { entityName } from './schemas/document.ts';

/** An example schema document. Everyone may read an order, but only its owner may change or delete it. */
export const orderSchema = {
  name: 'Order',
  properties: {
    number: { type: 'integer' },
    customer: { type: 'string' },
    total: { type: 'number', minimum: 0 },
    state: { type: 'string', enum: ['open', 'done'], default: 'open' },
  },
  required: ['number'],
  rls: { read: true, write: { created_by_id: '{{user.id}}' } },
};

const document = described(storedObjectOf('EntitySchemaDocument'), 'The schema document as it was sent.', orderSchema);

export const EntityName = pattern(entityName, 64);

/** Operations without a rule, which are therefore closed to app users and anonymous callers. */
const closedOperations = described(
  z.array(z.enum(rowOperations)),
  "The operations that users of the app and anonymous callers can't perform because the schema has no rule for them.",
  ['delete'],
);

export const Schema = answer('EntitySchema', {
  name: described(z.string(), 'The name of the entity, which is case-sensitive.', 'Order'),
  schema: document,
  closed_operations: closedOperations,
  revision: described(count, 'The revision of the app in which the schema was last changed.', 7),
  record_count: described(count, 'How many records the entity has, without those in the trash.', 42),
  updated_date: described(timestamp, 'When the schema was last changed.', '2026-11-15T09:30:00.000Z'),
});

export const SchemaDocument = objectOf('EntitySchemaDocument');

export const PutSchemaQuery = query({
  dry_run: parameter(queryFlag.optional(), 'Whether to return the impact without saving anything; false by default.'),
  expected_revision: parameter(
    queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
    'The revision of the schema that you have read, or 0 if it must not exist yet; if it differs, the response is 409.',
    7,
  ),
});

const openAnswer = z.record(z.string(), z.unknown());

export const SchemaSaved = answer('EntitySchemaSaved', {
  name: described(z.string(), 'The name of the entity, which is case-sensitive.', 'Order'),
  schema: document,
  closed_operations: closedOperations,
  revision: described(count, 'The revision of the app in which the schema was last changed.', 7),
  created: described(z.boolean(), 'Whether the entity did not exist before.'),
  impact: described(
    answer('SchemaImpact', {
      records: described(count, 'How many records the entity has, without those in the trash.', 42),
      violating_records: described(
        count,
        'How many of the newest 1,000 records the new schema would refuse; they stay readable and are checked at the next write.',
        0,
      ),
      fields_removed: described(
        z.array(z.string()),
        'The fields that the new schema no longer declares; their values stay stored but hidden.',
        ['address.zip'],
      ),
      newly_open: described(
        z.array(
          answer('NewlyOpen', {
            operation: described(
              z.enum(openingOperations),
              'The operation that is now allowed; `update_check` means that an update may leave a record in a state that was refused before.',
              'read',
            ),
            example: described(
              answer('NewlyOpenExample', {
                record_id: described(
                  id.nullable(),
                  'The id of a stored record; null if none of the newest 1,000 is an example.',
                  '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3',
                ),
                record: described(
                  openAnswer.nullable(),
                  'A possible record (for `create`, one to send) with the fields that the rules test; templates such as `{{user.email}}` stand for attributes of the caller. Null if `record_id` names a stored record.',
                  { state: 'published' },
                ),
                change: described(
                  openAnswer.nullable(),
                  'The fields that the update sends; null for other operations. `{}` changes nothing.',
                  { state: 'open' },
                ),
                principal: described(
                  z.enum(callerKinds),
                  'The caller who is now allowed: `anonymous`, `any_user` (has the role `user` and no attributes, and did not create the record), `creator` (created the record) or `some_user` (has certain `attributes`).',
                  'any_user',
                ),
                attributes: described(
                  openAnswer.nullable(),
                  'The attributes that `some_user` must have: `role`, `email`, `id`, `full_name` or `data`; null for other callers.',
                  { role: 'admin' },
                ),
              }),
              'A record that is affected, and a caller who can now use it.',
            ),
          }),
        ),
        'One example for each operation in which the new rules allow something that the old ones refused.',
      ),
    }),
    'The effect of the schema on existing records and callers.',
  ),
});

export const SchemaSync = strictBody({
  schemas: described(list(SchemaDocument, 0, 100), 'The schema documents to create or replace, at most 100.'),
  delete_missing: described(
    optional(z.boolean()),
    'Whether to delete every schema that was not sent, which is refused if one of them has records; false by default.',
  ),
  dry_run: described(
    optional(z.boolean()),
    'Whether to return what would change without saving anything; false by default.',
  ),
});

export const SchemasSynced = answer('EntitySchemasSynced', {
  created: described(z.array(z.string()), 'The names of the entities that did not exist before.', ['Order']),
  updated: described(z.array(z.string()), 'The names of the entities whose schema changed.', ['Customer']),
  deleted: described(
    z.array(z.string()),
    'The names of the entities whose schema was deleted because it was not sent.',
    ['Draft'],
  ),
});

export const DeleteSchemaQuery = query({
  delete_records: parameter(
    queryFlag.optional(),
    'Whether to move up to 5,000 records of the entity to the trash first; without it, an entity with records answers 409.',
  ),
});

/** The automatic fields and the fields that the entity's schema declares. */
export const EntityRecord = z
  .looseObject({
    id: described(id, 'The id of the record, assigned on creation.', '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3'),
    created_date: described(timestamp.optional(), 'The time of creation.', '2026-11-15T09:30:00.000Z'),
    updated_date: described(
      timestamp.optional(),
      'The time of the last write, even if it changed no value.',
      '2026-11-15T09:30:00.000Z',
    ),
    created_by: described(
      z.string().optional(),
      'The e-mail address of the creator, or `anonymous`; left out in apps that hide authorship.',
      'grace@example.com',
    ),
    created_by_id: described(
      z.string().optional(),
      'The id of the person or app user who created the record, or `anonymous`.',
      '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
    ),
    is_sample: described(z.boolean().optional(), 'Whether the record is sample data.', false),
  })
  .meta({ id: 'EntityRecord' });

export const RecordBody = openObject;
export const NewRecords = list(openObject, 0, 500);
export const RecordChanges = list(openObject, 1, 500);

const filterParameters = {
  q: parameter(queryJson('RecordQuery').optional(), 'A filter in the query language of records, as JSON.', {
    state: 'open',
    total: { $gte: 5 },
  }),
};
export const ListRecordsQuery = openQuery({
  ...filterParameters,
  sort: described(
    z.string().optional(),
    'Up to 3 comma-separated fields, each descending if prefixed with `-`; by default, the newest records come first.',
    '-created_date',
  ),
  fields: parameter(
    z.string().optional(),
    'The fields to return, comma-separated; `id` is always returned.',
    'number,total',
  ),
  limit: described(
    queryInteger(1, 1000).optional(),
    'The maximum number of records per page, 100 by default; a page also ends before its data would exceed 1 MiB.',
    100,
  ),
  cursor: described(
    z.string().optional(),
    'The `next_cursor` of the previous page. It contains the filter, sort and fields; if you send different ones, the response is 400.',
    'b0R4Zk1hUTJ5',
  ),
});
export const ListAllRecordsQuery = strictQuery({
  search: parameter(
    unstoredText(1, 100).optional(),
    "Text that must be part of one of the record's texts, regardless of case.",
    'hopper',
  ),
  limit: described(
    queryInteger(1, 1000).default(100),
    'The maximum number of records per page; a page also ends before its data would exceed 1 MiB.',
    100,
  ),
  cursor: pageQuery.cursor,
});

const creatorText = (what: string) =>
  `${what} of the creator; null if they are removed or not known, and in apps that hide authorship.`;

const recordsOfAll = items(
  answer('RecordWithCreator', {
    record: described(EntityRecord, 'The record with all its fields.'),
    creator: described(
      answer('RecordCreator', {
        kind: described(
          oneOf('app_user', 'member', 'removed', 'anonymous'),
          'What the creator is: a user of the app (`app_user`), a member of the workspace (`member`), one of both who no longer exists (`removed`), or a visitor without an account or the app itself (`anonymous`).',
          'app_user',
        ),
        id: described(
          id.nullable(),
          'The id of the creator; null if `anonymous`.',
          '0198c207-1111-7abc-9def-0a1b2c3d4e5f',
        ),
        email: described(z.string().nullable(), creatorText('The present e-mail address'), 'grace@example.com'),
        full_name: described(z.string().nullable(), creatorText('The present name'), 'Grace Hopper'),
      }),
      'Who created the record.',
    ),
  }),
);
export const AllRecords = answer('AllRecords', {
  ...recordsOfAll.shape,
  total: described(
    answer('RecordTotal', {
      count: described(count, 'How many records match, counted up to 10,000.', 42),
      or_more: described(z.boolean(), 'Whether counting ended at 10,000, so there may be more.', false),
    }).nullable(),
    'How many records match; null on later pages, and if they could not be counted within a second (`X-Partial-Result: total`).',
  ),
});
export type AllRecords = z.input<typeof AllRecords>;

export const CountRecordsQuery = openQuery(filterParameters);
export const RecordCount = answer('RecordCount', {
  count: described(count, 'How many records that the caller may read match the filters.', 42),
});

export const DeleteRecordsBody = body({
  query: described(
    optional(objectOf('RecordQuery')),
    'A filter in the query language of records; an empty filter requires `all`.',
    { state: 'done', total: { $lt: 5 } },
  ),
  all: described(optional(z.boolean()), 'Must be true to delete all records with an empty query.'),
});
export const RecordsDeleted = answer('RecordsDeleted', {
  success: described(z.literal(true), 'Always true.'),
  deleted: described(count, 'How many records were moved to the trash, at most 5,000 per request.', 17),
});

export const UpsertBody = body({
  records: described(
    list(openObject, 1, 500),
    'The records to update or create. Each must have all fields of `key`, and no two may have the same values in them.',
    [{ number: 1042, customer: 'Grace Hopper', total: 18.5 }],
  ),
  key: described(
    distinct(list(z.string(), 1, 3), (name) => name),
    'The 1 to 3 fields that identify a record. They must not be arrays or objects, and every record must have them.',
    ['number'],
  ),
});
export const RecordsUpserted = answer('RecordsUpserted', {
  created: described(count, 'How many records were created.', 2),
  updated: described(count, 'How many stored records were updated.', 1),
  records: described(
    z.array(EntityRecord.nullable()),
    'The records as stored, in the order of the request. Null only in a repeated large answer, for a record that can no longer be read.',
  ),
});

export const ExplainBody = strictBody({
  operation: described(z.enum(rowOperations), 'The operation to explain.'),
  record_id: described(
    optional(z.string()),
    'The id of a stored record that the caller may read.',
    '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3',
  ),
  record: described(
    optional(openObject),
    'A record that is not stored, instead of `record_id`; for `create`, the new record.',
  ),
  patch: described(optional(openObject), 'The fields that an update would send.', { state: 'done' }),
  as: described(
    optional(
      strictBody({
        app_user_id: described(
          optional(z.string()),
          'The id of a user of the app.',
          '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8',
        ),
        email: described(
          optional(email),
          'The e-mail address of a person with access to the app; not allowed with a read-only credential.',
          'grace@example.com',
        ),
        anonymous: described(optional(z.literal(true)), 'Explains the decision for a caller without credentials.'),
      }),
    ),
    'The person or app user to explain the decision for, given by exactly one field; by default, the caller.',
    { anonymous: true },
  ),
});

const ruleDecision = described(
  oneOf('allow', 'deny', 'unknown', 'hidden'),
  'The decision; `unknown` refuses, and `hidden` means that it depends on data that the caller may not read.',
);

export const Explanation = answer('RuleExplanation', {
  decision: ruleDecision,
  rule: described(
    oneOf('present', 'missing', 'true', 'false'),
    'The rule of the operation: a condition (`present`), none (`missing`), or the constant `true` or `false`.',
  ),
  principal: described(
    answer('RulePrincipal', {
      kind: described(oneOf('person', 'app_user', 'anonymous'), 'The kind of caller.', 'app_user'),
      id: described(id.nullable(), 'The id of the caller; null if anonymous.', '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8'),
      email: described(
        z.string().nullable(),
        'The e-mail address of the caller; null if anonymous.',
        'grace@example.com',
      ),
      full_name: described(z.string().nullable(), 'The name of the caller; null if anonymous.', 'Grace Hopper'),
      role: described(z.string().nullable(), 'The role of the caller, as rules see it.', 'user'),
      manages_app: described(
        z.boolean(),
        'Whether the caller manages the app, so a missing rule allows the operation.',
        false,
      ),
      reaches_app: described(
        z.boolean(),
        'False if the caller is anonymous and the app is not open without login; everything is then denied.',
        true,
      ),
    }),
    'The caller whom the explanation is about.',
  ),
  clauses: described(
    z.array(
      answer('RuleClause', {
        path: described(z.string(), 'The path of the clause in the schema document.', 'rls.update.created_by'),
        value: described(
          z.unknown(),
          'The value that is tested; `•` if it is hidden, `…` if it is long.',
          'ann@example.com',
        ),
        compared_with: described(z.unknown(), 'The value that the tested value is compared with.', 'grace@example.com'),
        result: described(oneOf('true', 'false', 'unknown', 'hidden'), 'The result of the test.', 'false'),
        deciding: described(
          z.boolean(),
          'Whether the clause belongs to a smallest set that decides; false for all clauses if the decision is hidden.',
          true,
        ),
      }),
    ),
    "The tests in the operation's rules, and those in field rules that decide.",
  ),
  fields: described(
    z.array(
      answer('FieldDecision', {
        name: described(z.string(), 'The name of the field.', 'total'),
        decision: ruleDecision,
        clause: described(
          z.string().nullable(),
          'The path of a clause that decides about the field; null if there is none.',
          'properties.total.rls.write',
        ),
      }),
    ),
    'The decisions about fields that have rules; for a write, about the fields that are sent.',
  ),
  suggestion: described(
    answer('RuleSuggestion', {
      text: described(z.string(), 'A description of the change.', 'Set `state` in the record to "open".'),
      target: described(
        oneOf('rule', 'record', 'patch', 'app'),
        'What the change applies to: the schema document (`rule`), the record or patch that you asked about, or the app.',
        'record',
      ),
      patch: described(
        z.array(
          answer('PatchOperation', {
            op: described(oneOf('add', 'remove'), 'The JSON Patch operation.', 'add'),
            path: described(z.string(), 'The JSON pointer to the place to change.', '/state'),
            value: described(z.unknown().optional(), 'The value to add.', 'open'),
          }),
        ),
        'The change as a JSON Patch (RFC 6902).',
      ),
    }).nullable(),
    'A smallest change that would allow the operation; null if there is none.',
  ),
});
export type Explanation = z.output<typeof Explanation>;
