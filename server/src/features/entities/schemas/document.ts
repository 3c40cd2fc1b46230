// Owns the reading of schema documents (docs/contract.md §5.1): strict, all faults at once. What is not understood is
// refused, because a keyword or rule without effect would be believed.
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText } from '../../../kit/text.ts';
import { parseFieldRules } from '../rules/field-rules.ts';
import { type Parsed, parseRules } from '../rules/grammar.ts';
import type { SchemaProperties as NamedFields } from '../rules/properties.ts';
import { isEqual, isObject } from '../rules/values.ts';
import {
  anyText,
  automaticFieldNames,
  type EntitySchema,
  type Field,
  type Fields,
  type FieldType,
  noRules,
} from './field.ts';
import { type FormatName, formats } from './formats.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import { newValidation, type Validation, validateValue } from './values.ts';

type Loc = readonly (string | number)[];
type JsonObject = Readonly<Record<string, unknown>>;

export const entityName = /^[A-Za-z]\w{0,63}$/;
const fieldName = /^[A-Za-z_]\w{0,63}$/;
// `__proto__` means something else to too many readers of JSON.
const reservedNames = new Set<string>([
  ...automaticFieldNames,
  'is_deleted',
  'deleted_date',
  'app_id',
  'entity_name',
  '__proto__',
]);

const maxBytes = 128 * 1024;
const maxProperties = 200;
const maxDepth = 5;
const maxEnum = 200;
const maxUnique = 5;
const maxUniqueFields = 3;
const maxPatternCost = 5_000;

/** The parsed schema, or what is wrong with the document. Documents of one request share what is left of `matching`. */
export function parseSchema(
  json: unknown,
  loc: Loc,
  matching: PatternBudget = newValidation(),
): { schema: EntitySchema } | { faults: Fault[] } {
  const reading: ParseState = { faults: [], propertyCount: 0, patternCost: 0, patternBudget: matching };
  const schema = parseDocument(json, loc, reading);
  return schema === undefined || reading.faults.length > 0 ? { faults: reading.faults } : { schema };
}

/** One reading of one document. */
interface ParseState {
  readonly faults: Fault[];
  propertyCount: number;
  patternCost: number;
  readonly patternBudget: PatternBudget;
}

type PatternBudget = Pick<Validation, 'steps'>;

const documentKeywords = ['name', 'type', 'title', 'description', 'properties', 'required', 'unique', 'rls'];

function parseDocument(json: unknown, loc: Loc, reading: ParseState): EntitySchema | undefined {
  if (!isObject(json)) return addFault(reading, loc, 'must be an object');
  if (Buffer.byteLength(JSON.stringify(json)) > maxBytes)
    return addFault(reading, loc, `must be at most ${maxBytes} bytes as JSON`);
  checkKeywords(json, documentKeywords, loc, reading);
  if (typeof json.name !== 'string' || !entityName.test(json.name))
    addFault(reading, [...loc, 'name'], `must match ${entityName.source}`);
  if (json.type !== undefined && json.type !== 'object') addFault(reading, [...loc, 'type'], 'must be object');
  checkTexts(json, loc, reading);
  // Rules may name any field of the document; what is wrong with a field is told once, below.
  const named = collectProperties(json.properties) ?? {};
  const inner = parseFields(json, loc, reading, 1);
  return {
    ...inner,
    name: json.name as string,
    patternCost: reading.patternCost,
    unique: parseUnique(json.unique, inner, [...loc, 'unique'], reading),
    properties: named,
    rules: unwrap(parseRules(json.rls, [...loc, 'rls'], named, 'entity'), reading)?.rules ?? noRules,
    fieldRules: unwrap(parseFieldRules(named, [...loc, 'properties']), reading)?.fieldRules ?? [],
  };
}

/** What a document declares, as far as it can be read. */
function collectProperties(json: unknown): NamedFields | undefined {
  if (!isObject(json)) return undefined;
  const named = Object.entries(json).map(([name, property]) => [name, collectProperty(property)] as const);
  return Object.fromEntries(named);
}

function collectProperty(json: unknown): NamedFields[string] {
  if (!isObject(json)) return {};
  const items = isObject(json.items) ? collectProperty(json.items) : undefined;
  return { type: json.type as string, properties: collectProperties(json.properties), items, rls: json.rls };
}

function parseFields(json: JsonObject, loc: Loc, reading: ParseState, depth: number): Fields {
  const fields = new Map<string, Field>();
  const at = [...loc, 'properties'];
  if (json.properties !== undefined && !isObject(json.properties)) addFault(reading, at, 'must be an object');
  if (depth > maxDepth && isObject(json.properties)) addFault(reading, at, `is nested deeper than ${maxDepth} levels`);
  else if (isObject(json.properties)) {
    for (const [name, property] of Object.entries(json.properties)) {
      reading.propertyCount += 1;
      if (reading.propertyCount === maxProperties + 1)
        addFault(reading, at, `has more than ${maxProperties} properties`);
      if (!fieldName.test(name)) addFault(reading, [...at, name], `a name must match ${fieldName.source}`);
      else if (reservedNames.has(name)) addFault(reading, [...at, name], 'is a name that records have by themselves');
      else fields.set(name, parseField(property, [...at, name], reading, depth));
    }
  }
  return { fields, required: parseRequired(json.required, fields, [...loc, 'required'], reading) };
}

function parseRequired(json: unknown, fields: ReadonlyMap<string, Field>, loc: Loc, reading: ParseState): Set<string> {
  if (json === undefined) return new Set();
  if (!Array.isArray(json)) addFault(reading, loc, 'must be a list of names');
  const names = Array.isArray(json) ? json : [];
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string' || !fields.has(name))
      addFault(reading, [...loc, index], 'must be the name of a property');
  }
  return new Set(names as string[]);
}

const keywordsByType: Record<FieldType, readonly string[]> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['items'],
  object: ['properties', 'required'],
};
const commonKeywords = ['type', 'title', 'description', 'enum', 'enumNames', 'default', 'rls'];

const placeholderField = anyText;

function parseField(json: unknown, loc: Loc, reading: ParseState, depth: number): Field {
  if (!isObject(json)) return addFault(reading, loc, 'must be an object') ?? placeholderField;
  const { types, nullable } = parseTypes(json.type, [...loc, 'type'], reading);
  checkKeywords(json, [...commonKeywords, ...types.flatMap((type) => keywordsByType[type])], loc, reading);
  checkTexts(json, loc, reading);
  const items = json.items === undefined ? undefined : parseItems(json.items, [...loc, 'items'], reading, depth + 1);
  const properties = json.properties === undefined ? undefined : parseFields(json, loc, reading, depth + 1);
  const plain: Field = {
    types,
    nullable,
    ...parseBounds(json, loc, reading),
    ...(items && { items }),
    ...(properties && { properties }),
  };
  const choices = parseEnum(json, plain, loc, reading);
  const field = choices === undefined ? plain : { ...plain, enum: choices };
  if (json.default === undefined || json.default === null) return field;
  return { ...field, default: parseEmbeddedValue(field, json.default, [...loc, 'default'], reading) };
}

function parseItems(json: unknown, loc: Loc, reading: ParseState, depth: number): Field {
  if (depth > maxDepth) return addFault(reading, loc, `is nested deeper than ${maxDepth} levels`) ?? placeholderField;
  return parseField(json, loc, reading, depth);
}

function parseTypes(json: unknown, loc: Loc, reading: ParseState): { types: FieldType[]; nullable: boolean } {
  const listed: unknown[] = json === undefined ? ['string'] : Array.isArray(json) ? json : [json];
  const types = listed.filter(
    (type): type is FieldType => typeof type === 'string' && Object.hasOwn(keywordsByType, type),
  );
  const nullable = Array.isArray(json) && json.includes('null');
  const isKnown = types.length + (nullable ? 1 : 0) === listed.length && new Set(listed).size === listed.length;
  if (!isKnown || types.length === 0) addFault(reading, loc, `must be of: ${Object.keys(keywordsByType).join(', ')}`);
  return { types: types.length > 0 ? types : ['string'], nullable };
}

function parseBounds(json: JsonObject, loc: Loc, reading: ParseState) {
  const count = (word: string) => parseNumber(json[word], [...loc, word], reading, true);
  const bound = (word: string) => parseNumber(json[word], [...loc, word], reading, false);
  const [minLength, maxLength] = [count('minLength'), count('maxLength')];
  const [minimum, maximum] = [bound('minimum'), bound('maximum')];
  if ((minLength ?? 0) > (maxLength ?? Number.POSITIVE_INFINITY))
    addFault(reading, [...loc, 'minLength'], 'is above maxLength');
  if ((minimum ?? Number.NEGATIVE_INFINITY) > (maximum ?? Number.POSITIVE_INFINITY))
    addFault(reading, [...loc, 'minimum'], 'is above maximum');
  const pattern = parsePattern(json.pattern, [...loc, 'pattern'], reading);
  const format = json.format as FormatName | undefined;
  if (format !== undefined && !(typeof format === 'string' && Object.hasOwn(formats, format)))
    addFault(reading, [...loc, 'format'], `must be of: ${Object.keys(formats).join(', ')}`);
  const bounds = { minLength, maxLength, minimum, maximum, pattern, format };
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined)) as Partial<
    typeof bounds
  >;
}

function parsePattern(json: unknown, loc: Loc, reading: ParseState): Pattern | undefined {
  if (json === undefined || reading.patternCost > maxPatternCost) return undefined;
  const pattern = typeof json === 'string' ? compilePattern(json) : undefined;
  if (pattern === undefined) return addFault(reading, loc, 'must be a pattern of RE2, of at most 200 characters');
  reading.patternCost += pattern.cost;
  if (reading.patternCost > maxPatternCost) addFault(reading, loc, 'makes the patterns together too large');
  return pattern;
}

function parseNumber(json: unknown, loc: Loc, reading: ParseState, isCount: boolean): number | undefined {
  if (json === undefined) return undefined;
  const holds = isCount ? Number.isSafeInteger(json) && (json as number) >= 0 : Number.isFinite(json);
  return holds
    ? (json as number)
    : addFault(reading, loc, isCount ? 'must be a whole number from 0' : 'must be a number');
}

function parseEnum(json: JsonObject, field: Field, loc: Loc, reading: ParseState): unknown[] | undefined {
  const at = [...loc, 'enum'];
  const { enum: choices, enumNames: names } = json;
  const isList = Array.isArray(choices) && choices.length > 0 && choices.length <= maxEnum;
  if (choices !== undefined && !isList) addFault(reading, at, `must be a list of 1 to ${maxEnum} values`);
  const fits = isList && Array.isArray(names) && names.length === choices.length && names.every(isText);
  if (names !== undefined && !fits) addFault(reading, [...loc, 'enumNames'], 'must be a text for each value of enum');
  if (!isList) return undefined;
  const isRepeated = choices.some((choice, index) => choices.slice(0, index).some((other) => isEqual(choice, other)));
  if (isRepeated) addFault(reading, at, 'must not repeat a value');
  const values = choices.filter((choice) => choice !== null || !field.nullable);
  return values.map((choice, index) => parseEmbeddedValue(field, choice, [...at, index], reading));
}

/** A value in the document itself must be one that a record may have. */
function parseEmbeddedValue(field: Field, value: unknown, loc: Loc, reading: ParseState): unknown {
  const found = { ...newValidation(), steps: reading.patternBudget.steps };
  const checked = validateValue(field, value, loc, found);
  reading.patternBudget.steps = found.steps;
  for (const fault of found.faults) addFault(reading, fault.loc, fault.msg);
  if (found.ignored.length > 0) addFault(reading, loc, 'has a name that is no property');
  return checked;
}

function parseUnique(json: unknown, { fields }: Fields, loc: Loc, reading: ParseState): string[][] {
  if (json === undefined) return [];
  if (!Array.isArray(json) || json.length > maxUnique)
    return addFault(reading, loc, `must be at most ${maxUnique} lists of names`) ?? [];
  for (const [index, list] of json.entries()) {
    const names: unknown[] = Array.isArray(list) ? list : [];
    const isList = names.length > 0 && names.length <= maxUniqueFields && new Set(names).size === names.length;
    if (!isList || !names.every((name) => isScalar(fields.get(name as string))))
      addFault(
        reading,
        [...loc, index],
        `must be 1 to ${maxUniqueFields} different names of fields that hold one value`,
      );
  }
  const spelled = json.map((list) => JSON.stringify(list));
  if (new Set(spelled).size !== spelled.length) addFault(reading, loc, 'must not repeat a list');
  return json as string[][];
}

export const isScalar = (field: Field | undefined): boolean =>
  field !== undefined && !field.types.includes('array') && !field.types.includes('object');

function unwrap<T extends object>(parsed: Parsed<T>, reading: ParseState): T | undefined {
  if (!('faults' in parsed)) return parsed;
  reading.faults.push(...parsed.faults);
  return undefined;
}

function checkTexts(json: JsonObject, loc: Loc, reading: ParseState): void {
  for (const word of ['title', 'description'])
    if (json[word] !== undefined && !isText(json[word])) addFault(reading, [...loc, word], 'must be a text');
}

const isText = (value: unknown): boolean => typeof value === 'string' && isStorableText(value);

function checkKeywords(json: JsonObject, words: readonly string[], loc: Loc, reading: ParseState): void {
  for (const word of Object.keys(json))
    if (!words.includes(word)) addFault(reading, [...loc, word], 'is not understood here');
}

function addFault(reading: ParseState, loc: Loc, msg: string, type = 'schema_syntax'): undefined {
  reading.faults.push({ loc, msg, type });
  return undefined;
}
