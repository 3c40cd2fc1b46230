// Reads and replaces the rules of fields in a schema document, wherever the fields are nested.
import { isObject } from '../rules/values.ts';

/** Returns the field's rules from now on, or undefined if it has none. */
type ChooseRules = (path: string, rules: unknown) => unknown;

/**
 * Returns the properties with other rules. `address.zip` is the path of a field inside a field, and `lines[].sku` that
 * of one in the elements of a list.
 */
export function mapFieldRules(properties: unknown, choose: ChooseRules, prefix = ''): unknown {
  if (!isObject(properties)) return properties;
  const mapped = Object.entries(properties).map(([name, field]) => [name, mapField(field, choose, prefix + name)]);
  return Object.fromEntries(mapped);
}

function mapField(field: unknown, choose: ChooseRules, path: string): unknown {
  if (!isObject(field)) return field;
  const { rls, ...rest } = field;
  const chosen = choose(path, rls);
  return {
    ...rest,
    ...(chosen !== undefined && { rls: chosen }),
    ...(rest.properties !== undefined && { properties: mapFieldRules(rest.properties, choose, `${path}.`) }),
    ...(rest.items !== undefined && { items: mapField(rest.items, choose, `${path}[]`) }),
  };
}
