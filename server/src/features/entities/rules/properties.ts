// The paths that a rule or query may name: the properties that a schema document declares, and automatic columns.
import { type Column, columns, type Path } from './rule.ts';

/** The parts of a schema document's property that rules need. */
export interface SchemaProperty {
  readonly type?: string | readonly string[] | undefined;
  readonly properties?: SchemaProperties | undefined;
  readonly items?: SchemaProperty | undefined;
  readonly rls?: unknown;
}

export type SchemaProperties = Readonly<Record<string, SchemaProperty>>;

const namePattern = /^[A-Za-z_]\w{0,63}$/;

/** Parses dot-separated names, such as `address.zip`. Returns undefined if one of them is not a valid name. */
export function parseNames(text: string): readonly string[] | undefined {
  const names = text.split('.');
  return names.every((each) => namePattern.test(each)) ? names : undefined;
}

export const findColumn = (text: string): Column | undefined => columns.find((column) => column === text);

/** Formats a path as it appears in rules, such as `created_by` or `data.address.zip`. */
export const formatPath = (path: Path): string => path.column ?? `data.${path.names.join('.')}`;

/**
 * Follows names from property to property. Returns `'open'` if they refer to part of an object whose properties are not
 * declared.
 */
export function findProperty(
  properties: SchemaProperties | 'open',
  names: readonly string[],
): SchemaProperty | 'open' | undefined {
  let property: SchemaProperty | 'open' | undefined;
  let inner = properties;
  for (const name of names) {
    if (inner === 'open') return 'open';
    property = Object.hasOwn(inner, name) ? inner[name] : undefined;
    if (property === undefined) return undefined;
    inner = findInnerProperties(property);
  }
  return property;
}

/** The properties of the array elements that `$elemMatch` tests. */
export function findElementProperties(properties: SchemaProperties | 'open', path: Path): SchemaProperties | 'open' {
  const property = path.column === undefined ? findProperty(properties, path.names) : {};
  if (property === undefined || property === 'open' || property.items === undefined) return 'open';
  return findInnerProperties(property.items);
}

function findInnerProperties({ type, properties }: SchemaProperty): SchemaProperties | 'open' {
  if (properties !== undefined) return properties;
  return type === 'object' || (Array.isArray(type) && type.includes('object')) ? 'open' : {};
}
