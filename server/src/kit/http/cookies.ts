// Owns reading a cookie from the header `Cookie`.

/** The first cookie of this name. Undefined if there is none. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}
