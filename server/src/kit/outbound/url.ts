// The checks on a URL's text (docs/internals/outbound-requests.md#url). The addresses that it resolves to are
// checked later, in outbound.ts.
import { isIP } from 'node:net';
import {
  type AllowEntry,
  type Endpoint,
  hostOf,
  isAllowedEndpoint,
  isInAllowedRange,
  mayConnect,
  mayUsePlainHttp,
} from './address.ts';

export type UrlReason = 'form' | 'length' | 'scheme' | 'credentials' | 'fragment' | 'host' | 'port' | 'address';

export type UrlVerdict = { readonly ok: URL } | { readonly reason: UrlReason };

export interface UrlRules {
  readonly allow?: readonly AllowEntry[];
  /** This installation's own host and port. It must not call itself. */
  readonly own?: Endpoint;
  /** Allows `http:` for this request. */
  readonly plainHttp?: boolean;
  /**
   * Whether this is the URL of an app that this installation publishes. The operator chose its host, so the name is not
   * checked, but its addresses are.
   */
  readonly ownApp?: boolean;
}

const maxLength = 2_048;
const internalZones = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'onion'];
// Ports for services that often run without a password: container and cluster control, databases and caches.
const refusedPorts = [2375, 2376, 3306, 5432, 6379, 8500, 9200, 10250, 11211, 27017];
/** The 422 faults for rejected URLs (docs/api/conventions.md#validation-errors). Each names the part at fault. */
export const urlFaults: Readonly<Record<UrlReason, { readonly type: string; readonly msg: string }>> = {
  form: { type: 'url_parsing', msg: 'must be a URL, such as https://example.com/path' },
  length: { type: 'url_too_long', msg: `must have at most ${maxLength} characters` },
  scheme: { type: 'url_scheme', msg: 'must use https' },
  credentials: { type: 'url_not_public', msg: 'must not contain a user name or password before the host' },
  fragment: { type: 'url_not_public', msg: 'must not contain a fragment (# and everything after it)' },
  host: {
    type: 'url_not_public',
    msg: "must have a public host name that contains a dot and isn't this installation's own",
  },
  port: {
    type: 'url_not_public',
    msg: `must have no port, port 443, or a port of 1024 or above other than ${refusedPorts.join(', ')}`,
  },
  address: { type: 'url_not_public', msg: 'must resolve to a public IP address, not a private or reserved one' },
};

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const namePattern = new RegExp(`^(?:${label}\\.)+${label}$`);

/** Returns the normalised URL (no trailing dot, host in ASCII), or the reason why the URL is rejected. */
export function vetUrl(text: string, rules: UrlRules = {}): UrlVerdict {
  if ([...text].length > maxLength) return { reason: 'length' };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { reason: 'form' };
  if (scheme !== 'https' && scheme !== 'http') return { reason: 'scheme' };
  // `URL` repairs white space, backslashes and missing slashes. Text that would need repairing is rejected.
  const authority = /^https?:\/\/([^/?#\\]+)(?=[/?#]|$)/i.exec(text)?.[1];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  const url = authority === undefined || /[\x00-\x20\x7f]/.test(text) ? null : URL.parse(text);
  if (authority === undefined || url === null) return { reason: 'form' };
  if (authority.includes('@')) return { reason: 'credentials' };
  if (text.includes('#')) return { reason: 'fragment' };
  if (!url.hostname.endsWith('..')) url.hostname = url.hostname.replace(/\.$/, '');
  const reason = checkParts(url, authority.replace(/:\d*$/, ''), rules);
  return reason === undefined ? { ok: url } : { reason };
}

/** `hostText` is the host as the caller wrote it, before `URL` normalised it. */
function checkParts(
  url: URL,
  hostText: string,
  { allow = [], own, plainHttp, ownApp }: UrlRules,
): UrlReason | undefined {
  const endpoint = { host: hostOf(url), port: portOf(url) };
  if (hostText.includes('%')) return 'host';
  // `URL` converts octal, hexadecimal, short and full-width spellings to a dotted address. Callers must use the dotted
  // form.
  if (isIP(endpoint.host) === 4 && hostText !== endpoint.host) return 'host';
  const mayBePlain = plainHttp === true || mayUsePlainHttp(allow, endpoint);
  if (url.protocol === 'http:' && !mayBePlain) return 'scheme';
  if (isAllowedEndpoint(allow, endpoint)) return undefined;
  if (!isAllowedPort(endpoint.port, mayBePlain)) return 'port';
  if (ownApp) return undefined;
  const isInRange = isInAllowedRange(allow, endpoint.host);
  // Other ports on this installation's host are also blocked, unless the operator allows its address. On a developer's
  // machine, Plinth and the receivers share an address.
  if (own?.host === endpoint.host && !(isInRange && own.port !== endpoint.port)) return 'host';
  if (isInRange) return undefined;
  if (isIP(endpoint.host) !== 0) return mayConnect(allow, endpoint.host, endpoint) ? undefined : 'address';
  return isAllowedName(endpoint.host) ? undefined : 'host';
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

const isAllowedPort = (port: number, mayBePlain: boolean): boolean =>
  port === 443 || (mayBePlain && port === 80) || (port >= 1024 && !refusedPorts.includes(port));

const isAllowedName = (host: string): boolean =>
  host.length <= 253 &&
  namePattern.test(host) &&
  !internalZones.some((zone) => host === zone || host.endsWith(`.${zone}`));
