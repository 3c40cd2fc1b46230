// Checks whether new field rules may open a field. The rules are not analysed: a field is assumed to open unless
// every rule that governed it still does.
import { type FieldRules, type FieldRuleTree, findGoverningRules } from '../field-rules.ts';
import { toRuleText } from './proof.ts';

interface FieldsWithRules {
  readonly fields: ReadonlyMap<string, unknown>;
  readonly fieldRules: FieldRules;
}

const fieldOperations = ['create', 'read', 'update'] as const;

/** Fields that are no longer declared are closed. */
export const mayOpenFields = (
  before: FieldsWithRules,
  after: FieldsWithRules,
  operations: readonly (typeof fieldOperations)[number][] = fieldOperations,
): boolean =>
  operations.some((operation) => {
    const paths = [...listPaths(before.fieldRules[operation]), ...listPaths(after.fieldRules[operation])];
    return paths
      .filter(([name = '']) => after.fields.has(name))
      .some((names) => {
        const rules = findGoverningRules(after.fieldRules, names, operation).map(toRuleText);
        return findGoverningRules(before.fieldRules, names, operation).some(
          (rule) => !rules.includes(toRuleText(rule)),
        );
      });
  });

/** The fields that have a rule or contain a field that has a rule. */
const listPaths = ({ inner }: FieldRuleTree): string[][] =>
  [...inner].flatMap(([name, tree]) => [[name], ...listPaths(tree).map((names) => [name, ...names])]);
