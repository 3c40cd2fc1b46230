// Reads cookies from the `Cookie` header.

/**
 * Returns the values of all cookies with this name. A page on a sibling host can set a second one. Only the white space
 * that HTTP knows is removed: browsers do not see a prefix such as `__Host-` behind any other, and let a page set it.
 */
export function readCookies(header: string | undefined, name: string): string[] {
  return (header?.split(';') ?? []).flatMap((part) => {
    const [key, value = ''] = part.replace(outerSpace, '').split('=', 2);
    return key === name ? [value] : [];
  });
}

/** The lookbehind keeps the search from starting again at each character of a long space, which would take seconds. */
const outerSpace = /^[ \t]+|(?<![ \t])[ \t]+$/g;

/** Returns the value of the first cookie with this name, or undefined if there is none. */
export const readCookie = (header: string | undefined, name: string): string | undefined =>
  readCookies(header, name)[0];
