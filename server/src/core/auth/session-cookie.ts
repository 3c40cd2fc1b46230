// The cookie of a browser session: its name, how it is read and how it is set (docs/api/credentials.md#the-session-cookie).
import { readCookies } from '../../kit/http/request/cookies.ts';
import { Problem } from '../../kit/problem.ts';

/**
 * Browsers accept a cookie with the prefix `__Host-` only over https, from the host itself and for no other host. So a
 * page on a sibling host can't put its own session in its place.
 */
const hostCookie = '__Host-plinth_session';
const plainCookie = 'plinth_session';

export const nameSessionCookie = (isHttps: boolean): string => (isHttps ? hostCookie : plainCookie);

export interface SessionCookie {
  readonly text: string;
  readonly isHostCookie: boolean;
}

/**
 * Returns the session cookie. Over https, the plain name is read too, for sessions that began under it. Throws if there
 * is more than one, because another page may have set one of them.
 */
export function readSessionCookie(header: string | undefined, isHttps: boolean): SessionCookie | undefined {
  const hosts = isHttps ? readCookies(header, hostCookie) : [];
  const plain = readCookies(header, plainCookie);
  if (hosts.length + plain.length > 1) throw sessionCookieRepeated();
  const [text] = [...hosts, ...plain];
  return text === undefined ? undefined : { text, isHostCookie: hosts.length === 1 };
}

/** Returns the header that sets the cookie. Over https, it also removes one with the plain name. */
export const writeSessionCookie = (token: string, maxAgeSeconds: number, isHttps: boolean) => ({
  'set-cookie': isHttps
    ? [`${hostCookie}=${token}; ${attributes(maxAgeSeconds)}; Secure`, `${plainCookie}=; ${attributes(0)}`]
    : [`${plainCookie}=${token}; ${attributes(maxAgeSeconds)}`],
});

/** Returns the header that removes the cookie from the browser. */
export const removeSessionCookie = (isHttps: boolean) => writeSessionCookie('', 0, isHttps);

const attributes = (maxAgeSeconds: number) => `HttpOnly; SameSite=Lax; Path=/; Max-Age=${maxAgeSeconds}`;

const sessionCookieRepeated = () =>
  new Problem(
    'unauthenticated',
    'credentials_invalid',
    "The request has more than one session cookie, and another page may have set one. Delete this site's cookies in the browser, then sign in again.",
  );
