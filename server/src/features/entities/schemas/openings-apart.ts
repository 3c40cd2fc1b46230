// Separates what a new schema opens from everything else: a builder saves the rest at once, and a person decides about
// the opening (docs/api/builder-chat.md#held-rules).
//
// Worked example: Task has records, its rule is {"read": {"created_by_id": "{{user.id}}"}, "write": false}, and the new
// schema has a field `due` and the rules {"read": true, "write": false}. What is saved has the field `due`, and
// {"create": false, "read": {"created_by_id": "{{user.id}}"}, "update": false, "delete": false}. What is held is `read`,
// for anonymous callers, from the old rule to `true`.
import { ValidationError } from '../../../kit/http/faults.ts';
import { countHold, usedMs } from '../../../kit/process-time.ts';
import type { StepBudget } from '../rules/budget.ts';
import { findDeclaredRule } from '../rules/grammar.ts';
import { mayOpenFields } from '../rules/openings/fields.ts';
import {
  type CallerKind,
  callerKinds,
  findOpening,
  type Opening,
  type OpeningOperation,
  openingOperations,
} from '../rules/openings/openings.ts';
import type { FieldShape } from '../rules/openings/values.ts';
import type { Rule } from '../rules/rule.ts';
import { isObject } from '../rules/values.ts';
import { parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { mapFieldRules } from './field-rule-texts.ts';
import { findImplicitSchema, parseStoredSchema } from './schema-cache.ts';

type Document = Readonly<Record<string, unknown>>;

/** `fields` stands for the rules of an entity's fields, which are held together. */
export const heldOperations = [...openingOperations, 'fields'] as const;
export type HeldOperation = (typeof heldOperations)[number];

/** Something that rules open. `principal` is null if it could not be decided whom they let in. */
export interface NewlyOpened {
  readonly operation: HeldOperation;
  readonly principal: CallerKind | null;
}

export interface HeldRule extends NewlyOpened {
  /** The rule that stays, or null if there is none. For `fields`, the rules of the fields that differ, by path. */
  readonly before: unknown;
  /** The rule that is proposed. */
  readonly after: unknown;
  readonly example: Opening | null;
}

export interface SeparationInput {
  /** The stored document, if the entity exists. */
  readonly before: Document | undefined;
  readonly after: Document;
  /** Whether the entity has records, including those in the trash. */
  readonly hasRecords: boolean;
  /** New fields for which stored records have a value from before. They stay closed. */
  readonly storedFields: readonly string[];
}

/**
 * Returns the document to save, which opens no stored records and nothing to anonymous callers, and what was held to
 * achieve that. Throws a ValidationError if the document is not valid, or if the present rules can't stay.
 */
export function separateOpenings(
  input: SeparationInput,
  now: Date,
): { readonly document: Document; readonly held: HeldRule[] } {
  const usedBefore = usedMs();
  const before = toSchemaBefore(input);
  const found = new Map<OpeningOperation, FoundOpening>();
  let holdsFields = input.storedFields.length > 0;
  // What is kept and what is new may open something together, so the result is looked at again until nothing is found.
  for (;;) {
    const document = buildDocument(input, found, holdsFields);
    const schema = parseNew(document);
    const more = findOpenings(before, schema, input.hasRecords, now).filter(({ operation }) => !found.has(operation));
    const opensFields = mayOpen(before, schema, input.hasRecords);
    if (opensFields && holdsFields && more.length === 0) refuseKept(schema.name);
    if (more.length === 0 && !opensFields) {
      countHold(usedMs() - usedBefore);
      return { document, held: listHeld(input, found, holdsFields) };
    }
    for (const opening of more) found.set(opening.operation, opening);
    holdsFields ||= opensFields;
  }
}

/** What saving the document as it is would open. Throws a ValidationError if it is not valid. */
export function listOpenings(input: SeparationInput, now: Date): HeldRule[] {
  const usedBefore = usedMs();
  const [before, after] = [toSchemaBefore(input), parseNew(input.after)];
  const found = findOpenings(before, after, input.hasRecords, now);
  const opensFields = input.storedFields.length > 0 || mayOpen(before, after, input.hasRecords);
  countHold(usedMs() - usedBefore);
  return listHeld(input, new Map(found.map((opening) => [opening.operation, opening])), opensFields);
}

interface FoundOpening {
  readonly operation: OpeningOperation;
  readonly principal: CallerKind | null;
  readonly example: Opening | null;
}

/** An entity that is new is closed, but records of an earlier one may still be in the trash. */
const toSchemaBefore = ({ before, after }: SeparationInput): EntitySchema =>
  before === undefined ? toClosedSchema(String(after.name)) : parseStoredSchema(before);

const toClosedSchema = (name: string): EntitySchema =>
  findImplicitSchema(name) ?? parseStoredSchema({ name, properties: {} });

function parseNew(document: Document): EntitySchema {
  const parsed = parseSchema(document, [String(document.name)], 'new');
  if ('faults' in parsed) throw new ValidationError(parsed.faults);
  return parsed.schema;
}

// ---- finding what opens

const stepsPerOperation = 40_000; // at most about 30 milliseconds

function findOpenings(before: EntitySchema, after: EntitySchema, hasRecords: boolean, now: Date): FoundOpening[] {
  return openingOperations.flatMap((operation) => {
    // Whoever creates a record opens no stored one.
    const callers: readonly CallerKind[] = hasRecords && operation !== 'create' ? callerKinds : ['anonymous'];
    return findOpened({ operation, before, after, callers, budget: { steps: stepsPerOperation } }, now);
  });
}

interface OpenedInput {
  readonly operation: OpeningOperation;
  readonly before: EntitySchema;
  readonly after: EntitySchema;
  readonly callers: readonly CallerKind[];
  readonly budget: StepBudget;
}

/** If it can't be decided whether something opens, that counts as an opening. */
function findOpened({ operation, before, after, callers, budget }: OpenedInput, now: Date): FoundOpening[] {
  if (callers.length === 1 && !letsAnonymousIn(operation, after.rules[operation])) return [];
  const shape = { fields: listAnyFields(before, after), required: new Set<string>() };
  const result = findOpening({ operation, before: before.rules, after: { ...after, shape }, callers, budget }, now);
  if (result === 'none') return [];
  const example = result === 'undecided' ? null : result.opening;
  return [{ operation, principal: example?.principal ?? null, example }];
}

/** Anonymous callers meet no condition. */
const letsAnonymousIn = (operation: OpeningOperation, rule: Rule): boolean =>
  rule === 'everyone' || (operation === 'update_check' && rule === 'missing');

// Stored records may have values that the schema no longer accepts, so any value is considered.
const anyField: FieldShape = {
  types: ['string', 'number', 'integer', 'boolean', 'array', 'object'],
  isSelective: false,
  samples: [],
  hasDefault: false,
  accepts: () => true,
};

const listAnyFields = (before: EntitySchema, after: EntitySchema): Map<string, FieldShape> =>
  new Map([...before.fields.keys(), ...after.fields.keys()].map((name) => [name, anyField]));

function mayOpen(before: EntitySchema, after: EntitySchema, hasRecords: boolean): boolean {
  const isConcerned = (operation: 'create' | 'read' | 'update') =>
    after.rules[operation] === 'everyone' || (hasRecords && operation !== 'create');
  return mayOpenFields(
    before,
    after,
    (['create', 'read', 'update'] as const).filter((operation) => isConcerned(operation)),
  );
}

const stepsPerAudit = 200_000;

/**
 * Lists what the rules open, for the audit log: whoever is let in, and whether or not there are records. Changes that
 * are saved together share `budget`.
 */
export function listNewlyOpened(
  before: EntitySchema | undefined,
  after: EntitySchema,
  now: Date,
  budget = newAuditBudget(),
): NewlyOpened[] {
  const known = before ?? toClosedSchema(after.name);
  const opened = openingOperations.flatMap((operation): NewlyOpened[] => {
    const steps = Math.min(stepsPerOperation, budget.steps);
    const own = { steps };
    const found = findOpened({ operation, before: known, after, callers: callerKinds, budget: own }, now);
    budget.steps -= steps - own.steps;
    return found.map(({ principal }) => ({ operation, principal }));
  });
  return mayOpenFields(known, after) ? [...opened, { operation: 'fields', principal: null }] : opened;
}

export const newAuditBudget = (): StepBudget => ({ steps: stepsPerAudit });

// ---- building what is saved

function buildDocument(
  { before, after, storedFields }: SeparationInput,
  found: ReadonlyMap<OpeningOperation, unknown>,
  holdsFields: boolean,
): Document {
  const properties = holdsFields ? keepFieldRules(before, after, storedFields) : after.properties;
  const document = holdsFields ? { ...after, properties } : after;
  if (found.size === 0) return holdsFields ? withFieldsOfRules(document, before) : document;
  return withFieldsOfRules({ ...document, rls: toRules(before, after, found) }, before);
}

/** Writes each rule out, because `write` may stand for one that is held and for one that is not. */
function toRules(
  before: Document | undefined,
  after: Document,
  held: ReadonlyMap<OpeningOperation, unknown>,
): Document {
  const rules = openingOperations.map((operation) => [
    operation,
    findDeclaredRule((held.has(operation) ? before : after)?.rls, operation),
  ]);
  return Object.fromEntries(rules.filter(([, rule]) => rule !== undefined));
}

/** A rule that stays may use fields that the new document has removed. They stay as well. */
function withFieldsOfRules(document: Document, before: Document | undefined): Document {
  const parsed = parseSchema(document, [], 'new');
  if (!('faults' in parsed) || !isObject(before?.properties) || !isObject(document.properties)) return document;
  const kept = { ...document, properties: { ...before.properties, ...document.properties } };
  return 'faults' in parseSchema(kept, [], 'new') ? refuseKept(String(document.name)) : kept;
}

function refuseKept(name: string): never {
  const msg =
    'must keep the fields that its present rules use, because these rules stay until a person agrees to new ones';
  throw new ValidationError([{ loc: [name, 'rls'], msg, type: 'rule_syntax' }]);
}

const closed = { read: false, write: false };

/** Keeps the rules of the fields that exist, and closes those for which old values are stored. */
function keepFieldRules(before: Document | undefined, after: Document, storedFields: readonly string[]): unknown {
  const known = new Map<string, unknown>();
  mapFieldRules(before?.properties, (path, rule) => {
    known.set(path, rule);
    return rule;
  });
  return mapFieldRules(after.properties, (path, rule) => {
    const [field = ''] = path.split(/[.[]/);
    if (storedFields.includes(field)) return path === field ? closed : undefined;
    return known.has(field) ? known.get(path) : rule;
  });
}

function listHeld(
  { before, after, storedFields }: SeparationInput,
  found: ReadonlyMap<OpeningOperation, FoundOpening>,
  holdsFields: boolean,
): HeldRule[] {
  const rules = openingOperations.flatMap((operation): HeldRule[] => {
    const opening = found.get(operation);
    if (opening === undefined) return [];
    const textOf = (document: Document | undefined) => findDeclaredRule(document?.rls, operation) ?? null;
    return [{ ...opening, before: textOf(before), after: textOf(after) }];
  });
  if (!holdsFields) return rules;
  const kept = keepFieldRules(before, after, storedFields);
  return [
    ...rules,
    { operation: 'fields', principal: null, example: null, ...listDifferences(kept, after.properties) },
  ];
}

/** The rules of fields that differ, by path. Null means that the field has no rules of its own. */
function listDifferences(kept: unknown, proposed: unknown): { before: Document; after: Document } {
  const read = (properties: unknown) => {
    const rules = new Map<string, unknown>();
    mapFieldRules(properties, (path, rule) => {
      rules.set(path, rule ?? null);
      return rule;
    });
    return rules;
  };
  const [before, after] = [read(kept), read(proposed)];
  const differing = [...after].filter(([path, rule]) => JSON.stringify(rule) !== JSON.stringify(before.get(path)));
  return {
    before: Object.fromEntries(differing.map(([path]) => [path, before.get(path) ?? null])),
    after: Object.fromEntries(differing),
  };
}

// ---- applying what was held

/** Puts a held rule into a document. */
export function withHeldRule(document: Document, operation: HeldOperation, rule: unknown): Document {
  if (operation === 'fields') {
    const rules = new Map(Object.entries(isObject(rule) ? rule : {}));
    const choose = (path: string, present: unknown) => (rules.has(path) ? (rules.get(path) ?? undefined) : present);
    return { ...document, properties: mapFieldRules(document.properties, choose) };
  }
  const others = openingOperations
    .filter((other) => other !== operation)
    .map((other) => [other, findDeclaredRule(document.rls, other)] as const)
    .filter(([, declared]) => declared !== undefined);
  return { ...document, rls: Object.fromEntries([...others, ...(rule === null ? [] : [[operation, rule]])]) };
}
