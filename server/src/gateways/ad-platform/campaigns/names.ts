// Resource names and small values in campaign requests. Pure.
import { asObject, asText, type Json } from '../json.ts';

/**
 * Resource names in an account. Negative ids are temporary, and refer to resources created by an earlier operation in
 * the same request.
 */
export const namesIn = (customerId: string) => (collection: string, id: string | number) =>
  `customers/${customerId}/${collection}/${id}`;

export type NameOf = ReturnType<typeof namesIn>;

/** A resource name's last part. */
export const idOf = (resourceName: string): string => resourceName.split('/').at(-1) ?? '';

/** Times in the account's time zone. */
export const startOfDay = (day: string): string => `${day} 00:00:00`;
export const endOfDay = (day: string): string => `${day} 23:59:59`;

/** A nested value in a row, such as `get(row, 'campaign', 'id')`. */
export const get = (row: Json, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => asObject(value)[name], row);

export const getText = (row: Json, ...path: readonly string[]): string => asText(get(row, ...path));

/** A number from the platform: either an int64 as a string, or a number. */
export function getNumber(row: Json, ...path: readonly string[]): number {
  const value = Number(get(row, ...path) ?? 0);
  return Number.isFinite(value) ? value : 0;
}
