// Owns what a rule or a query may name: the fields of a schema, and where names lead in it.
import { type Column, columns, type Place } from './rule.ts';

/** What is read here of a property of a schema document. */
export interface Field {
  readonly type?: string | readonly string[] | undefined;
  readonly properties?: Fields | undefined;
  readonly items?: Field | undefined;
  readonly rls?: unknown;
}

export type Fields = Readonly<Record<string, Field>>;

const name = /^[A-Za-z_]\w{0,63}$/;

/** Undefined when the text is not names joined by dots. */
export function namesOf(text: string): readonly string[] | undefined {
  const names = text.split('.');
  return names.every((each) => name.test(each)) ? names : undefined;
}

export const columnNamed = (text: string): Column | undefined => columns.find((column) => column === text);

/** What the names lead to. `'open'`: inside of a value whose fields are not declared. */
export function findField(fields: Fields | 'open', names: readonly string[]): Field | 'open' | undefined {
  let field: Field | 'open' | undefined;
  let inside = fields;
  for (const each of names) {
    if (inside === 'open') return 'open';
    field = Object.hasOwn(inside, each) ? inside[each] : undefined;
    if (field === undefined) return undefined;
    inside = insideOf(field);
  }
  return field;
}

/** The fields of the elements that `$elemMatch` looks at. */
export function elementsOf(fields: Fields | 'open', place: Place): Fields | 'open' {
  const field = place.column === undefined ? findField(fields, place.names) : {};
  if (field === undefined || field === 'open' || field.items === undefined) return 'open';
  return insideOf(field.items);
}

function insideOf({ type, properties }: Field): Fields | 'open' {
  if (properties !== undefined) return properties;
  return type === 'object' || (Array.isArray(type) && type.includes('object')) ? 'open' : {};
}
