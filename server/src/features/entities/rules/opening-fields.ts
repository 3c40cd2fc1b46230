// Owns whether new field rules may open a field. They are not reasoned on: they may, unless each rule that governed a field
// governs it still.
import { type FieldRules, type FieldRuleTree, findGoverningRules } from './field-rules.ts';
import { toRuleText } from './opening-proof.ts';

interface FieldsWithRules {
  readonly fields: ReadonlyMap<string, unknown>;
  readonly fieldRules: FieldRules;
}

const fieldOperations = ['create', 'read', 'update'] as const;

/** Fields that are no longer declared are closed. */
export const mayOpenFields = (before: FieldsWithRules, after: FieldsWithRules): boolean =>
  fieldOperations.some((operation) => {
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

/** The fields that have a rule or are around one. */
const listPaths = ({ inner }: FieldRuleTree): string[][] =>
  [...inner].flatMap(([name, tree]) => [[name], ...listPaths(tree).map((names) => [name, ...names])]);
