// Parses conditions from JSON, including combinators, tests and limits. Reports all faults together. Rules
// (grammar.ts) and queries (query/query.ts) each have a dialect, which defines the allowed paths, operators and values.
import { parseAttribute } from './operand.ts';
import { findElementProperties, findProperty, type SchemaProperties } from './properties.ts';
import type { Attribute, Comparator, Condition, Operand, OperandList, Path, Test } from './rule.ts';
import { isObject, isScalarValue } from './values.ts';

export type Loc = readonly (string | number)[];

export interface Fault {
  readonly loc: Loc;
  readonly msg: string;
  readonly type: string;
}

type FaultKind = 'object' | 'list' | 'too_short' | 'too_long' | 'operator' | 'value';

export interface Dialect {
  /** The maximum nesting depth of conditions. The outermost condition has depth one. */
  readonly maxDepth: number;
  /** The maximum number of conditions and tests combined. */
  readonly maxNodes: number;
  /** The minimum and maximum number of entries in one condition. */
  readonly entries: readonly [min: number, max: number];
  readonly maxTests: number;
  readonly maxListItems: number;
  /** The maximum number of templates that are embedded in other text. */
  readonly maxTextTemplates: number;
  readonly operators: ReadonlySet<string>;
  /** The `type` of each kind of fault in the 422 response. */
  readonly faultTypes: Readonly<Record<FaultKind, string>>;
  /** Returns undefined if the key is not a valid path. Elements have no automatic columns. */
  parsePath(key: string, inElement: boolean): Path | undefined;
  /** Returns a message if the value is not a valid operand. */
  parseOperand(json: unknown): Operand | string;
  /** Whether an object is a value to compare with, rather than a set of tests. */
  isLiteral(json: object): boolean;
}

/** The maximum number of conditions in a combinator, or of attributes in `user_condition`. */
export const maxCombined = 20;
const combinators = new Map<string, 'and' | 'or' | 'nor'>([
  ['$and', 'and'],
  ['$or', 'or'],
  ['$nor', 'nor'],
]);
const comparators = new Map<string, Comparator>([
  ['$gt', 'gt'],
  ['$gte', 'gte'],
  ['$lt', 'lt'],
  ['$lte', 'lte'],
]);

interface ParseState {
  readonly dialect: Dialect;
  readonly faults: Fault[];
  nodeCount: number;
  /** The number of templates embedded in other text so far. */
  templateCount: number;
}

/**
 * The scope in which a condition's names are looked up: the record's properties, or the properties of an array's
 * elements.
 */
interface Scope {
  readonly properties: SchemaProperties | 'open';
  readonly depth: number;
  readonly inElement: boolean;
}

/** Undefined if faults were recorded. */
type ParsedCondition = Condition | undefined;

export function parseCondition(
  json: unknown,
  loc: Loc,
  properties: SchemaProperties,
  dialect: Dialect,
): { readonly condition: Condition } | { readonly faults: readonly Fault[] } {
  const state: ParseState = { dialect, faults: [], nodeCount: 0, templateCount: 0 };
  const condition = parseObject(state, json, loc, { properties, depth: 1, inElement: false });
  return condition === undefined || state.faults.length > 0 ? { faults: state.faults } : { condition };
}

function addFault(state: ParseState, loc: Loc, kind: FaultKind, msg: string): undefined {
  state.faults.push({ loc, msg, type: state.dialect.faultTypes[kind] });
}

function parseObject(state: ParseState, json: unknown, loc: Loc, scope: Scope): ParsedCondition {
  const { maxDepth, entries } = state.dialect;
  if (!isObject(json)) return addFault(state, loc, 'object', 'must be an object');
  if (scope.depth > maxDepth) return addFault(state, loc, 'value', `is nested deeper than ${maxDepth} levels`);
  if (!countNode(state, loc)) return undefined;
  const keys = Object.keys(json);
  if (!checkCount(state, loc, keys.length, entries, 'entries')) return undefined;
  const parts = keys.map((key) => parseEntry(state, key, json[key], [...loc, key], scope));
  return joinWithAnd(parts);
}

function parseEntry(state: ParseState, key: string, json: unknown, loc: Loc, scope: Scope): ParsedCondition {
  const { dialect } = state;
  const combinator = combinators.get(key);
  if (combinator !== undefined) {
    const parts = parseList(state, json, loc, maxCombined, (each, at) =>
      parseObject(state, each, [...loc, at], { ...scope, depth: scope.depth + 1 }),
    );
    return parts && { kind: combinator, parts };
  }
  if (key === 'user_condition' && dialect.operators.has(key)) return parseUserCondition(state, json, loc);
  if (key.startsWith('$'))
    return addFault(state, loc, 'operator', `is not supported here; use ${[...combinators.keys()].join(', ')}`);
  const path = dialect.parsePath(key, scope.inElement);
  if (path === undefined) {
    const isWithoutPrefix = dialect.parsePath(`data.${key}`, scope.inElement) !== undefined;
    const msg = isWithoutPrefix
      ? `must be data.${key}, because the names of record fields start with data`
      : 'must be a field name';
    return addFault(state, loc, 'value', msg);
  }
  if (path.column === undefined && findProperty(scope.properties, path.names) === undefined) {
    state.faults.push({ loc, msg: 'is not a field in the schema', type: 'unknown_field' });
    return undefined;
  }
  if (!isObject(json) || dialect.isLiteral(json)) return parseCountedEquality(state, json, loc, path);
  return parseTests(state, json, loc, path, scope);
}

function parseUserCondition(state: ParseState, json: unknown, loc: Loc): ParsedCondition {
  if (!isObject(json)) return addFault(state, loc, 'object', 'must be an object');
  const keys = Object.keys(json);
  if (!checkCount(state, loc, keys.length, [1, maxCombined], 'attributes')) return undefined;
  const parts = keys.map((key): ParsedCondition => {
    const at = [...loc, key];
    const attribute = parseAttribute(key);
    if (attribute === undefined) {
      return addFault(state, at, 'value', 'must be id, email, full_name, role or data.<name>');
    }
    if (!countNode(state, at)) return undefined;
    const operand = parseOperand(state, json[key], at);
    return operand && { kind: 'user', attribute, operand };
  });
  return joinWithAnd(parts);
}

function parseTests(state: ParseState, json: Readonly<Record<string, unknown>>, loc: Loc, path: Path, scope: Scope) {
  const keys = Object.keys(json);
  if (!checkCount(state, loc, keys.length, [1, state.dialect.maxTests], 'tests')) return undefined;
  return joinWithAnd(
    keys.map((key) => parseTest({ state, op: key, json: json[key], loc: [...loc, key], path, scope })),
  );
}

function parseTest({
  state,
  op,
  json,
  loc,
  path,
  scope,
}: {
  readonly state: ParseState;
  readonly op: string;
  readonly json: unknown;
  readonly loc: Loc;
  readonly path: Path;
  readonly scope: Scope;
}): ParsedCondition {
  if (!op.startsWith('$')) return addFault(state, loc, 'value', 'must be an operator such as $eq');
  const { operators } = state.dialect;
  if (!operators.has(op))
    return addFault(state, loc, 'operator', `is not a supported operator; use ${[...operators].join(', ')}`);
  if (!countNode(state, loc)) return undefined;
  const toCondition = (test: Test): Condition => ({ kind: 'field', path, test });
  const comparator = comparators.get(op);
  if (comparator !== undefined) {
    const operand = parseOperand(state, json, loc);
    return operand && toCondition({ op: comparator, operand });
  }
  switch (op) {
    case '$eq':
      return parseEquality(state, json, loc, path);
    case '$ne':
      return negate(parseEquality(state, json, loc, path));

    case '$in':
    case '$nin': {
      const operands = parseOperands(state, json, loc);
      const condition = operands && toCondition({ op: 'in', operands });
      return op === '$in' ? condition : negate(condition);
    }
    case '$all': {
      const operands = parseOperands(state, json, loc);
      return operands && toCondition({ op: 'all', operands });
    }
    case '$exists':
      if (typeof json !== 'boolean') return addFault(state, loc, 'value', 'must be true or false');
      return json ? toCondition({ op: 'exists' }) : negate(toCondition({ op: 'exists' }));
    case '$size':
      if (!Number.isSafeInteger(json) || Number(json) < 0)
        return addFault(state, loc, 'value', 'must be a non-negative integer');
      return toCondition({ op: 'size', length: Number(json) });
    case '$elemMatch': {
      const properties = findElementProperties(scope.properties, path);
      const condition = parseObject(state, json, loc, { properties, depth: scope.depth + 1, inElement: true });
      return condition && toCondition({ op: 'some', condition });
    }
    case '$not':
      if (!isObject(json)) return addFault(state, loc, 'object', 'must be an object that contains operators');
      return negate(parseTests(state, json, loc, path, scope));
    default: {
      const operand = parseOperand(state, json, loc);
      if (operand === undefined) return undefined;
      if (operand.kind !== 'value' || typeof operand.value !== 'string') {
        return addFault(state, loc, 'value', 'must be a string');
      }
      return toCondition({ op: op === '$contains' ? 'contains' : 'startsWith', text: operand.value });
    }
  }
}

function parseCountedEquality(state: ParseState, json: unknown, loc: Loc, path: Path): ParsedCondition {
  return countNode(state, loc) ? parseEquality(state, json, loc, path) : undefined;
}

function parseEquality(state: ParseState, json: unknown, loc: Loc, path: Path): ParsedCondition {
  const operand = parseOperand(state, json, loc);
  return operand && { kind: 'field', path, test: { op: 'eq', operand } };
}

function parseOperand(state: ParseState, json: unknown, loc: Loc): Operand | undefined {
  const operand = state.dialect.parseOperand(json);
  if (typeof operand === 'string') return addFault(state, loc, 'value', operand);
  if (operand.kind === 'text' && !countTemplates(state, operand.pieces, loc)) return undefined;
  return operand;
}

function parseOperands(state: ParseState, json: unknown, loc: Loc): OperandList | undefined {
  const { maxListItems } = state.dialect;
  const operands = parseList(state, json, loc, maxListItems, (each, at) => parseOperand(state, each, [...loc, at]));
  if (operands === undefined) return undefined;
  const scalars = new Set<unknown>();
  const others: Operand[] = [];
  for (const operand of operands) {
    if (operand.kind === 'value' && isScalarValue(operand.value)) scalars.add(operand.value);
    else others.push(operand);
  }
  return { scalars, others };
}

function parseList<T>(
  state: ParseState,
  json: unknown,
  loc: Loc,
  maxItems: number,
  parseItem: (each: unknown, at: number) => T | undefined,
): T[] | undefined {
  if (!Array.isArray(json)) return addFault(state, loc, 'list', 'must be a list');
  if (!checkCount(state, loc, json.length, [1, maxItems], 'items')) return undefined;
  const items = json.map(parseItem).filter((item) => item !== undefined);
  return items.length === json.length ? items : undefined;
}

const singular = { entries: 'entry', attributes: 'attribute', tests: 'test', items: 'item' } as const;

/** Returns false and records a fault if the count is out of range. */
function checkCount(
  state: ParseState,
  loc: Loc,
  count: number,
  [min, max]: Dialect['entries'],
  what: keyof typeof singular,
): boolean {
  if (count < min)
    addFault(state, loc, 'too_short', `must contain at least ${min} ${min === 1 ? singular[what] : what}`);
  if (count > max) addFault(state, loc, 'too_long', `must contain at most ${max} ${what}`);
  return count >= min && count <= max;
}

/** Counts one more node. Returns false if the limit is exceeded, and records a fault the first time. */
function countNode(state: ParseState, loc: Loc): boolean {
  const { maxNodes } = state.dialect;
  state.nodeCount += 1;
  if (state.nodeCount === maxNodes + 1)
    addFault(state, loc, 'value', `must contain at most ${maxNodes} conditions and tests in total`);
  return state.nodeCount <= maxNodes;
}

/** Attributes are inserted into the text for every comparison, so the number of templates in a rule is limited. */
function countTemplates(state: ParseState, pieces: readonly (string | Attribute)[], loc: Loc): boolean {
  const { maxTextTemplates } = state.dialect;
  const before = state.templateCount;
  state.templateCount += pieces.filter((piece) => typeof piece !== 'string').length;
  if (before <= maxTextTemplates && state.templateCount > maxTextTemplates)
    addFault(state, loc, 'value', `must contain at most ${maxTextTemplates} templates embedded in other text in total`);
  return state.templateCount <= maxTextTemplates;
}

function joinWithAnd(parts: readonly ParsedCondition[]): ParsedCondition {
  const valid = parts.filter((part) => part !== undefined);
  if (valid.length !== parts.length) return undefined;
  return valid.length === 1 ? valid[0] : { kind: 'and', parts: valid };
}

const negate = (condition: ParsedCondition): ParsedCondition => condition && { kind: 'nor', parts: [condition] };
