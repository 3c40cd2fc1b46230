// Owns which rules of a schema decide about an operation, each with its place in the schema document.

import type { RuleLocation } from '../rules/clauses.ts';
import { isMissing } from '../rules/grammar.ts';
import type { SchemaProperties, SchemaProperty } from '../rules/properties.ts';
import type { ConstantRule } from '../rules/rule.ts';
import { isObject } from '../rules/values.ts';
import type { EntitySchema } from '../schemas/field.ts';

export type RowOperation = 'create' | 'read' | 'update' | 'delete';
type FieldOperation = 'create' | 'read' | 'update';

/** The parts of a schema that rules are read from. */
export type RuledSchema = Pick<EntitySchema, 'name' | 'rules' | 'rls' | 'properties'>;

export interface LocatedRule {
  /** Where the rule is: `['rls', 'write']`. If it is missing, where it would be. */
  readonly location: RuleLocation;
  /** Where a rule for this operation alone would be: `['rls', 'update']`. */
  readonly ownLocation: RuleLocation;
  readonly json: unknown;
  /** Undefined: the rule is a condition. */
  readonly constant: ConstantRule | undefined;
}

/** A rule of a field, by the names that lead to the field: `['address', 'zip']`. Arrays add nothing to them. */
interface LocatedFieldRule extends LocatedRule {
  readonly names: readonly string[];
}

export function locateRowRule(schema: RuledSchema, operation: RowOperation | 'update_check'): LocatedRule {
  const located = locate(schema.rls, ['rls'], operation);
  const rule = schema.rules[operation];
  // `User` is open without a rule, which its document does not say.
  return located.constant === 'missing' && rule === 'signed_in' ? { ...located, constant: rule } : located;
}

/** Every field rule of the schema for an operation, in the order of the document. */
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

/** `write` is the default of create, update and delete. */
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
