// Which fields of an entity a table shows, and how their values are written.
import type { Data } from '../../data/client.ts';

type Schema = Data<'listEntitySchemas'>[number]['schema'];

const maxColumns = 6;

/** The fields in the schema's order, required ones first, and as many as fit. */
export function chooseColumns({
  properties = {},
  required = [],
}: Schema): readonly { readonly field: string; readonly label: string }[] {
  const fields = Object.keys(properties);
  const ordered = [
    ...fields.filter((field) => required.includes(field)),
    ...fields.filter((field) => !required.includes(field)),
  ];
  const shown = ordered.slice(0, maxColumns).map((field) => ({ field, label: nameField(field, properties) }));
  return shown.length > 0 ? shown : [{ field: 'id', label: nameField('id') }];
}

/** The title that the schema gives a field, or its name as words: `due_date` becomes "Due date". */
export function nameField(field: string, properties: Schema['properties'] = {}): string {
  const words = field.replaceAll('_', ' ').trim();
  return properties[field]?.title ?? words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** Whether the rules let each person read the records that they have created, and no others. */
export function showsOnlyOwn({ rls }: Schema): boolean {
  const own = ['{"created_by_id":"{{user.id}}"}', '{"created_by":"{{user.email}}"}'];
  return own.includes(JSON.stringify(rls?.read));
}

/** Whether a field is left out of a record, and the reason may be that its read rule hides it. */
export function mayBeHidden(record: object, field: string, { properties = {} }: Schema): boolean {
  const schema = properties[field];
  return !(field in record) && schema !== undefined && hasReadRule(schema);
}

type Property = NonNullable<Schema['properties']>[string];

/** The rules of a list's entries are those of the list. */
const hasReadRule = ({ rls, items }: Property): boolean =>
  !isMissing(rls?.read) || (items !== undefined && hasReadRule(items));

const isMissing = (rule: unknown): boolean => ['undefined', 'null', '""', '{}'].includes(String(JSON.stringify(rule)));

export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
