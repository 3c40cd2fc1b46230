// Parses schema documents (docs/api/entities.md#schema-document). Parsing is strict and reports all faults
// together. Unknown keywords are rejected, because callers would otherwise rely on a keyword or rule that has no
// effect.
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText } from '../../../kit/text.ts';
import { noFieldRules, parseFieldRules } from '../rules/field-rules.ts';
import { listMissingRules, noRules, type Parsed, parseRules, type RuleOrigin, type Rules } from '../rules/grammar.ts';
import type { SchemaProperties } from '../rules/properties.ts';
import { isObject } from '../rules/values.ts';
import { type Choices, countChoices, createChoices } from './choices.ts';
import { anyText, automaticFieldNames, type EntitySchema, type Field, type Fields, type FieldType } from './field.ts';
import { type FormatName, formats } from './formats.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import { newValidation, type Validation, validateValue } from './values.ts';

type Loc = readonly (string | number)[];
type JsonObject = Readonly<Record<string, unknown>>;

export const entityName = /^[A-Za-z]\w{0,63}$/;
const fieldName = /^[A-Za-z_]\w{0,63}$/;
// Many JSON libraries treat `__proto__` specially.
export const reservedNames = new Set<string>([
  ...automaticFieldNames,
  'is_deleted',
  'deleted_date',
  'app_id',
  'entity_name',
  '__proto__',
]);

const maxBytes = 128 * 1024;
export const maxProperties = 200;
const maxDepth = 5;
export const maxEnum = 200;
export const maxUnique = 5;
export const maxUniqueFields = 3;
const maxPatternCost = 5_000;

/**
 * Returns the parsed schema, or all faults in the document. Documents parsed in one request may share a pattern budget.
 */
export function parseSchema(
  json: unknown,
  loc: Loc,
  origin: RuleOrigin,
  patternBudget: PatternBudget = newValidation(),
): { schema: EntitySchema } | { faults: Fault[] } {
  const state: ParseState = { origin, faults: [], propertyCount: 0, patternCost: 0, patternBudget };
  const schema = parseDocument(json, loc, state);
  return schema === undefined || state.faults.length > 0 ? { faults: state.faults } : { schema };
}

interface ParseState {
  readonly origin: RuleOrigin;
  readonly faults: Fault[];
  propertyCount: number;
  patternCost: number;
  readonly patternBudget: PatternBudget;
}

type PatternBudget = Pick<Validation, 'steps'>;

export const documentKeywords = ['name', 'type', 'title', 'description', 'properties', 'required', 'unique', 'rls'];

function parseDocument(json: unknown, loc: Loc, state: ParseState): EntitySchema | undefined {
  if (!isObject(json)) return addFault(state, loc, 'must be an object');
  // Stored documents may exceed the limit, because a migration may have added rules to them.
  if (state.origin === 'new' && Buffer.byteLength(JSON.stringify(json)) > maxBytes)
    return addFault(state, loc, `must be at most ${maxBytes} bytes as JSON`);
  checkKeywords(json, documentKeywords, loc, state);
  if (typeof json.name !== 'string' || !entityName.test(json.name))
    addFault(state, [...loc, 'name'], `must match ${entityName.source}`);
  if (json.type !== undefined && json.type !== 'object') addFault(state, [...loc, 'type'], 'must be "object"');
  checkTexts(json, loc, state);
  // Rules may name any field in the document. parseFields records faults in the fields themselves.
  const properties = collectProperties(json.properties) ?? {};
  const inner = parseFields(json, loc, state, 1);
  return {
    ...inner,
    name: json.name as string,
    patternCost: state.patternCost,
    unique: parseUnique(json.unique, inner, [...loc, 'unique'], state),
    properties,
    rls: json.rls,
    rules: parseRowRules(json, loc, properties, state),
    fieldRules:
      unwrap(parseFieldRules(properties, [...loc, 'properties'], state.origin), state)?.fieldRules ?? noFieldRules,
  };
}

/** Without rules, `User` is open to everyone who is signed in, because apps expect to be able to read and write it. */
function parseRowRules(json: JsonObject, loc: Loc, properties: SchemaProperties, state: ParseState): Rules {
  const parsed = parseRules(json.rls, [...loc, 'rls'], properties, 'entity', state.origin);
  const rules = unwrap(parsed, state)?.rules ?? noRules;
  if (json.name !== 'User') return rules;
  const opened = listMissingRules(json.rls).map((operation) => [operation, 'signed_in']);
  return { ...rules, ...Object.fromEntries(opened) };
}

/** The properties that a document declares, as far as they can be parsed. */
function collectProperties(json: unknown): SchemaProperties | undefined {
  if (!isObject(json)) return undefined;
  return Object.fromEntries(Object.entries(json).map(([name, property]) => [name, collectProperty(property)]));
}

function collectProperty(json: unknown): SchemaProperties[string] {
  if (!isObject(json)) return {};
  const items = isObject(json.items) ? collectProperty(json.items) : undefined;
  return { type: json.type as string, properties: collectProperties(json.properties), items, rls: json.rls };
}

function parseFields(json: JsonObject, loc: Loc, state: ParseState, depth: number): Fields {
  const fields = new Map<string, Field>();
  const at = [...loc, 'properties'];
  if (json.properties !== undefined && !isObject(json.properties)) addFault(state, at, 'must be an object');
  if (depth > maxDepth && isObject(json.properties)) addFault(state, at, `is nested deeper than ${maxDepth} levels`);
  else if (isObject(json.properties)) {
    for (const [name, property] of Object.entries(json.properties)) {
      state.propertyCount += 1;
      if (state.propertyCount === maxProperties + 1)
        addFault(state, at, `must contain at most ${maxProperties} properties in total`);
      if (!fieldName.test(name)) addFault(state, [...at, name], `must have a name that matches ${fieldName.source}`);
      else if (reservedNames.has(name)) addFault(state, [...at, name], 'is a reserved name');
      else fields.set(name, parseField(property, [...at, name], state, depth));
    }
  }
  return { fields, required: parseRequired(json.required, fields, [...loc, 'required'], state) };
}

function parseRequired(json: unknown, fields: ReadonlyMap<string, Field>, loc: Loc, state: ParseState): Set<string> {
  if (json === undefined) return new Set();
  if (!Array.isArray(json)) addFault(state, loc, 'must be a list of property names');
  const names = Array.isArray(json) ? json : [];
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string' || !fields.has(name))
      addFault(state, [...loc, index], 'must be the name of a declared property');
  }
  return new Set(names as string[]);
}

export const keywordsByType: Record<FieldType, readonly string[]> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['items'],
  object: ['properties', 'required'],
};
const commonKeywords = ['type', 'title', 'description', 'enum', 'enumNames', 'default', 'rls'];

const placeholderField = anyText;

function parseField(json: unknown, loc: Loc, state: ParseState, depth: number): Field {
  if (!isObject(json)) return addFault(state, loc, 'must be an object') ?? placeholderField;
  const { types, nullable } = parseTypes(json.type, [...loc, 'type'], state);
  checkKeywords(json, [...commonKeywords, ...types.flatMap((type) => keywordsByType[type])], loc, state);
  checkTexts(json, loc, state);
  const items = json.items === undefined ? undefined : parseItems(json.items, [...loc, 'items'], state, depth + 1);
  const properties = json.properties === undefined ? undefined : parseFields(json, loc, state, depth + 1);
  // `required` has no effect without `properties`, but documents stored before it was rejected may still contain it.
  if (properties === undefined && state.origin === 'new')
    parseRequired(json.required, new Map(), [...loc, 'required'], state);
  const plain: Field = {
    types,
    nullable,
    ...parseBounds(json, loc, state),
    ...(items && { items }),
    ...(properties && { properties }),
  };
  const choices = parseEnum(json, plain, loc, state);
  const field = choices === undefined ? plain : { ...plain, enum: choices };
  if (json.default === undefined || json.default === null) return field;
  return { ...field, default: parseEmbeddedValue(field, json.default, [...loc, 'default'], state) };
}

function parseItems(json: unknown, loc: Loc, state: ParseState, depth: number): Field {
  if (depth > maxDepth) return addFault(state, loc, `is nested deeper than ${maxDepth} levels`) ?? placeholderField;
  return parseField(json, loc, state, depth);
}

function parseTypes(json: unknown, loc: Loc, state: ParseState): { types: FieldType[]; nullable: boolean } {
  const listed: unknown[] = json === undefined ? ['string'] : Array.isArray(json) ? json : [json];
  const types = listed.filter(
    (type): type is FieldType => typeof type === 'string' && Object.hasOwn(keywordsByType, type),
  );
  const nullable = Array.isArray(json) && json.includes('null');
  const isKnown = types.length + (nullable ? 1 : 0) === listed.length && new Set(listed).size === listed.length;
  if (!isKnown || types.length === 0)
    addFault(
      state,
      loc,
      `must be one of ${Object.keys(keywordsByType).join(', ')}, or a list of these types; a list can also contain null`,
    );
  return { types: types.length > 0 ? types : ['string'], nullable };
}

function parseBounds(json: JsonObject, loc: Loc, state: ParseState) {
  const count = (keyword: string) => parseNumber(json[keyword], [...loc, keyword], state, true);
  const bound = (keyword: string) => parseNumber(json[keyword], [...loc, keyword], state, false);
  const [minLength, maxLength] = [count('minLength'), count('maxLength')];
  const [minimum, maximum] = [bound('minimum'), bound('maximum')];
  if ((minLength ?? 0) > (maxLength ?? Number.POSITIVE_INFINITY))
    addFault(state, [...loc, 'minLength'], 'must not be greater than maxLength');
  if ((minimum ?? Number.NEGATIVE_INFINITY) > (maximum ?? Number.POSITIVE_INFINITY))
    addFault(state, [...loc, 'minimum'], 'must not be greater than maximum');
  const pattern = parsePattern(json.pattern, [...loc, 'pattern'], state);
  const format = json.format as FormatName | undefined;
  if (format !== undefined && !(typeof format === 'string' && Object.hasOwn(formats, format)))
    addFault(state, [...loc, 'format'], `must be one of ${Object.keys(formats).join(', ')}`);
  const bounds = { minLength, maxLength, minimum, maximum, pattern, format };
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined)) as Partial<
    typeof bounds
  >;
}

function parsePattern(json: unknown, loc: Loc, state: ParseState): Pattern | undefined {
  if (json === undefined || state.patternCost > maxPatternCost) return undefined;
  const pattern = typeof json === 'string' ? compilePattern(json) : undefined;
  if (pattern === undefined)
    return addFault(
      state,
      loc,
      'must be an RE2 pattern of at most 200 characters that compiles to at most 1,000 instructions',
    );
  state.patternCost += pattern.cost;
  if (state.patternCost > maxPatternCost)
    addFault(state, loc, "must be shorter or simpler, because this schema's patterns are too large in total");
  return pattern;
}

function parseNumber(json: unknown, loc: Loc, state: ParseState, isCount: boolean): number | undefined {
  if (json === undefined) return undefined;
  if (typeof json === 'number' && (isCount ? Number.isSafeInteger(json) && json >= 0 : Number.isFinite(json)))
    return json;
  return addFault(state, loc, isCount ? 'must be a non-negative integer' : 'must be a number');
}

function parseEnum(json: JsonObject, field: Field, loc: Loc, state: ParseState): Choices | undefined {
  const at = [...loc, 'enum'];
  const { enum: choices, enumNames: names } = json;
  const isList = Array.isArray(choices) && choices.length > 0 && choices.length <= maxEnum;
  if (choices !== undefined && !isList) addFault(state, at, `must be a list of 1 to ${maxEnum} values`);
  const fits = isList && Array.isArray(names) && names.length === choices.length && names.every(isText);
  if (names !== undefined && !fits)
    addFault(state, [...loc, 'enumNames'], 'must contain one string for each `enum` value');
  if (!isList) return undefined;
  if (countChoices(createChoices(choices)) < choices.length) addFault(state, at, 'must not contain duplicate values');
  const values = choices.filter((choice) => choice !== null || !field.nullable);
  return createChoices(values.map((choice, index) => parseEmbeddedValue(field, choice, [...at, index], state)));
}

/** Validates a value inside the document (`default`, `enum`). It must be a value that a record can have. */
function parseEmbeddedValue(field: Field, value: unknown, loc: Loc, state: ParseState): unknown {
  const validation = { ...newValidation(), steps: state.patternBudget.steps };
  const checked = validateValue(field, value, loc, validation);
  state.patternBudget.steps = validation.steps;
  for (const fault of validation.faults) addFault(state, fault.loc, fault.msg);
  if (validation.ignored.length > 0) addFault(state, loc, 'must contain only declared properties');
  return checked;
}

function parseUnique(json: unknown, { fields }: Fields, loc: Loc, state: ParseState): string[][] {
  if (json === undefined) return [];
  if (!Array.isArray(json) || json.length > maxUnique)
    return addFault(state, loc, `must be a list of at most ${maxUnique} lists of field names`) ?? [];
  for (const [index, list] of json.entries()) {
    const names: unknown[] = Array.isArray(list) ? list : [];
    const isList = names.length > 0 && names.length <= maxUniqueFields && new Set(names).size === names.length;
    if (!isList || !names.every((name) => isScalar(fields.get(name as string))))
      addFault(
        state,
        [...loc, index],
        `must contain 1 to ${maxUniqueFields} distinct field names; array and object fields aren't allowed`,
      );
  }
  const spelled = json.map((list) => JSON.stringify(list));
  if (new Set(spelled).size !== spelled.length) addFault(state, loc, 'must not contain duplicate lists');
  return json as string[][];
}

export const isScalar = (field: Field | undefined): boolean =>
  field !== undefined && !field.types.includes('array') && !field.types.includes('object');

function unwrap<T extends object>(parsed: Parsed<T>, state: ParseState): T | undefined {
  if (!('faults' in parsed)) return parsed;
  state.faults.push(...parsed.faults);
  return undefined;
}

function checkTexts(json: JsonObject, loc: Loc, state: ParseState): void {
  for (const keyword of ['title', 'description'])
    if (json[keyword] !== undefined && !isText(json[keyword])) addFault(state, [...loc, keyword], 'must be a string');
}

const isText = (value: unknown): boolean => typeof value === 'string' && isStorableText(value);

function checkKeywords(json: JsonObject, keywords: readonly string[], loc: Loc, state: ParseState): void {
  for (const keyword of Object.keys(json))
    if (!keywords.includes(keyword))
      addFault(state, [...loc, keyword], `is not a supported keyword here; use ${keywords.join(', ')}`);
}

function addFault(state: ParseState, loc: Loc, msg: string, type = 'schema_syntax'): undefined {
  state.faults.push({ loc, msg, type });
  return undefined;
}
