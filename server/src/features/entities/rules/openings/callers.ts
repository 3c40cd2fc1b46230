// Lists the callers that the search for openings considers: anonymous callers, an ordinary app user, and users
// with the attributes that the rules test.
import type { Principal, SignedIn } from '../../../../core/auth/principal.ts';
import { type StepBudget, spendSteps } from '../budget.ts';
import type { Attribute, Condition, Operand, Path, Rule, Test, UserCondition } from '../rule.ts';
import { isScalarValue } from '../values.ts';
import { type Doubt, type FieldShape, listConstants, listNumbers, type ObjectShape } from './values.ts';

export const anonymousCaller: Principal = { kind: 'anonymous', isManager: false };

/** Strings that rules are unlikely to contain. Examples show templates such as `{{user.email}}` in their place. */
const unlikely = {
  id: (at: number) => `5e7a11ce-0000-4000-8000-${String(at).padStart(12, '0')}`,
  email: (at: number) => `some-user-${at}@app.example`,
  full_name: (at: number) => `Some User ${at}`,
};

/** Whether the text is a placeholder for one of the caller's attributes. */
export const isPlaceholder = (text: string): boolean =>
  /^(5e7a11ce-0000-4000-8000-\d{12}|some-user-\d+@app\.example|Some User \d+)$/.test(text);

/** An ordinary app user, without any attributes. */
export const anyUser: SignedIn = {
  kind: 'signed_in',
  isManager: false,
  id: unlikely.id(0),
  email: unlikely.email(0),
  full_name: unlikely.full_name(0),
  role: 'user',
  data: {},
};

/** A signed-in caller, with the attributes in which they differ from an ordinary user. */
export interface Caller {
  readonly principal: SignedIn;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface CallerInput {
  readonly before: readonly Rule[];
  readonly after: readonly Rule[];
  readonly shape: ObjectShape;
  readonly budget: StepBudget;
  /** Raised if the list of callers may be incomplete. */
  readonly doubt: Doubt;
}

/** Callers who differ in fewer attributes come first, beginning with an ordinary user. Throws StepBudgetExceeded. */
export function* listCallers(input: CallerInput): Generator<Caller> {
  const mentions = collectMentions(input);
  const names = [...mentions.keys()];
  const base = chooseBase(mentions);
  const candidates = new Map(names.map((name) => [name, listAttributeValues(name, mentions, base, input)]));
  for (let count = 0; count <= names.length; count += 1) {
    for (const changes of listCombinations(names, candidates, count)) {
      spendSteps(input.budget, callerSteps * (count + 1));
      yield toCaller(base, changes);
    }
  }
}

// Creating a caller takes about as long as this many steps.
const callerSteps = 20;

type Change = readonly [name: string, value: unknown];

function* listCombinations(
  names: readonly string[],
  candidates: ReadonlyMap<string, readonly unknown[]>,
  count: number,
): Generator<readonly Change[]> {
  if (count === 0) {
    yield [];
    return;
  }
  if (names.length < count) return;
  for (const [at, name] of names.entries()) {
    for (const rest of listCombinations(names.slice(at + 1), candidates, count - 1)) {
      for (const value of candidates.get(name) ?? []) yield [[name, value], ...rest];
    }
  }
}

function toCaller(base: SignedIn, changes: readonly Change[]): Caller {
  const isData = ([name]: Change) => name.startsWith(dataPrefix);
  const builtIn = Object.fromEntries(changes.filter((change) => !isData(change)));
  const entries = changes.filter(isData).map(([name, value]) => [name.slice(dataPrefix.length), value]);
  const data = Object.fromEntries(entries);
  return {
    principal: { ...base, ...builtIn, data },
    attributes: { ...builtIn, ...(entries.length > 0 && { data }) },
  };
}

const dataPrefix = 'data.';
const formatAttribute = (attribute: Attribute): string => attribute.builtIn ?? `${dataPrefix}${attribute.name}`;

/** Everything that the rules compare an attribute with. */
interface Mention {
  readonly constants: Set<unknown>;
  /** Constants that the rules compare with the same fields as this attribute. */
  readonly byField: Set<ReadonlySet<unknown>>;
  readonly fields: Set<FieldShape>;
  /** The text around the attribute, as in `team-{{user.data.team}}`. */
  readonly frames: Frame[];
  /** Other attributes that are compared with this one. */
  readonly linked: Set<string>;
}

interface Frame {
  readonly start: string;
  readonly end: string;
}

type Mentions = Map<string, Mention>;

interface Visit {
  readonly input: CallerInput;
  readonly mentions: Mentions;
  /** The constants that each field is compared with. Filled while the rules are visited. */
  readonly byPath: Map<string, Set<unknown>>;
}

/** Constants that appear only in the new rules come first, because they are the likely cause of an opening. */
function collectMentions(input: CallerInput): Mentions {
  const old: Visit = { input, mentions: new Map(), byPath: new Map() };
  for (const rule of input.before) if (typeof rule !== 'string') visitCondition(rule, input.shape, old);
  const known = new Set(
    [...old.byPath.values(), ...[...old.mentions.values()].map(({ constants }) => constants)].flatMap((set) => [
      ...set,
    ]),
  );
  const visit: Visit = { input, mentions: new Map(), byPath: new Map() };
  for (const rule of [...input.after, ...input.before])
    if (typeof rule !== 'string') visitCondition(rule, input.shape, visit);
  const putNewFirst = (values: Set<unknown>) => {
    for (const value of [...values]) {
      if (!known.has(value)) continue;
      values.delete(value);
      values.add(value);
    }
  };
  for (const values of visit.byPath.values()) putNewFirst(values);
  for (const { constants } of visit.mentions.values()) putNewFirst(constants);
  return visit.mentions;
}

function findMention(mentions: Mentions, attribute: Attribute): Mention {
  const name = formatAttribute(attribute);
  const known = mentions.get(name);
  if (known !== undefined) return known;
  const mention: Mention = {
    constants: new Set(),
    byField: new Set(),
    fields: new Set(),
    frames: [],
    linked: new Set(),
  };
  mentions.set(name, mention);
  return mention;
}

function visitCondition(condition: Condition, shape: ObjectShape | undefined, visit: Visit): void {
  spendSteps(visit.input.budget, 2);
  switch (condition.kind) {
    case 'and':
    case 'or':
    case 'nor':
      for (const part of condition.parts) visitCondition(part, shape, visit);
      return;
    case 'user':
      visitUserCondition(condition, visit);
      return;
    case 'field': {
      const { test, path } = condition;
      const field = findShape(shape, path);
      if (test.op === 'some') visitCondition(test.condition, field?.items?.properties, visit);
      else visitTest(path, test, field, visit);
    }
  }
}

function visitUserCondition({ attribute, operand }: UserCondition, visit: Visit): void {
  const mention = findMention(visit.mentions, attribute);
  if (operand.kind === 'value') mention.constants.add(operand.value);
  for (const other of listAttributes(operand)) {
    const linked = findMention(visit.mentions, other);
    linked.linked.add(formatAttribute(attribute));
    mention.linked.add(formatAttribute(other));
    addFrame(linked, operand, visit);
  }
}

function visitTest(path: Path, test: Test, field: FieldShape | undefined, visit: Visit): void {
  const key = JSON.stringify(path);
  const constants = visit.byPath.get(key) ?? new Set();
  visit.byPath.set(key, constants);
  const listed = listConstants(test);
  spendSteps(visit.input.budget, listed.length);
  for (const value of listed) constants.add(value);
  for (const operand of listOperands(test)) {
    for (const attribute of listAttributes(operand)) {
      spendSteps(visit.input.budget, 4);
      const mention = findMention(visit.mentions, attribute);
      if (field !== undefined) mention.fields.add(field);
      mention.byField.add(constants);
      addFrame(mention, operand, visit);
    }
  }
}

/** Text that contains several attributes is not tried, because it can match a constant in too many ways. */
function addFrame({ frames }: Mention, operand: Operand, { input }: Visit): void {
  if (operand.kind !== 'text') return;
  const at = operand.pieces.findIndex((piece) => typeof piece !== 'string');
  const isText = (piece: string | Attribute) => typeof piece === 'string';
  const [before, after] = [operand.pieces.slice(0, at), operand.pieces.slice(at + 1)];
  if (after.every(isText)) frames.push({ start: before.join(''), end: after.join('') });
  else input.doubt.isRaised = true;
}

const listAttributes = (operand: Operand): Attribute[] => {
  if (operand.kind === 'value') return [];
  return operand.kind === 'attribute'
    ? [operand.attribute]
    : operand.pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece]));
};

const listOperands = (test: Test): readonly Operand[] => {
  if ('operands' in test) return test.operands.others;
  return 'operand' in test ? [test.operand] : [];
};

function findShape(shape: ObjectShape | undefined, path: Path): FieldShape | undefined {
  if (path.column !== undefined) return path.column === 'is_sample' ? flagShape : undefined;
  let properties = shape;
  let field: FieldShape | undefined;
  for (const name of path.names) {
    field = properties?.fields.get(name);
    properties = field?.properties;
  }
  return field;
}

const flagShape: FieldShape = {
  types: ['boolean'],
  isSelective: false,
  samples: [],
  hasDefault: true,
  accepts: () => true,
};

/** An ordinary user whose id, e-mail address and name do not appear in the rules. */
function chooseBase(mentions: Mentions): SignedIn {
  const choose = (name: keyof typeof unlikely) => {
    const constants = new Set(listMentioned(mentions.get(name)));
    let at = 0;
    while (constants.has(unlikely[name](at))) at += 1;
    return unlikely[name](at);
  };
  return { ...anyUser, id: choose('id'), email: choose('email'), full_name: choose('full_name') };
}

const maxAttributeValues = 100;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const listMentioned = (mention: Mention | undefined): unknown[] =>
  mention === undefined ? [] : [...mention.constants, ...[...mention.byField].flatMap((values) => [...values])];

/** The attribute values that the rules distinguish, except the ordinary user's value. */
function listAttributeValues(
  name: string,
  mentions: Mentions,
  base: SignedIn,
  { budget, doubt }: CallerInput,
): readonly unknown[] {
  const mention = mentions.get(name);
  if (mention === undefined) return [];
  const ofBase = new Map<string, unknown>(Object.entries(base));
  const linked = [...mention.linked].flatMap((other) => [
    ...listMentioned(mentions.get(other)),
    ...(ofBase.has(other) ? [ofBase.get(other)] : []),
  ]);
  const shapes = [...mention.fields].flatMap((field) => [field, ...(field.items === undefined ? [] : [field.items])]);
  const compared = [...listMentioned(mention), ...linked, ...shapes.flatMap(({ choices }) => choices ?? [])];
  spendSteps(budget, compared.length * (1 + mention.frames.length));
  const constants = [...new Set([...listFramed(mention.frames, compared), ...compared])];
  const values = [...new Set(listValuesFor(name, constants, shapes, mention))].filter(
    (value) => value !== ofBase.get(name),
  );
  const isUnknown = (shape: FieldShape) =>
    shape.isSelective && ![ofBase.get(name), ...values].some((value) => isAcceptedBy(shape, value, budget));
  const isListed = mention.constants.size <= maxListed || !name.startsWith(dataPrefix);
  if (!isListed || values.length > maxAttributeValues || [...mention.fields].some(isUnknown)) doubt.isRaised = true;
  return values.slice(0, maxAttributeValues);
}

function isAcceptedBy(shape: FieldShape, value: unknown, budget: StepBudget): boolean {
  spendSteps(budget, 10);
  return value !== undefined && shape.accepts(value);
}

/** The strings that produce one of the constants when they are inserted into one of the frames. */
const listFramed = (frames: readonly Frame[], constants: readonly unknown[]): string[] =>
  frames.flatMap(({ start, end }) =>
    constants
      .filter((text) => typeof text === 'string')
      .filter((text) => text.length > start.length + end.length && text.startsWith(start) && text.endsWith(end))
      .map((text) => text.slice(start.length, text.length - end.length)),
  );

function listValuesFor(
  name: string,
  constants: readonly unknown[],
  shapes: readonly FieldShape[],
  mention: Mention,
): unknown[] {
  const texts = constants.filter((value) => typeof value === 'string');
  switch (name) {
    case 'role':
      return ['admin'];
    case 'id':
      return texts.filter((text) => uuidForm.test(text));
    case 'email':
      return texts.filter((text) => text.includes('@'));
    case 'full_name':
      return texts;
    default:
      return [...listDataValues(constants, shapes), ...listLists(mention)];
  }
}

function listDataValues(constants: readonly unknown[], shapes: readonly FieldShape[]): unknown[] {
  const types = new Set(shapes.flatMap((shape) => shape.types));
  const isNumeric = types.has('number') || types.has('integer');
  return [
    ...constants.filter((value) => isScalarValue(value) && value !== null),
    ...shapes.flatMap((shape) => shape.samples).filter(isScalarValue),
    ...(isNumeric ? listNumbers(constants) : []),
    ...(types.has('boolean') ? [true, false] : []),
    // Strings that sort before and after most others, two distinct strings, and a value that has no order.
    'some value',
    'another value',
    '0',
    true,
  ];
}

const maxListed = 5;

/** Lists that contain some of the constants the attribute itself is compared with. */
function listLists({ constants }: Mention): unknown[][] {
  const all = [...constants].filter((value) => isScalarValue(value) && value !== null);
  const few = all.slice(0, maxListed);
  const lists = Array.from({ length: 2 ** few.length }, (_none, bits) => few.filter((_value, at) => bits & (1 << at)));
  const several = lists.filter(({ length }) => length > 1);
  return all.length > maxListed ? [all, ...several] : several;
}
