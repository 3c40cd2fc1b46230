// The JSON Schemas for schema documents, rules and queries in the API document. They accept everything that the
// parsers accept (docs/api/entities.md#schema-document, docs/api/rules.md#grammar, docs/api/entities.md#query-language)
// and reject input of the wrong form. Errors that only the parsers detect are listed in grammar-schemas.test.ts.
import { maxCombined } from './rules/conditions.ts';
import { rowOperations, ruleDialect } from './rules/grammar.ts';
import { queryDialect } from './rules/query/query.ts';
import { columns } from './rules/rule.ts';
import {
  keywordsByType,
  maxEnum,
  maxProperties,
  maxUnique,
  maxUniqueFields,
  reservedNames,
} from './schemas/document.ts';
import { formats } from './schemas/formats.ts';
import { maxPatternLength } from './schemas/pattern.ts';

type JsonSchema = { [key: string]: unknown };

const refer = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const described = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description });
const listOf = (items: JsonSchema, maxItems: number): JsonSchema => ({ type: 'array', minItems: 1, maxItems, items });

// Patterns use no lookahead and no \w, so they behave the same in every regular expression engine.
const name = '[A-Za-z_][A-Za-z0-9_]{0,63}';
const path = `${name}(\\.${name})*`;
const combinatorName = '\\$(and|or|nor)';
const attribute = `(id|email|full_name|role|data\\.${name})`;
const template = `\\{\\{user\\.${attribute}\\}\\}`;

const combinators = (condition: string): JsonSchema => {
  const conditions = listOf(refer(condition), maxCombined);
  return {
    $and: described(conditions, 'All conditions are met.'),
    $or: described(conditions, 'At least one condition is met.'),
    $nor: described(conditions, 'No condition is met.'),
  };
};

/** The operators that rules and queries share. */
const operators = (value: JsonSchema, maxListItems: number, element: string): JsonSchema => {
  const list = listOf(value, maxListItems);
  return {
    $eq: described(value, 'The field equals the value, or is an array that contains it.'),
    $ne: described(value, 'The negation of `$eq`; met by a missing field.'),
    $gt: described(value, 'The field is greater; numbers compare with numbers, and text with text by code points.'),
    $gte: described(value, 'The field is greater or equal.'),
    $lt: described(value, 'The field is less.'),
    $lte: described(value, 'The field is less or equal.'),
    $in: described(list, 'The field equals one of the values, or is an array that contains one.'),
    $nin: described(list, 'The negation of `$in`; met by a missing field.'),
    $all: described(list, 'The array contains every one of the values.'),
    $exists: { type: 'boolean', description: 'Whether the field is present and not null.' },
    $size: { type: 'integer', minimum: 0, description: 'The array has exactly this many items.' },
    $elemMatch: described(
      refer(element),
      'One object in the array meets the condition; names are fields of the object.',
    ),
  };
};

const [minEntries, maxEntries] = ruleDialect.entries;
const userCondition: JsonSchema = {
  type: 'object',
  minProperties: 1,
  maxProperties: maxCombined,
  propertyNames: { pattern: `^${attribute}$` },
  additionalProperties: refer('RuleOperand'),
  description: 'Attributes of the caller and the values they must all have.',
};

/** A condition on the record or on an array element. Both have the same structure but different paths. */
const ruleCondition = (own: string, paths: string, description: string): JsonSchema => ({
  type: 'object',
  description,
  minProperties: minEntries,
  maxProperties: maxEntries,
  properties: { ...combinators(own), user_condition: userCondition },
  propertyNames: { pattern: `^(${combinatorName}|user_condition|${paths})$` },
  additionalProperties: refer('RuleTest'),
});

const ruleSchemas: Readonly<Record<string, JsonSchema>> = {
  RuleOperand: {
    type: ['string', 'number', 'boolean', 'null'],
    description:
      'A value to compare with. In text, `{{user.id}}`, `{{user.email}}`, `{{user.full_name}}`, `{{user.role}}` and `{{user.data.<name>}}` stand for attributes of the caller; text that is only a template has the type of the attribute.',
    pattern: `^([^{]|\\{?${template}|\\{[^{])*\\{?$`,
    examples: ['{{user.id}}', 'open', 5],
  },
  RuleTests: {
    type: 'object',
    description: 'Tests of one field, which must all be met.',
    minProperties: 1,
    maxProperties: ruleDialect.maxTests,
    properties: operators(refer('RuleOperand'), ruleDialect.maxListItems, 'RuleElementCondition'),
    additionalProperties: false,
    examples: [{ $in: ['draft', 'open'] }],
  },
  RuleTest: {
    description: 'A value that the field equals or contains, or tests of the field.',
    anyOf: [refer('RuleOperand'), refer('RuleTests')],
  },
  RuleCondition: {
    ...ruleCondition(
      'RuleCondition',
      `${columns.join('|')}|data\\.${path}`,
      'Entries that must all be met: combinators, `user_condition`, automatic fields (`created_by_id`), and fields of the schema (`data.team`, `data.address.zip`). A condition is never met for anonymous callers.',
    ),
    examples: [{ $or: [{ 'data.team': '{{user.data.team}}' }, { user_condition: { role: 'admin' } }] }],
  },
  RuleElementCondition: ruleCondition(
    'RuleElementCondition',
    path,
    'Like RuleCondition, for an object in an array; paths are names in that object, without `data.`.',
  ),
  Rule: {
    description:
      'A condition or a constant. True allows everyone, including anonymous callers; false allows nobody. Null, an empty string or an empty object is no rule, which allows only managers of the app.',
    anyOf: [
      { type: ['boolean', 'null'] },
      { type: 'string', const: '' },
      { type: 'object', maxProperties: 0 },
      refer('RuleCondition'),
    ],
    examples: [{ created_by_id: '{{user.id}}' }, true],
  },
  RowRules: {
    type: ['object', 'null'],
    description: 'Rules for the records that a caller may use.',
    properties: {
      create: described(refer('Rule'), 'The rule for creating, evaluated on the record as it would be stored.'),
      read: described(refer('Rule'), 'The rule for reading; a stored record that does not meet it is not found.'),
      update: described(refer('Rule'), 'The rule for updating, evaluated on the stored record.'),
      delete: described(refer('Rule'), 'The rule for deleting, evaluated on the stored record.'),
      write: described(refer('Rule'), 'The default of `create`, `update` and `delete`.'),
      update_check: described(
        refer('Rule'),
        'A rule for updating, evaluated on the record as it would be after the update.',
      ),
    },
    additionalProperties: false,
    examples: [{ read: true, write: { created_by_id: '{{user.id}}' } }],
  },
  FieldRules: {
    type: ['object', 'null'],
    description: 'Rules for the use of a field, in addition to the row rules.',
    properties: {
      create: described(refer('Rule'), 'The rule for sending the field in a new record, evaluated on the new record.'),
      read: described(refer('Rule'), 'The rule for reading; if it is not met, the field is left out.'),
      update: described(refer('Rule'), 'The rule for sending the field in an update, evaluated on the stored record.'),
      write: described(refer('Rule'), 'The default of `create` and `update`.'),
    },
    additionalProperties: false,
    examples: [{ read: { user_condition: { role: 'admin' } } }],
  },
};

const types = Object.keys(keywordsByType);

const texts: JsonSchema = {
  title: { type: 'string', description: 'A title for people.' },
  description: { type: 'string', description: 'A description for people.' },
};
const fields: JsonSchema = {
  properties: {
    type: 'object',
    maxProperties,
    propertyNames: { pattern: `^${name}$`, not: { enum: [...reservedNames] } },
    additionalProperties: refer('EntityProperty'),
    description: 'The fields by name.',
  },
  required: { type: 'array', items: { type: 'string' }, description: 'The fields that every value must have.' },
};

/** Rejects keywords that have no effect on the property's type, which defaults to `string`. */
const onlyFor = (kinds: readonly (keyof typeof keywordsByType)[]): JsonSchema => ({
  if: {
    ...(!kinds.includes('string') && { required: ['type'] }),
    properties: { type: { anyOf: [{ enum: kinds }, { type: 'array', contains: { enum: kinds } }] } },
  },
  else: { propertyNames: { not: { enum: keywordsByType[kinds[0] as 'string'] } } },
});

const count = { type: 'integer', minimum: 0 };

const schemaSchemas: Readonly<Record<string, JsonSchema>> = {
  EntityProperty: {
    type: 'object',
    description: 'A field, with a fixed set of keywords. A keyword that has no effect on its type is refused.',
    properties: {
      type: {
        anyOf: [
          { enum: types },
          {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { enum: [...types, 'null'] },
            contains: { enum: types },
          },
        ],
        description: 'The type, or a list of types to which `null` may be added; `string` by default.',
      },
      ...texts,
      enum: { type: 'array', minItems: 1, maxItems: maxEnum, uniqueItems: true, description: 'The allowed values.' },
      enumNames: { type: 'array', items: { type: 'string' }, description: 'A label for each value of `enum`.' },
      default: { description: 'The value that is stored if a new record lacks the field; must be valid.' },
      minLength: described(count, 'The minimum length in code points.'),
      maxLength: described(count, 'The maximum length in code points.'),
      pattern: {
        type: 'string',
        maxLength: maxPatternLength,
        description: 'An RE2 pattern, searched anywhere in the text.',
      },
      format: {
        enum: Object.keys(formats),
        description: 'The format of the text; `file` and `richtext` are hints for forms and accept any text.',
      },
      minimum: { type: 'number', description: 'The minimum value.' },
      maximum: { type: 'number', description: 'The maximum value.' },
      items: described(refer('EntityProperty'), 'The schema of the items of an array.'),
      ...fields,
      rls: described(refer('FieldRules'), 'The rules of the field.'),
    },
    additionalProperties: false,
    dependentRequired: { enumNames: ['enum'] },
    allOf: [onlyFor(['string']), onlyFor(['number', 'integer']), onlyFor(['array']), onlyFor(['object'])],
    examples: [{ type: 'string', enum: ['draft', 'open', 'done'], default: 'draft' }],
  },
  EntitySchemaDocument: {
    type: 'object',
    description: 'Which fields the records of an entity have, and who may use them.',
    required: ['name'],
    properties: {
      name: {
        type: 'string',
        pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
        description: 'The name of the entity, as in the path; case-sensitive.',
      },
      type: { const: 'object', description: 'Always `object`; may be left out.' },
      ...texts,
      ...fields,
      unique: {
        type: 'array',
        maxItems: maxUnique,
        uniqueItems: true,
        items: { ...listOf({ type: 'string' }, maxUniqueFields), uniqueItems: true },
        description: 'Lists of fields whose values must be unique together; they must not be arrays or objects.',
      },
      rls: described(
        refer('RowRules'),
        `The rules of the entity. An operation (${rowOperations.join(', ')}) without a rule is closed to users of the app and anonymous callers.`,
      ),
    },
    additionalProperties: false,
    examples: [
      {
        name: 'Task',
        properties: {
          title: { type: 'string', maxLength: 200 },
          state: { type: 'string', enum: ['draft', 'open', 'done'], default: 'draft' },
          cost: { type: 'number', minimum: 0, rls: { read: { user_condition: { role: 'admin' } } } },
        },
        required: ['title'],
        unique: [['title']],
        rls: { read: true, write: { created_by_id: '{{user.id}}' } },
      },
    ],
  },
};

const text = { type: 'string' };
const [, maxQueryEntries] = queryDialect.entries;

const querySchemas: Readonly<Record<string, JsonSchema>> = {
  RecordQuery: {
    type: 'object',
    description:
      'Entries that must all be met: combinators, and fields (`state`, `address.zip`, `created_date`; the prefix `data.` is optional). Every record matches `{}`.',
    maxProperties: maxQueryEntries,
    properties: combinators('RecordQuery'),
    propertyNames: { pattern: `^(${combinatorName}|${path})$` },
    additionalProperties: refer('QueryTest'),
    examples: [{ state: 'open', total: { $gte: 5 } }],
  },
  QueryTest: {
    description:
      'A value that the field equals or contains, or tests of the field. Objects without operators are values.',
    anyOf: [
      { type: ['string', 'number', 'boolean', 'null', 'array'] },
      { type: 'object', propertyNames: { pattern: '^([^$]|$)' } },
      refer('QueryTests'),
    ],
  },
  QueryTests: {
    type: 'object',
    description: 'Tests of one field, which must all be met.',
    minProperties: 1,
    properties: {
      ...operators({}, queryDialect.maxListItems, 'RecordQuery'),
      $contains: described(text, 'The text contains this text, ignoring case.'),
      $startsWith: described(text, 'The text starts with this text.'),
      $not: described(refer('QueryTests'), 'These tests are not all met.'),
    },
    additionalProperties: false,
    examples: [{ $gte: 1, $lt: 5 }],
  },
};

/** The schemas, keyed by component name. */
export const grammarSchemas: Readonly<Record<string, JsonSchema>> = {
  ...schemaSchemas,
  ...ruleSchemas,
  ...querySchemas,
};
