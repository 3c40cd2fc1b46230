// Owns the reading of schema documents (docs/contract.md §5.1): strict, all faults at once. What is not understood is
// refused, because a keyword or rule without effect would be believed.
import type { Fault } from '../../../kit/http/faults.ts';
import { isStorableText } from '../../../kit/text.ts';
import { parseFieldRules } from '../rules/field-rules.ts';
import type { Fields as NamedFields } from '../rules/fields.ts';
import { type Parsed, parseRules } from '../rules/grammar.ts';
import { isObject, isSame } from '../rules/values.ts';
import {
  automaticNames,
  type EntitySchema,
  type Field,
  type Fields,
  type FieldType,
  noRules,
  plainText,
} from './field.ts';
import { type FormatName, formats } from './formats.ts';
import { type Pattern, patternOf } from './pattern.ts';
import { checkedValue, type Findings, nothingFound } from './values.ts';

type Loc = readonly (string | number)[];
type Plain = Readonly<Record<string, unknown>>;

export const entityName = /^[A-Za-z]\w{0,63}$/;
const fieldName = /^[A-Za-z_]\w{0,63}$/;
// `__proto__` means something else to too many readers of JSON.
const reservedNames = new Set<string>([
  ...automaticNames,
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
  matching: Matching = nothingFound(),
): { schema: EntitySchema } | { faults: Fault[] } {
  const reading: Reading = { faults: [], properties: 0, patternCost: 0, matching };
  const schema = readDocument(json, loc, reading);
  return schema === undefined || reading.faults.length > 0 ? { faults: reading.faults } : { schema };
}

/** One reading of one document. */
interface Reading {
  readonly faults: Fault[];
  properties: number;
  patternCost: number;
  readonly matching: Matching;
}

type Matching = Pick<Findings, 'steps'>;

const documentWords = ['name', 'type', 'title', 'description', 'properties', 'required', 'unique', 'rls'];

function readDocument(json: unknown, loc: Loc, reading: Reading): EntitySchema | undefined {
  if (!isObject(json)) return refuse(reading, loc, 'must be an object');
  if (Buffer.byteLength(JSON.stringify(json)) > maxBytes)
    return refuse(reading, loc, `must be at most ${maxBytes} bytes as JSON`);
  onlyWords(json, documentWords, loc, reading);
  if (typeof json.name !== 'string' || !entityName.test(json.name))
    refuse(reading, [...loc, 'name'], `must match ${entityName.source}`);
  if (json.type !== undefined && json.type !== 'object') refuse(reading, [...loc, 'type'], 'must be object');
  readTexts(json, loc, reading);
  // Rules may name any field of the document; what is wrong with a field is told once, below.
  const named = namedIn(json.properties) ?? {};
  const inner = readFields(json, loc, reading, 1);
  return {
    ...inner,
    name: json.name as string,
    patternCost: reading.patternCost,
    unique: readUnique(json.unique, inner, [...loc, 'unique'], reading),
    named,
    rules: taken(parseRules(json.rls, [...loc, 'rls'], named, 'entity'), reading)?.rules ?? noRules,
    fieldRules: taken(parseFieldRules(named, [...loc, 'properties']), reading)?.fieldRules ?? [],
  };
}

/** What a document declares, as far as it can be read. */
function namedIn(json: unknown): NamedFields | undefined {
  if (!isObject(json)) return undefined;
  const named = Object.entries(json).map(([name, property]) => [name, namedField(property)] as const);
  return Object.fromEntries(named);
}

function namedField(json: unknown): NamedFields[string] {
  if (!isObject(json)) return {};
  const items = isObject(json.items) ? namedField(json.items) : undefined;
  return { type: json.type as string, properties: namedIn(json.properties), items, rls: json.rls };
}

function readFields(json: Plain, loc: Loc, reading: Reading, depth: number): Fields {
  const fields = new Map<string, Field>();
  const at = [...loc, 'properties'];
  if (json.properties !== undefined && !isObject(json.properties)) refuse(reading, at, 'must be an object');
  if (depth > maxDepth && isObject(json.properties)) refuse(reading, at, `is nested deeper than ${maxDepth} levels`);
  else if (isObject(json.properties)) {
    for (const [name, property] of Object.entries(json.properties)) {
      reading.properties += 1;
      if (reading.properties === maxProperties + 1) refuse(reading, at, `has more than ${maxProperties} properties`);
      if (!fieldName.test(name)) refuse(reading, [...at, name], `a name must match ${fieldName.source}`);
      else if (reservedNames.has(name)) refuse(reading, [...at, name], 'is a name that records have by themselves');
      else fields.set(name, readField(property, [...at, name], reading, depth));
    }
  }
  return { fields, required: readRequired(json.required, fields, [...loc, 'required'], reading) };
}

function readRequired(json: unknown, fields: ReadonlyMap<string, Field>, loc: Loc, reading: Reading): Set<string> {
  if (json === undefined) return new Set();
  if (!Array.isArray(json)) refuse(reading, loc, 'must be a list of names');
  const names = Array.isArray(json) ? json : [];
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string' || !fields.has(name))
      refuse(reading, [...loc, index], 'must be the name of a property');
  }
  return new Set(names as string[]);
}

const wordsOf: Record<FieldType, readonly string[]> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['items'],
  object: ['properties', 'required'],
};
const anyTypeWords = ['type', 'title', 'description', 'enum', 'enumNames', 'default', 'rls'];

const nowhere = plainText;

function readField(json: unknown, loc: Loc, reading: Reading, depth: number): Field {
  if (!isObject(json)) return refuse(reading, loc, 'must be an object') ?? nowhere;
  const { types, nullable } = readTypes(json.type, [...loc, 'type'], reading);
  onlyWords(json, [...anyTypeWords, ...types.flatMap((type) => wordsOf[type])], loc, reading);
  readTexts(json, loc, reading);
  const items = json.items === undefined ? undefined : readItems(json.items, [...loc, 'items'], reading, depth + 1);
  const properties = json.properties === undefined ? undefined : readFields(json, loc, reading, depth + 1);
  const plain: Field = {
    types,
    nullable,
    ...readBounds(json, loc, reading),
    ...(items && { items }),
    ...(properties && { properties }),
  };
  const choices = readEnum(json, plain, loc, reading);
  const field = choices === undefined ? plain : { ...plain, enum: choices };
  if (json.default === undefined || json.default === null) return field;
  return { ...field, default: fitting(field, json.default, [...loc, 'default'], reading) };
}

function readItems(json: unknown, loc: Loc, reading: Reading, depth: number): Field {
  if (depth > maxDepth) return refuse(reading, loc, `is nested deeper than ${maxDepth} levels`) ?? nowhere;
  return readField(json, loc, reading, depth);
}

function readTypes(json: unknown, loc: Loc, reading: Reading): { types: FieldType[]; nullable: boolean } {
  const listed: unknown[] = json === undefined ? ['string'] : Array.isArray(json) ? json : [json];
  const types = listed.filter((type): type is FieldType => typeof type === 'string' && Object.hasOwn(wordsOf, type));
  const nullable = Array.isArray(json) && json.includes('null');
  const isKnown = types.length + (nullable ? 1 : 0) === listed.length && new Set(listed).size === listed.length;
  if (!isKnown || types.length === 0) refuse(reading, loc, `must be of: ${Object.keys(wordsOf).join(', ')}`);
  return { types: types.length > 0 ? types : ['string'], nullable };
}

function readBounds(json: Plain, loc: Loc, reading: Reading) {
  const count = (word: string) => readNumber(json[word], [...loc, word], reading, true);
  const bound = (word: string) => readNumber(json[word], [...loc, word], reading, false);
  const [minLength, maxLength] = [count('minLength'), count('maxLength')];
  const [minimum, maximum] = [bound('minimum'), bound('maximum')];
  if ((minLength ?? 0) > (maxLength ?? Number.POSITIVE_INFINITY))
    refuse(reading, [...loc, 'minLength'], 'is above maxLength');
  if ((minimum ?? Number.NEGATIVE_INFINITY) > (maximum ?? Number.POSITIVE_INFINITY))
    refuse(reading, [...loc, 'minimum'], 'is above maximum');
  const pattern = readPattern(json.pattern, [...loc, 'pattern'], reading);
  const format = json.format as FormatName | undefined;
  if (format !== undefined && !(typeof format === 'string' && Object.hasOwn(formats, format)))
    refuse(reading, [...loc, 'format'], `must be of: ${Object.keys(formats).join(', ')}`);
  const bounds = { minLength, maxLength, minimum, maximum, pattern, format };
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined)) as Partial<
    typeof bounds
  >;
}

function readPattern(json: unknown, loc: Loc, reading: Reading): Pattern | undefined {
  if (json === undefined || reading.patternCost > maxPatternCost) return undefined;
  const pattern = typeof json === 'string' ? patternOf(json) : undefined;
  if (pattern === undefined) return refuse(reading, loc, 'must be a pattern of RE2, of at most 200 characters');
  reading.patternCost += pattern.cost;
  if (reading.patternCost > maxPatternCost) refuse(reading, loc, 'makes the patterns together too large');
  return pattern;
}

function readNumber(json: unknown, loc: Loc, reading: Reading, isCount: boolean): number | undefined {
  if (json === undefined) return undefined;
  const holds = isCount ? Number.isSafeInteger(json) && (json as number) >= 0 : Number.isFinite(json);
  return holds
    ? (json as number)
    : refuse(reading, loc, isCount ? 'must be a whole number from 0' : 'must be a number');
}

function readEnum(json: Plain, field: Field, loc: Loc, reading: Reading): unknown[] | undefined {
  const at = [...loc, 'enum'];
  const { enum: choices, enumNames: names } = json;
  const isList = Array.isArray(choices) && choices.length > 0 && choices.length <= maxEnum;
  if (choices !== undefined && !isList) refuse(reading, at, `must be a list of 1 to ${maxEnum} values`);
  const fits = isList && Array.isArray(names) && names.length === choices.length && names.every(isText);
  if (names !== undefined && !fits) refuse(reading, [...loc, 'enumNames'], 'must be a text for each value of enum');
  if (!isList) return undefined;
  const isRepeated = choices.some((choice, index) => choices.slice(0, index).some((other) => isSame(choice, other)));
  if (isRepeated) refuse(reading, at, 'must not repeat a value');
  const values = choices.filter((choice) => choice !== null || !field.nullable);
  return values.map((choice, index) => fitting(field, choice, [...at, index], reading));
}

/** A value in the document itself must be one that a record may have. */
function fitting(field: Field, value: unknown, loc: Loc, reading: Reading): unknown {
  const found = { ...nothingFound(), steps: reading.matching.steps };
  const checked = checkedValue(field, value, loc, found);
  reading.matching.steps = found.steps;
  for (const fault of found.faults) refuse(reading, fault.loc, fault.msg);
  if (found.ignored.length > 0) refuse(reading, loc, 'has a name that is no property');
  return checked;
}

function readUnique(json: unknown, { fields }: Fields, loc: Loc, reading: Reading): string[][] {
  if (json === undefined) return [];
  if (!Array.isArray(json) || json.length > maxUnique)
    return refuse(reading, loc, `must be at most ${maxUnique} lists of names`) ?? [];
  for (const [index, list] of json.entries()) {
    const names: unknown[] = Array.isArray(list) ? list : [];
    const isList = names.length > 0 && names.length <= maxUniqueFields && new Set(names).size === names.length;
    if (!isList || !names.every((name) => isScalar(fields.get(name as string))))
      refuse(reading, [...loc, index], `must be 1 to ${maxUniqueFields} different names of fields that hold one value`);
  }
  const spelled = json.map((list) => JSON.stringify(list));
  if (new Set(spelled).size !== spelled.length) refuse(reading, loc, 'must not repeat a list');
  return json as string[][];
}

export const isScalar = (field: Field | undefined): boolean =>
  field !== undefined && !field.types.includes('array') && !field.types.includes('object');

function taken<T extends object>(parsed: Parsed<T>, reading: Reading): T | undefined {
  if (!('faults' in parsed)) return parsed;
  reading.faults.push(...parsed.faults);
  return undefined;
}

function readTexts(json: Plain, loc: Loc, reading: Reading): void {
  for (const word of ['title', 'description'])
    if (json[word] !== undefined && !isText(json[word])) refuse(reading, [...loc, word], 'must be a text');
}

const isText = (value: unknown): boolean => typeof value === 'string' && isStorableText(value);

function onlyWords(json: Plain, words: readonly string[], loc: Loc, reading: Reading): void {
  for (const word of Object.keys(json))
    if (!words.includes(word)) refuse(reading, [...loc, word], 'is not understood here');
}

function refuse(reading: Reading, loc: Loc, msg: string, type = 'schema_syntax'): undefined {
  reading.faults.push({ loc, msg, type });
  return undefined;
}
