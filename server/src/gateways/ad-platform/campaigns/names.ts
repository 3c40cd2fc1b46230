// Owns names of resources and small values of campaign requests. Pure.
import { asObject, asText, type Json } from '../json.ts';

/** Names in an account. Negative ids are temporary: what an earlier operation of the same request creates. */
export const namesIn = (customerId: string) => (collection: string, id: string | number) =>
  `customers/${customerId}/${collection}/${id}`;

export type NameOf = ReturnType<typeof namesIn>;

/** The last part of a name. */
export const idOf = (resourceName: string): string => resourceName.split('/').at(-1) ?? '';

/** In the time zone of the account. */
export const startOfDay = (day: string): string => `${day} 00:00:00`;
export const endOfDay = (day: string): string => `${day} 23:59:59`;

/** A value inside of a row: `get(row, 'campaign', 'id')`. */
export const get = (row: Json, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => asObject(value)[name], row);

export const getText = (row: Json, ...path: readonly string[]): string => asText(get(row, ...path));

/** A figure of the platform: an int64 as a text, or a number. */
export function getNumber(row: Json, ...path: readonly string[]): number {
  const value = Number(get(row, ...path) ?? 0);
  return Number.isFinite(value) ? value : 0;
}
