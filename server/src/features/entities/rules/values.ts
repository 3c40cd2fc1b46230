// Owns how JSON values compare: equality by value, order by code points.

/** -0 is 0; the order of an object's names does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((each, at) => isSame(each, b[at]));
  }
  if (Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSame(a[name as never], b[name as never]));
}

/** The value, or an element of the array that it is. A missing value is null. */
export function isOrHolds(value: unknown, wanted: unknown): boolean {
  if (isSame(value ?? null, wanted)) return true;
  if (!Array.isArray(value)) return false;
  for (const element of value) if (isSame(element, wanted)) return true;
  return false;
}

/** As PostgreSQL's collation "C" sorts UTF-8: JavaScript alone would put U+1F600 (two surrogates) before U+FF21. */
export function compareCodePoints(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

const rankOf = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Names lead through objects only; an array on the way, like anything else, leads nowhere. */
export function valueAt(data: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of names) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = value[name as never];
  }
  return value;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
