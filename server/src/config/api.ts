// The settings for the API: its addresses, proxies, tokens, metrics and log.
import { getDomain } from 'tldts';
import { plans } from '../core/auth/plans.ts';
import {
  commaList,
  domain,
  flag,
  matching,
  oneOf,
  optional,
  setting,
  text,
  time,
  url,
  type Values,
  wholeNumber,
} from './setting.ts';

export const apiSettings = {
  HOST: setting('IP address the API listens on.', '127.0.0.1', text),
  PORT: setting('Port the API listens on.', '8080', wholeNumber(0, 65_535)),
  INTERNAL_HOST: setting(
    'IP address the API listens on for `INTERNAL_PORT`. Only the proxy may reach it.',
    '127.0.0.1',
    text,
  ),
  INTERNAL_PORT: optional(
    'Port on which the API tells a proxy which hosts it serves, before the proxy gets a certificate for one: `GET /internal/tls?domain=NAME`. If unset, it does not: docs/operate/proxy.md#certificates-on-demand.',
    wholeNumber(0, 65_535),
  ),
  BASE_URL: setting(
    'Public URL of the API, used in links and as the origin of browser sessions. With `https:`, session cookies are `Secure`, and browsers are told to use only https. If unset, it is `http://127.0.0.1` with the port of `PORT`.',
    'http://127.0.0.1:8080',
    url('http:', 'https:'),
  ),
  APPS_DOMAIN: optional(
    'Domain of published apps: each is served at `{slug}.{APPS_DOMAIN}`, with the scheme and port of `BASE_URL`. Use a domain that is registered apart from that of `BASE_URL`, with a wildcard DNS record and certificate: docs/operate/install.md#a-domain-for-published-apps. If unset, apps are served below `{BASE_URL}/p/`, where browsers run them without modules, storage and data calls.',
    domain,
  ),
  APPS_REGISTERED_APART: setting(
    'If `true`, the host of `BASE_URL` and `APPS_DOMAIN` count as registered apart, whatever the public suffix list of this release says. For a domain that was added to the list later. Browsers must know it too, or pages of apps can set cookies for the API.',
    'false',
    flag,
  ),
  APPS_BELOW_BASE_URL: setting(
    'If `true`, apps may be published without `APPS_DOMAIN`, below `{BASE_URL}/p/`. A page of a stranger is then on the host of the API, and a form in it that asks for passwords looks genuine. Not needed if `BASE_URL` is on this machine.',
    'false',
    flag,
  ),
  TRUSTED_PROXIES: setting(
    'Comma-separated list of proxy addresses or ranges whose `X-Forwarded-For` is trusted. If empty, none.',
    '',
    commaList,
  ),
  COUNTRY_HEADER: optional(
    'Header in which a trusted proxy sends the country of the client, as two letters, such as `CF-IPCountry`. It becomes the country of analytics events. Needs `TRUSTED_PROXIES`. If unset, events have no country.',
    (value) => value.toLowerCase(),
  ),
  MAX_CONNECTIONS_PER_ADDRESS: setting(
    'How many connections one client address may have open to an API process. Trusted proxies are exempt.',
    '512',
    wholeNumber(1, 100_000),
  ),
  CELL_CODE: setting(
    'Code of this installation, two letters or digits. It is part of every token.',
    '00',
    matching(/^[0-9A-Za-z]{2}$/, 'two letters or digits'),
  ),
  DEFAULT_PLAN: setting(
    'Plan of the first workspace, of workspaces that operators create, and of imported ones.',
    'enterprise',
    oneOf(plans),
  ),
  PERSONAL_API_KEYS_UNTIL: optional(
    'Date from which personal API keys are refused, such as `2027-03-01`. Until then the `Sunset` header announces it.',
    time,
  ),
  METRICS_TOKEN: optional('Bearer token for `GET /metrics`. If unset, the path answers 404.', text),
  LOG_LEVEL: setting(
    'Minimum level of log messages: `silent`, `error`, `warn`, `info` or `debug`.',
    'info',
    oneOf(['silent', 'error', 'warn', 'info', 'debug']),
  ),
  STRICT_ANSWERS: setting(
    'If `true`, every answer is checked against its declared schema before it is sent. For development and tests.',
    'false',
    (value) => value === 'true',
  ),
};

/**
 * An app's pages are controlled by the person who built it. If the apps' domain contained the API's host, or vice
 * versa, or if both were in one registered domain, these pages could set cookies that the API receives. A host without
 * a dot, such as `localhost`, is safe, because browsers reject cookies for it.
 */
export function listDomainFaults({
  BASE_URL,
  APPS_DOMAIN,
  APPS_REGISTERED_APART,
}: Partial<Values<typeof apiSettings>>): string[] {
  if (BASE_URL === undefined || APPS_DOMAIN === undefined) return [];
  const host = new URL(BASE_URL).hostname.replace(/\.$/, '');
  if (isAtOrUnder(host, APPS_DOMAIN))
    return ['APPS_DOMAIN must not contain the host of BASE_URL, because an app could take its place'];
  if (host.includes('.') && isAtOrUnder(APPS_DOMAIN, host))
    return ['APPS_DOMAIN must not be part of the host of BASE_URL, because apps could set cookies for it'];
  const registered = getDomain(host, { allowPrivateDomains: true });
  if (APPS_REGISTERED_APART === false && registered !== null && isAtOrUnder(APPS_DOMAIN, registered))
    return [
      `APPS_DOMAIN must not be under ${registered}, like the host of BASE_URL, because browsers count both as the same site. Use a domain that is registered apart, or set APPS_REGISTERED_APART=true if it is on the public suffix list`,
    ];
  return [];
}

const isAtOrUnder = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
