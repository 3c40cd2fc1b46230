// Owns field rules: parses them from a schema's properties, and finds those that apply to a value.
import type { Fault, Loc } from './conditions.ts';
import { type Parsed, parseRules, type Rules } from './grammar.ts';
import type { SchemaProperties, SchemaProperty } from './properties.ts';
import type { Rule } from './rule.ts';

/** The fields that have rules, by their path. Arrays add nothing to a path: `lines.sku` is a property of each element. */
export type FieldRules = readonly { readonly names: readonly string[]; readonly rules: Rules }[];

/** `properties` are those at `loc`. Field rules may name any field of the schema. */
export function parseFieldRules(properties: SchemaProperties, loc: Loc): Parsed<{ readonly fieldRules: FieldRules }> {
  const faults: Fault[] = [];
  const fieldRules: { names: readonly string[]; rules: Rules }[] = [];
  const walk = (inside: SchemaProperties, names: readonly string[], at: Loc) => {
    for (const [name, field] of Object.entries(inside)) visit(field, [...names, name], [...at, name]);
  };
  const visit = (field: SchemaProperty, names: readonly string[], at: Loc) => {
    if (field.rls !== undefined) {
      const parsed = parseRules(field.rls, [...at, 'rls'], properties, 'field');
      if ('faults' in parsed) faults.push(...parsed.faults);
      else fieldRules.push({ names, rules: parsed.rules });
    }
    if (field.properties !== undefined) walk(field.properties, names, [...at, 'properties']);
    if (field.items !== undefined) visit(field.items, names, [...at, 'items']);
  };
  walk(properties, [], loc);
  return faults.length > 0 ? { faults } : { fieldRules };
}

/**
 * The rules that must all allow the whole value at a path: the rule of the field itself or of its closest ancestor that
 * has one, and the rules of every field inside. With rules on `address` and `address.zip`, the path `address` is governed
 * by both, `address.zip` by its own, `address.city` by that of `address`. No rules: only the entity's rule applies.
 */
export function findGoverningRules(
  fieldRules: FieldRules,
  names: readonly string[],
  operation: 'create' | 'read' | 'update',
): readonly Rule[] {
  let closest: { readonly length: number; readonly rules: Rule[] } = { length: 0, rules: [] };
  const inner: Rule[] = [];
  for (const { names: ruled, rules } of fieldRules) {
    const rule = rules[operation];
    if (rule === 'missing' || !sharesPrefix(ruled, names)) continue;
    if (ruled.length > names.length) inner.push(rule);
    else if (ruled.length > closest.length) closest = { length: ruled.length, rules: [rule] };
    else if (ruled.length === closest.length) closest.rules.push(rule);
  }
  return [...closest.rules, ...inner];
}

const sharesPrefix = (a: readonly string[], b: readonly string[]): boolean => {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) if (a[at] !== b[at]) return false;
  return true;
};
