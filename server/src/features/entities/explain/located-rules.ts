// Finds the schema rules that decide an operation, with their locations in the schema document.

import type { RuleLocation } from '../rules/decision/clauses.ts';
import { isMissing } from '../rules/grammar.ts';
import type { SchemaProperties, SchemaProperty } from '../rules/properties.ts';
import type { ConstantRule } from '../rules/rule.ts';
import { isObject } from '../rules/values.ts';
import type { EntitySchema } from '../schemas/field.ts';

export type RowOperation = 'create' | 'read' | 'update' | 'delete';
type FieldOperation = 'create' | 'read' | 'update';

/** The parts of a schema that contain rules. */
export type RuledSchema = Pick<EntitySchema, 'name' | 'rules' | 'rls' | 'properties'>;

export interface LocatedRule {
  /** The rule's location, such as `['rls', 'write']`. For a missing rule, the location it would have. */
  readonly location: RuleLocation;
  /** The location of a rule for this operation alone, such as `['rls', 'update']`. */
  readonly ownLocation: RuleLocation;
  readonly json: unknown;
  /** Undefined if the rule is a condition. */
  readonly constant: ConstantRule | undefined;
}

/** A field rule with the field's path, such as `['address', 'zip']`. Arrays add no names to the path. */
interface LocatedFieldRule extends LocatedRule {
  readonly names: readonly string[];
}

export function locateRowRule(schema: RuledSchema, operation: RowOperation | 'update_check'): LocatedRule {
  const located = locate(schema.rls, ['rls'], operation);
  const rule = schema.rules[operation];
  // `User` is open even without a rule, although its document does not say so.
  return located.constant === 'missing' && rule === 'signed_in' ? { ...located, constant: rule } : located;
}

/** Finds every field rule for an operation, in document order. */
export function locateFieldRules({ properties }: RuledSchema, operation: FieldOperation): LocatedFieldRule[] {
  const found: LocatedFieldRule[] = [];
  const visit = (property: SchemaProperty, names: readonly string[], at: RuleLocation) => {
    const rule = locate(property.rls, [...at, 'rls'], operation);
    if (rule.constant !== 'missing') found.push({ ...rule, names });
    walk(property.properties ?? {}, names, [...at, 'properties']);
    if (property.items !== undefined) visit(property.items, names, [...at, 'items']);
  };
  const walk = (inside: SchemaProperties, names: readonly string[], at: RuleLocation) => {
    for (const [name, property] of Object.entries(inside)) visit(property, [...names, name], [...at, name]);
  };
  walk(properties, [], ['properties']);
  return found;
}

/** `write` is the default for create, update and delete. */
function locate(rls: unknown, at: RuleLocation, operation: string): LocatedRule {
  const declared: Readonly<Record<string, unknown>> = isObject(rls) ? rls : {};
  const hasRule = (name: string) => Object.hasOwn(declared, name) && !isMissing(declared[name]);
  const hasDefault = operation !== 'read' && operation !== 'update_check' && hasRule('write');
  const name = !hasRule(operation) && hasDefault ? 'write' : operation;
  const json = hasRule(name) ? declared[name] : undefined;
  return {
    location: [...at, name],
    ownLocation: [...at, operation],
    json,
    constant: findConstant(json),
  };
}

function findConstant(json: unknown): ConstantRule | undefined {
  if (json === undefined) return 'missing';
  if (typeof json === 'boolean') return json ? 'everyone' : 'nobody';
  return undefined;
}
