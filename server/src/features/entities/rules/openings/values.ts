// Finds a value that meets given tests, or shows that there is none, by trying the values that the tests
// distinguish. For `level > 3` and not `level in [4, 5]`, these are 3, 4, 5, the values next to and between them, and a
// missing value.
import { type StepBudget, spendSteps } from '../budget.ts';
import { evaluateCondition } from '../decision/evaluate.ts';
import type { Condition, DataRecord, Test } from '../rule.ts';
import { isObject, isScalarValue } from '../values.ts';

/** The values that a field can have. */
export interface FieldShape {
  readonly types: readonly string[];
  /** If set, the only values that the field can have. */
  readonly choices?: readonly unknown[];
  /** Whether the field rejects some strings, in which case it may reject every string that is tried. */
  readonly isSelective: boolean;
  /** Some of the values that the field accepts. */
  readonly samples: readonly unknown[];
  /** Whether a new record has a value even if none is sent. */
  readonly hasDefault: boolean;
  readonly items?: FieldShape;
  readonly properties?: ObjectShape;
  accepts(value: unknown): boolean;
}

export interface ObjectShape {
  readonly fields: ReadonlyMap<string, FieldShape>;
  readonly required: ReadonlySet<string>;
}

/** `any` is a value inside an object whose fields are not declared. */
export type Shape = FieldShape | 'any';

/** A test of a value, or of a value nested inside it, with the wanted verdict. The test's operands are plain values. */
export interface Literal {
  readonly names: readonly string[];
  readonly test: Test;
  readonly wanted: boolean;
}

/**
 * Raised when the search gives up although a value might exist. In that case, finding none does not prove that there is
 * none.
 */
export interface Doubt {
  isRaised: boolean;
}

export interface ValueContext {
  readonly budget: StepBudget;
  readonly doubt: Doubt;
  /** Finds an object on which all `met` conditions are true and all `unmet` conditions are false. */
  findObject(shape: Shape, met: readonly Condition[], unmet: readonly Condition[]): object | undefined;
}

/**
 * Returns undefined if no value was found, and raises the doubt if there may be one. If `value` is undefined in the
 * result, the field is missing.
 */
export function findFittingValue(
  shape: Shape,
  literals: readonly Literal[],
  mayBeMissing: boolean,
  context: ValueContext,
): { readonly value: unknown } | undefined {
  if (mayBeMissing && tryValue('any', literals, undefined, context) === 'fits') return { value: undefined };
  let isTextRefused = false;
  for (const value of listCandidates(shape, literals, context)) {
    const fit = tryValue(shape, literals, value, context);
    if (fit === 'fits') return { value };
    if (fit === 'refused' && typeof value === 'string') isTextRefused = true;
  }
  const isSelective = shape !== 'any' && shape.isSelective && shape.choices === undefined;
  if (isSelective && isTextRefused && !literals.some(isPinned)) context.doubt.isRaised = true;
  if (literals.some(isHard)) context.doubt.isRaised = true;
  return undefined;
}

/** Only the values named in the test can meet it. */
const isPinned = ({ names, test, wanted }: Literal): boolean =>
  wanted && names.length === 0 && (test.op === 'eq' || test.op === 'in');

/** Tests of substrings, objects and arrays can be met in too many ways to try them all. */
const isHard = ({ test }: Literal): boolean =>
  test.op === 'contains' || test.op === 'startsWith' || listConstants(test).some((value) => !isScalarValue(value));

/** The first candidate that meets the literals. */
export function findCandidate(
  candidates: Iterable<unknown>,
  literals: readonly Literal[],
  context: ValueContext,
): { readonly value: unknown } | undefined {
  for (const value of candidates) if (tryValue('any', literals, value, context) === 'fits') return { value };
  return undefined;
}

// Checking whether a field accepts a value takes about as long as this many steps.
const acceptSteps = 10;

/** `refused` means that the value meets the literals but that the field does not accept it. */
function tryValue(
  shape: Shape,
  literals: readonly Literal[],
  value: unknown,
  { budget }: ValueContext,
): 'fits' | 'refused' | 'unmet' {
  spendSteps(budget, 1);
  if (!literals.every((literal) => isMet(literal, value, budget))) return 'unmet';
  if (shape === 'any') return 'fits';
  spendSteps(budget, acceptSteps * (Array.isArray(value) ? value.length + 1 : 1));
  return shape.accepts(value) ? 'fits' : 'refused';
}

export function isMet({ names, test, wanted }: Literal, value: unknown, budget: StepBudget): boolean {
  spendSteps(budget, 2);
  const path = { names: ['value', ...names] };
  const context = { principal: undefined, record: noRecord, data: { value }, budget };
  return (evaluateCondition({ kind: 'field', path, test }, context) === true) === wanted;
}

/** An empty record, because literals only test the value itself. */
const noRecord: DataRecord = {
  id: '',
  created_by: '',
  created_by_id: '',
  created_date: '',
  updated_date: '',
  is_sample: false,
  data: {},
};

function* listCandidates(shape: Shape, literals: readonly Literal[], context: ValueContext): Generator<unknown> {
  const own = literals.filter(({ names }) => names.length === 0);
  const constants = own.flatMap(({ test }) => listConstants(test));
  spendSteps(context.budget, constants.length + literals.length);
  if (shape !== 'any' && shape.choices !== undefined) {
    yield* shape.choices;
    return;
  }
  const mayBe = (...types: string[]) => shape === 'any' || types.some((type) => shape.types.includes(type));
  yield* constants;
  if (shape !== 'any') yield* shape.samples;
  if (mayBe('string')) yield* listTexts(constants);
  if (mayBe('number', 'integer')) yield* listNumbers(constants);
  if (mayBe('boolean')) yield* [true, false];
  if (mayBe('array')) yield* listArrays(shape === 'any' ? 'any' : (shape.items ?? 'any'), own, context);
  if (mayBe('object')) yield* listObjects(shape === 'any' ? undefined : shape.properties, literals, context);
}

/** The values that a test compares with, except null, which represents a missing value. */
export function listConstants(test: Test): unknown[] {
  switch (test.op) {
    case 'eq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return test.operand.kind === 'value' && test.operand.value !== null ? [test.operand.value] : [];
    case 'in':
    case 'all': {
      const others = test.operands.others.flatMap((each) => (each.kind === 'value' ? [each.value] : []));
      return [...test.operands.scalars, ...others].filter((value) => value !== null);
    }
    case 'contains':
    case 'startsWith':
      return [test.text];
    default:
      return [];
  }
}

const freshTexts = ['other', 'another', 'x', 'y', 'z', '', '0', '~', 'other 1', 'other 2', 'other 3'];

/** Strings that tests are unlikely to contain, and the strings next to each constant in code point order. */
function* listTexts(constants: readonly unknown[]): Generator<string> {
  yield* freshTexts;
  for (const text of constants) {
    if (typeof text !== 'string') continue;
    yield* listDaysBeside(text);
    yield* [`${text} `, text.slice(0, -1), `${text}\u0001`];
  }
}

const dayMs = 24 * 60 * 60 * 1000;

/** The days before and after a date like `2026-03-01`, in the same format. */
function listDaysBeside(text: string): string[] {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) return [];
  return [time - dayMs, time + dayMs]
    .map((each) => new Date(each))
    .filter((each) => each.getTime() > 0 && each.getUTCFullYear() < 10_000)
    .map((each) => (text.length > 10 ? each.toISOString() : each.toISOString().slice(0, 10)));
}

/** Numbers below, next to, between and above the constants. */
export function* listNumbers(constants: readonly unknown[]): Generator<number> {
  const sorted = constants.filter((value) => typeof value === 'number').toSorted((a, b) => a - b);
  for (const [at, value] of sorted.entries()) {
    yield* [value - 1, value + 1, Math.floor(value), Math.ceil(value)];
    const next = sorted[at + 1];
    if (next !== undefined) yield (value + next) / 2;
  }
  yield* [0, 1, -1, 2, 0.5, Number.MAX_VALUE, -Number.MAX_VALUE];
}

const maxChosen = 64;
const maxUnwantedSizes = 16;

/** Arrays of the wanted size that contain the wanted elements. */
function* listArrays(items: Shape, own: readonly Literal[], context: ValueContext): Generator<unknown[]> {
  yield [];
  const met = own.filter(({ wanted }) => wanted).map(({ test }) => test);
  const unmet = own.filter(({ wanted }) => !wanted);
  const sizes = met.flatMap((test) => (test.op === 'size' ? [test.length] : []));
  const required = met.flatMap((test) => (test.op === 'eq' || test.op === 'all' ? listElementsOf(test) : []));
  const choices = met.flatMap((test) => (test.op === 'in' ? [listElementsOf(test)] : []));
  const unwantedSizes = unmet.filter(({ test }) => test.op === 'size').length;
  const isJoined = met.filter(({ op }) => op === 'some').length > 1 && sizes.length > 0;
  const isCut = choices.some(({ length }) => length > maxChosen) || sizes.some((size) => size > maxPadded);
  if (isJoined || isCut || unwantedSizes > maxUnwantedSizes) context.doubt.isRaised = true;
  const filler = findFiller(items, unmet, context);
  const added = Array.from({ length: Math.min(unwantedSizes, maxUnwantedSizes) + 2 }, (_none, more) => more);
  for (const objects of listElements(items, met, unmet, context)) {
    for (const scalars of listChosen(required, choices)) {
      const elements = [...scalars, ...objects];
      for (const length of sizes.length > 0 ? sizes.slice(0, 1) : added.map((more) => elements.length + more)) {
        const padding = elements.length > 0 ? { value: elements[0] } : filler;
        if (elements.length > length || length > maxPadded || (padding === undefined && length > 0)) continue;
        spendSteps(context.budget, length);
        yield [...elements, ...Array.from({ length: length - elements.length }, () => padding?.value)];
      }
    }
  }
}

const maxPadded = 1_000;

/** The values that the test looks for in an array. Unlike other values, an element may be null. */
const listElementsOf = (test: Test): unknown[] => [...listConstants(test), ...(isAboutNull(test) ? [null] : [])];

const isAboutNull = (test: Test): boolean =>
  'operands' in test
    ? test.operands.scalars.has(null)
    : test.op === 'eq' && test.operand.kind === 'value' && test.operand.value === null;

/** The required scalars, combined with one value from each list of choices. */
function* listChosen(required: readonly unknown[], choices: readonly unknown[][]): Generator<unknown[]> {
  const unique = [...new Set(required)];
  const missing = choices.find((list) => !list.some((value) => unique.includes(value)));
  if (missing === undefined) {
    yield unique;
    return;
  }
  for (const value of missing.slice(0, maxChosen)) yield* listChosen([...unique, value], choices);
}

/** Objects that meet the conditions on elements: one object for all conditions, or one for each. */
function* listElements(
  items: Shape,
  met: readonly Test[],
  unmet: readonly Literal[],
  { findObject }: ValueContext,
): Generator<object[]> {
  const wanted = met.flatMap((test) => (test.op === 'some' ? [test.condition] : []));
  if (wanted.length === 0) {
    yield [];
    return;
  }
  const excluded = listExcluded(unmet);
  const together = findObject(items, wanted, excluded);
  if (together !== undefined) yield [together];
  const each = wanted.map((condition) => findObject(items, [condition], excluded)).filter((one) => one !== undefined);
  if (wanted.length > 1 && each.length === wanted.length) yield each;
}

const listExcluded = (unmet: readonly Literal[]): Condition[] =>
  unmet.flatMap(({ test }) => (test.op === 'some' ? [test.condition] : []));

/** An element that no test looks for. */
function findFiller(items: Shape, unmet: readonly Literal[], context: ValueContext): { value: unknown } | undefined {
  const scalarTests = unmet.filter(({ test }) => test.op === 'eq' || test.op === 'in' || test.op === 'all');
  const found = findFittingValue(items, scalarTests, false, context);
  if (found !== undefined && !isObject(found.value)) return found;
  const value = context.findObject(items, [], listExcluded(unmet));
  return value === undefined ? undefined : { value };
}

/** An object whose fields meet their literals. */
function* listObjects(
  properties: ObjectShape | undefined,
  literals: readonly Literal[],
  context: ValueContext,
): Generator<object> {
  const inner = Map.groupBy(
    literals.filter(({ names }) => names.length > 0),
    ({ names }) => names[0] ?? '',
  );
  const entries: [string, unknown][] = [];
  for (const name of new Set([...inner.keys(), ...(properties?.required ?? [])])) {
    const shape = properties === undefined ? 'any' : properties.fields.get(name);
    const mayBeMissing = !properties?.required.has(name);
    const within = (inner.get(name) ?? []).map((each) => ({ ...each, names: each.names.slice(1) }));
    const found =
      shape === undefined
        ? findCandidate([undefined], within, context)
        : findFittingValue(shape, within, mayBeMissing, context);
    if (found === undefined) return;
    if (found.value !== undefined) entries.push([name, found.value]);
  }
  yield Object.fromEntries(entries);
}
