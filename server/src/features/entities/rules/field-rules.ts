// Owns the rules of single fields: reading them from a schema's properties, and which of them govern a value.
import type { Fault, Loc } from './conditions.ts';
import type { Field, Fields } from './fields.ts';
import { type Parsed, parseRules, type Rules } from './grammar.ts';
import type { Rule } from './rule.ts';

/** The fields that have rules, by the names that lead there; lists on the way are passed through. */
export type FieldRules = readonly { readonly names: readonly string[]; readonly rules: Rules }[];

/** `fields` are the properties at `loc`; rules name fields from the top of the schema. */
export function parseFieldRules(fields: Fields, loc: Loc): Parsed<{ readonly fieldRules: FieldRules }> {
  const faults: Fault[] = [];
  const fieldRules: { names: readonly string[]; rules: Rules }[] = [];
  const walk = (inside: Fields, names: readonly string[], at: Loc) => {
    for (const [name, field] of Object.entries(inside)) visit(field, [...names, name], [...at, name]);
  };
  const visit = (field: Field, names: readonly string[], at: Loc) => {
    if (field.rls !== undefined) {
      const parsed = parseRules(field.rls, [...at, 'rls'], fields, 'field');
      if ('faults' in parsed) faults.push(...parsed.faults);
      else fieldRules.push({ names, rules: parsed.rules });
    }
    if (field.properties !== undefined) walk(field.properties, names, [...at, 'properties']);
    if (field.items !== undefined) visit(field.items, names, [...at, 'items']);
  };
  walk(fields, [], loc);
  return faults.length > 0 ? { faults } : { fieldRules };
}

/**
 * All must be met for the whole value at the names: the rule of its closest ancestor that has one, itself first, and
 * the rules of what it holds. None: the entity's rule alone counts.
 */
export function rulesOver(
  fieldRules: FieldRules,
  names: readonly string[],
  operation: 'create' | 'read' | 'update',
): readonly Rule[] {
  let closest: { readonly length: number; readonly rules: Rule[] } = { length: 0, rules: [] };
  const held: Rule[] = [];
  for (const { names: ruled, rules } of fieldRules) {
    const rule = rules[operation];
    if (rule === 'missing' || !startsAlike(ruled, names)) continue;
    if (ruled.length > names.length) held.push(rule);
    else if (ruled.length > closest.length) closest = { length: ruled.length, rules: [rule] };
    else if (ruled.length === closest.length) closest.rules.push(rule);
  }
  return [...closest.rules, ...held];
}

const startsAlike = (a: readonly string[], b: readonly string[]): boolean => {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) if (a[at] !== b[at]) return false;
  return true;
};
