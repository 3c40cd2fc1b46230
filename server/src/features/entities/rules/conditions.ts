// Owns reading conditions from JSON: combinators, tests, bounds, all faults at once. Which names, operators and values
// there are is said by a language: that of rules (grammar.ts) or that of queries (query.ts).
import { elementsOf, type Fields, findField } from './fields.ts';
import { parseAttribute } from './operand.ts';
import type { Condition, Operand, Place, Test } from './rule.ts';
import { isObject } from './values.ts';

export type Loc = readonly (string | number)[];

export interface Fault {
  readonly loc: Loc;
  readonly msg: string;
  readonly type: string;
}

type Form = 'object' | 'list' | 'too_short' | 'too_long' | 'operator' | 'value';

export interface Language {
  /** Conditions within conditions, the outermost counted. */
  readonly depth: number;
  /** Conditions and tests. */
  readonly nodes: number;
  readonly entries: readonly [least: number, most: number];
  readonly tests: number;
  readonly listed: number;
  readonly operators: ReadonlySet<string>;
  /** The type of each kind of fault. */
  readonly faults: Readonly<Record<Form, string>>;
  /** Undefined when it is no name at all. In an element there are no automatic columns. */
  place(key: string, inElement: boolean): Place | undefined;
  /** A text says why it is none. */
  operand(json: unknown): Operand | string;
  /** Whether an object in the place of tests is a value to be equal to. */
  isValue(json: object): boolean;
}

const combined = 20;

interface Reading {
  readonly language: Language;
  readonly faults: Fault[];
  nodes: number;
}

interface Level {
  readonly fields: Fields | 'open';
  readonly depth: number;
  readonly inElement: boolean;
}

type Read = Condition | undefined;

export function readCondition(
  json: unknown,
  loc: Loc,
  fields: Fields,
  language: Language,
): { readonly condition: Condition } | { readonly faults: readonly Fault[] } {
  const reading: Reading = { language, faults: [], nodes: 0 };
  const condition = readObject(reading, json, loc, { fields, depth: 1, inElement: false });
  return condition === undefined || reading.faults.length > 0 ? { faults: reading.faults } : { condition };
}

function fault(reading: Reading, loc: Loc, form: Form, msg: string): undefined {
  reading.faults.push({ loc, msg, type: reading.language.faults[form] });
}

function readObject(reading: Reading, json: unknown, loc: Loc, level: Level): Read {
  const { depth, entries } = reading.language;
  if (!isObject(json)) return fault(reading, loc, 'object', 'must be an object');
  if (level.depth > depth) return fault(reading, loc, 'value', `conditions may be ${depth} deep`);
  if (!counts(reading, loc)) return undefined;
  const keys = Object.keys(json);
  if (!isWithin(reading, loc, keys.length, entries, 'entries')) return undefined;
  const parts = keys.map((key) => readEntry(reading, key, json[key], [...loc, key], level));
  return conjunction(parts);
}

function readEntry(reading: Reading, key: string, json: unknown, loc: Loc, level: Level): Read {
  const { language } = reading;
  if (key === '$and' || key === '$or' || key === '$nor') {
    const parts = readList(reading, json, loc, combined, (each, at) =>
      readObject(reading, each, [...loc, at], { ...level, depth: level.depth + 1 }),
    );
    return parts && { kind: key.slice(1) as 'and' | 'or' | 'nor', parts };
  }
  if (key === 'user_condition' && language.operators.has(key)) return readUserCondition(reading, json, loc);
  if (key.startsWith('$')) return fault(reading, loc, 'operator', 'there is no such operator');
  const place = language.place(key, level.inElement);
  if (place === undefined) return fault(reading, loc, 'value', 'not the name of a field');
  if (place.column === undefined && findField(level.fields, place.names) === undefined) {
    reading.faults.push({ loc, msg: 'the schema has no such field', type: 'unknown_field' });
    return undefined;
  }
  if (!isObject(json) || language.isValue(json)) return readEquality(reading, json, loc, place);
  return readTests(reading, json, loc, place, level);
}

function readUserCondition(reading: Reading, json: unknown, loc: Loc): Read {
  if (!isObject(json)) return fault(reading, loc, 'object', 'must be an object');
  const keys = Object.keys(json);
  if (!isWithin(reading, loc, keys.length, [1, combined], 'attributes')) return undefined;
  const parts = keys.map((key): Read => {
    const at = [...loc, key];
    const attribute = parseAttribute(key);
    if (attribute === undefined) {
      return fault(reading, at, 'value', 'an attribute is id, email, full_name, role or data.<name>');
    }
    if (!counts(reading, at)) return undefined;
    const operand = readOperand(reading, json[key], at);
    return operand && { kind: 'user', attribute, operand };
  });
  return conjunction(parts);
}

function readTests(reading: Reading, json: Readonly<Record<string, unknown>>, loc: Loc, place: Place, level: Level) {
  const keys = Object.keys(json);
  if (!isWithin(reading, loc, keys.length, [1, reading.language.tests], 'tests')) return undefined;
  return conjunction(keys.map((key) => readTest(reading, key, json[key], [...loc, key], place, level)));
}

function readTest(reading: Reading, op: string, json: unknown, loc: Loc, place: Place, level: Level): Read {
  if (!op.startsWith('$')) return fault(reading, loc, 'value', 'must be an operator');
  if (!reading.language.operators.has(op)) return fault(reading, loc, 'operator', 'there is no such operator');
  if (!counts(reading, loc)) return undefined;
  const test = (test: Test): Condition => ({ kind: 'field', place, test });
  switch (op) {
    case '$eq':
      return equality(reading, json, loc, place);
    case '$ne':
      return opposite(equality(reading, json, loc, place));
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte': {
      const operand = readOperand(reading, json, loc);
      return operand && test({ op: op.slice(1) as 'gt' | 'gte' | 'lt' | 'lte', operand });
    }
    case '$in':
    case '$nin': {
      const operands = readOperands(reading, json, loc);
      const read = operands && test({ op: 'in', operands });
      return op === '$in' ? read : opposite(read);
    }
    case '$all': {
      const operands = readOperands(reading, json, loc);
      return operands && test({ op: 'all', operands });
    }
    case '$exists':
      if (typeof json !== 'boolean') return fault(reading, loc, 'value', 'must be true or false');
      return json ? test({ op: 'exists' }) : opposite(test({ op: 'exists' }));
    case '$size':
      if (!Number.isSafeInteger(json) || Number(json) < 0) return fault(reading, loc, 'value', 'must be a count');
      return test({ op: 'size', length: Number(json) });
    case '$elemMatch': {
      const inside = { fields: elementsOf(level.fields, place), depth: level.depth + 1, inElement: true };
      const condition = readObject(reading, json, loc, inside);
      return condition && test({ op: 'some', condition });
    }
    case '$not':
      if (!isObject(json)) return fault(reading, loc, 'object', 'must be an object of operators');
      return opposite(readTests(reading, json, loc, place, level));
    default: {
      const operand = readOperand(reading, json, loc);
      if (operand === undefined) return undefined;
      if (operand.kind !== 'value' || typeof operand.value !== 'string') {
        return fault(reading, loc, 'value', 'must be a text');
      }
      return test({ op: op === '$contains' ? 'contains' : 'startsWith', text: operand.value });
    }
  }
}

function readEquality(reading: Reading, json: unknown, loc: Loc, place: Place): Read {
  return counts(reading, loc) ? equality(reading, json, loc, place) : undefined;
}

function equality(reading: Reading, json: unknown, loc: Loc, place: Place): Read {
  const operand = readOperand(reading, json, loc);
  return operand && { kind: 'field', place, test: { op: 'eq', operand } };
}

function readOperand(reading: Reading, json: unknown, loc: Loc): Operand | undefined {
  const operand = reading.language.operand(json);
  return typeof operand === 'string' ? fault(reading, loc, 'value', operand) : operand;
}

const readOperands = (reading: Reading, json: unknown, loc: Loc) =>
  readList(reading, json, loc, reading.language.listed, (each, at) => readOperand(reading, each, [...loc, at]));

function readList<T>(
  reading: Reading,
  json: unknown,
  loc: Loc,
  most: number,
  read: (each: unknown, at: number) => T | undefined,
): T[] | undefined {
  if (!Array.isArray(json)) return fault(reading, loc, 'list', 'must be a list');
  if (!isWithin(reading, loc, json.length, [1, most], 'items')) return undefined;
  const items = json.map(read).filter((item) => item !== undefined);
  return items.length === json.length ? items : undefined;
}

function isWithin(reading: Reading, loc: Loc, count: number, [least, most]: Language['entries'], what: string) {
  if (count < least) fault(reading, loc, 'too_short', `at least ${least} ${what}`);
  if (count > most) fault(reading, loc, 'too_long', `at most ${most} ${what}`);
  return count >= least && count <= most;
}

// Said once, where the first one too many stands.
function counts(reading: Reading, loc: Loc): boolean {
  const { nodes } = reading.language;
  reading.nodes += 1;
  if (reading.nodes === nodes + 1) fault(reading, loc, 'value', `at most ${nodes} conditions and tests in all`);
  return reading.nodes <= nodes;
}

function conjunction(parts: readonly Read[]): Read {
  const read = parts.filter((part) => part !== undefined);
  if (read.length !== parts.length) return undefined;
  return read.length === 1 ? read[0] : { kind: 'and', parts: read };
}

const opposite = (condition: Read): Read => condition && { kind: 'nor', parts: [condition] };
