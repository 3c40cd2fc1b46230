// The event fields that a filter or a metric may name (docs/api/analytics.md#fields).
import { isStorableText } from '../../../kit/text.ts';

/** The columns, as named in the API. */
const columnNames = [
  'event_id',
  'user_id',
  'session_id',
  'page_url',
  'timestamp',
  'metadata.country',
  'metadata.device_type',
  'metadata.os',
] as const;
export type ColumnName = (typeof columnNames)[number];

/** A field that every event has, or a property that the app sends. */
export type EventField = { readonly column: ColumnName } | { readonly property: string };

const propertyPrefix = 'properties.';
const maxKeyLength = 64;

/**
 * Returns undefined if no event can have the field. The key is everything after `properties.`, and may contain dots.
 */
export function parseField(name: string): EventField | undefined {
  const column = columnNames.find((each) => each === name);
  if (column !== undefined) return { column };
  if (!name.startsWith(propertyPrefix)) return undefined;
  const property = name.slice(propertyPrefix.length);
  const length = [...property.slice(0, 2 * maxKeyLength + 1)].length;
  return length >= 1 && length <= maxKeyLength && isStorableText(property) ? { property } : undefined;
}

export const isTime = (field: EventField): boolean => 'column' in field && field.column === 'timestamp';
