// Owns comparing JSON values: equality by value, order by code points.

/** -0 equals 0. The order of an object's names does not matter. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((each, at) => isEqual(each, b[at]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]));
}

/** Whether the value, or an element if it is an array, is the wanted one. A missing value counts as null. */
export function equalsOrContains(value: unknown, wanted: unknown): boolean {
  if (isEqual(value ?? null, wanted)) return true;
  if (!Array.isArray(value)) return false;
  for (const element of value) if (isEqual(element, wanted)) return true;
  return false;
}

/** Like PostgreSQL's collation "C" on UTF-8. JavaScript's own order would put U+1F600 (two surrogates) before U+FF21. */
export function compareCodePoints(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return toSortRank(left) - toSortRank(right);
  }
  return a.length - b.length;
}

const toSortRank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Follows names through objects. Returns undefined if a name is missing, or on the way there is an array or a scalar. */
export function findValue(data: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of names) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
