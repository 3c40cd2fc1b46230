// Parses field rules from a schema's properties, and finds the rules that apply to a value.
import type { Fault, Loc } from './conditions.ts';
import { type Parsed, parseRules, type RuleOrigin, type Rules } from './grammar.ts';
import type { SchemaProperties, SchemaProperty } from './properties.ts';
import type { Rule } from './rule.ts';

type FieldOperation = 'create' | 'read' | 'update';

/** The fields that have rules, for each operation. */
export type FieldRules = Readonly<Record<FieldOperation, FieldRuleTree>>;

/**
 * A field's rules, and the fields inside it that have rules. Arrays add nothing to a path. `lines.sku` is a property of
 * each element, and a rule on `items` applies to the array itself.
 */
export interface FieldRuleTree {
  readonly rules: readonly Rule[];
  readonly inner: ReadonlyMap<string, FieldRuleTree>;
}

/** `properties` are the properties at `loc`. Field rules may name any field in the schema. */
export function parseFieldRules(
  properties: SchemaProperties,
  loc: Loc,
  origin: RuleOrigin = 'new',
): Parsed<{ readonly fieldRules: FieldRules }> {
  const faults: Fault[] = [];
  const found: { names: readonly string[]; rules: Rules }[] = [];
  const walk = (inside: SchemaProperties, names: readonly string[], at: Loc) => {
    for (const [name, field] of Object.entries(inside)) visit(field, [...names, name], [...at, name]);
  };
  const visit = (field: SchemaProperty, names: readonly string[], at: Loc) => {
    if (field.rls !== undefined) {
      const parsed = parseRules(field.rls, [...at, 'rls'], properties, 'field', origin);
      if ('faults' in parsed) faults.push(...parsed.faults);
      else found.push({ names, rules: parsed.rules });
    }
    if (field.properties !== undefined) walk(field.properties, names, [...at, 'properties']);
    if (field.items !== undefined) visit(field.items, names, [...at, 'items']);
  };
  walk(properties, [], loc);
  return faults.length > 0 ? { faults } : { fieldRules: buildFieldRules(found) };
}

const buildFieldRules = (found: readonly { names: readonly string[]; rules: Rules }[]): FieldRules => {
  const buildTree = (operation: FieldOperation) => {
    const root = newNode();
    for (const { names, rules } of found) {
      if (rules[operation] !== 'missing') findOrAddNode(root, names).rules.push(rules[operation]);
    }
    return root;
  };
  return { create: buildTree('create'), read: buildTree('read'), update: buildTree('update') };
};

interface Node extends FieldRuleTree {
  readonly rules: Rule[];
  readonly inner: Map<string, Node>;
}

const newNode = (): Node => ({ rules: [], inner: new Map() });

function findOrAddNode(root: Node, names: readonly string[]): Node {
  let node = root;
  for (const name of names) {
    const inner = node.inner.get(name) ?? newNode();
    node.inner.set(name, inner);
    node = inner;
  }
  return node;
}

export const noFieldRules: FieldRules = buildFieldRules([]);

/**
 * The rules that must all allow the whole value at a path: the field's own rule or, if it has none, its closest
 * ancestor's rule, and the rules of every field inside it. With rules on `address` and `address.zip`, both govern the
 * path `address`, while `address.zip` is governed by its own rule, and `address.city` by the rule on `address`. If the
 * list is empty, only the entity's rule applies.
 */
export function findGoverningRules(
  fieldRules: FieldRules,
  names: readonly string[],
  operation: FieldOperation,
): readonly Rule[] {
  let tree = fieldRules[operation];
  let closest: readonly Rule[] = [];
  for (const name of names) {
    const inner = tree.inner.get(name);
    if (inner === undefined) return closest;
    if (inner.rules.length > 0) closest = inner.rules;
    tree = inner;
  }
  return [...closest, ...listInnerRules(tree)];
}

/** Whether any field inside the field at a path has rules. */
export function hasRulesInside(fieldRules: FieldRules, names: readonly string[], operation: FieldOperation): boolean {
  const follow = (tree: FieldRuleTree | undefined, name: string) => tree?.inner.get(name);
  return (names.reduce(follow, fieldRules[operation] as FieldRuleTree | undefined)?.inner.size ?? 0) > 0;
}

const listInnerRules = ({ inner }: FieldRuleTree): readonly Rule[] =>
  [...inner.values()].flatMap((tree) => [...tree.rules, ...listInnerRules(tree)]);
