// Owns which URLs may be asked for at all, by their text alone (contract §4.6); what a name resolves to is vetted later.
import { isIP } from 'node:net';
import { type Allowed, bareHost, mayConnect, mayGoPlain, vouchedFor } from './address.ts';

export type UrlReason = 'form' | 'length' | 'scheme' | 'credentials' | 'fragment' | 'host' | 'port' | 'address';

export type UrlVerdict = { readonly ok: URL } | { readonly reason: UrlReason };

export interface UrlRules {
  readonly allow?: readonly Allowed[];
  /** The hosts under which this installation is reached: it does not call itself. */
  readonly ownHosts?: readonly string[];
  /** Landing pages may be read over plain `http:`. */
  readonly plainHttp?: boolean;
}

/** The fault type of a refused URL (contract §0.3). */
export const urlFaults: Readonly<Record<UrlReason, string>> = {
  form: 'url_parsing',
  length: 'url_too_long',
  scheme: 'url_scheme',
  credentials: 'url_not_public',
  fragment: 'url_not_public',
  host: 'url_not_public',
  port: 'url_not_public',
  address: 'url_not_public',
};

const longest = 2_048;
const innerNames = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'onion'];
// What commonly listens there without a password: container and cluster control, databases, caches.
const refusedPorts = [2375, 2376, 3306, 5432, 6379, 8500, 9200, 10250, 11211, 27017];
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const nameForm = new RegExp(`^(?:${label}\\.)+${label}$`);

/** The URL in its normal form (no trailing dot, names in ASCII), or why it is refused. */
export function vetUrl(text: string, rules: UrlRules = {}): UrlVerdict {
  if ([...text].length > longest) return { reason: 'length' };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { reason: 'form' };
  if (scheme !== 'https' && scheme !== 'http') return { reason: 'scheme' };
  // The parser mends what it is given (white space, backslashes, missing slashes): only what needs no mending passes.
  const authority = /^https?:\/\/([^/?#\\]+)(?=[/?#]|$)/i.exec(text)?.[1];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  const url = authority === undefined || /[\x00-\x20\x7f]/.test(text) ? null : URL.parse(text);
  if (authority === undefined || url === null) return { reason: 'form' };
  if (authority.includes('@')) return { reason: 'credentials' };
  if (text.includes('#')) return { reason: 'fragment' };
  if (!url.hostname.endsWith('..')) url.hostname = url.hostname.replace(/\.$/, '');
  const reason = refusal(url, authority.replace(/:\d*$/, ''), rules);
  return reason === undefined ? { ok: url } : { reason };
}

function refusal(url: URL, written: string, { allow = [], ownHosts = [], plainHttp }: UrlRules): UrlReason | undefined {
  const endpoint = { host: bareHost(url), port: portOf(url) };
  if (written.includes('%')) return 'host';
  // Octal, hex, short and full-width spellings of an address have become a dotted one: it must have been written so.
  if (isIP(endpoint.host) === 4 && written !== endpoint.host) return 'host';
  const plain = plainHttp === true || mayGoPlain(allow, endpoint);
  if (url.protocol === 'http:' && !plain) return 'scheme';
  if (vouchedFor(allow, endpoint)) return undefined;
  if (!allowedPort(endpoint.port, plain)) return 'port';
  if (ownHosts.includes(endpoint.host)) return 'host';
  if (isIP(endpoint.host) !== 0) return mayConnect(allow, endpoint.host, endpoint) ? undefined : 'address';
  return allowedName(endpoint.host) ? undefined : 'host';
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

const allowedPort = (port: number, plain: boolean): boolean =>
  port === 443 || (plain && port === 80) || (port >= 1024 && !refusedPorts.includes(port));

const allowedName = (host: string): boolean =>
  host.length <= 253 &&
  nameForm.test(host) &&
  !innerNames.some((inner) => host === inner || host.endsWith(`.${inner}`));
