// Checks how the installation is reached from outside: names, certificates and the proxy in front of the API.
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { createProxyCheck } from '../../kit/http/connection/proxies.ts';
import { hostOf, isLoopback, isOnThisMachine } from '../../kit/outbound/address.ts';
import { portOf } from '../../kit/outbound/url.ts';
import {
  broken,
  type Check,
  type CheckContext,
  type CheckResult,
  describeReason,
  missing,
  notConfigured,
  readSetting,
  works,
} from './check.ts';

const connectMs = 5_000;
const renewDays = 14;
const dayMs = 24 * 60 * 60 * 1000;
const appsGuide = 'docs/operate/install.md#a-domain-for-published-apps';

export const readBase = (context: CheckContext): URL => new URL(readSetting(context, 'BASE_URL'));

/** A host that exists only if there is a wildcard record. */
const nameAnyApp = (domain: string): string => `doctor-${randomBytes(4).toString('hex')}.${domain}`;

/** Browsers resolve every name under `localhost` to their own machine, without DNS. */
export async function resolveHost(host: string): Promise<string> {
  if (host === 'localhost' || host.endsWith('.localhost')) return '127.0.0.1';
  return isIP(host) === 0 ? (await lookup(host)).address : host;
}

const domain: Check = {
  part: 'domain',
  async run(context) {
    const url = readBase(context);
    const host = hostOf(url);
    if (!context.isSet('BASE_URL'))
      return notConfigured(`Links lead to ${url.origin}, which only this machine can open, until BASE_URL is set.`);
    if (isLoopback(url)) return works(`${url.origin} is this machine, so no other machine can open links.`);
    try {
      return works(`${host} resolves to ${await resolveHost(host)}.`);
    } catch (error) {
      return broken(
        `${host} can't be resolved: ${describeReason(error, context)}. Add a DNS record for it, or correct BASE_URL.`,
      );
    }
  },
};

const appsDomain: Check = {
  part: 'apps domain',
  async run(context) {
    const name = readSetting(context, 'APPS_DOMAIN');
    if (name === undefined) return describeFolder(context);
    const host = nameAnyApp(name);
    try {
      return works(`Hosts under ${name} resolve to ${await resolveHost(host)}.`);
    } catch (error) {
      return broken(
        `Hosts under ${name} can't be resolved: ${describeReason(error, context)}. Add the wildcard record *.${name}: ${appsGuide}.`,
      );
    }
  },
};

function describeFolder(context: CheckContext): CheckResult {
  const url = readBase(context);
  const { origin } = url;
  if (!isOnThisMachine(url) && !readSetting(context, 'APPS_BELOW_BASE_URL'))
    return notConfigured(
      `No app can be published until APPS_DOMAIN is set: ${appsGuide}. APPS_BELOW_BASE_URL=true allows it below ${origin}/p/, where a stranger's page looks like one of yours.`,
    );
  return notConfigured(
    `Published apps are served below ${origin}/p/, where browsers run them without modules, storage and data calls, until APPS_DOMAIN is set: ${appsGuide}.`,
  );
}

const certificate: Check = {
  part: 'certificate',
  async run(context, signal) {
    const url = readBase(context);
    if (url.protocol === 'https:') return checkCertificate(hostOf(url), portOf(url), context, signal);
    return notConfigured(
      isLoopback(url)
        ? 'BASE_URL is http: and on this machine, so none is needed.'
        : 'BASE_URL is http:, so passwords and tokens can be read on the way, and session cookies are not Secure. Let a proxy terminate TLS, and set BASE_URL to https: docs/operate/proxy.md.',
    );
  },
};

const appsCertificate: Check = {
  part: 'apps certificate',
  async run(context, signal) {
    const url = readBase(context);
    const name = readSetting(context, 'APPS_DOMAIN');
    if (name === undefined) return notConfigured('None is needed without APPS_DOMAIN.');
    if (url.protocol !== 'https:') return notConfigured('None is needed, because apps have the scheme of BASE_URL.');
    return checkCertificate(nameAnyApp(name), portOf(url), context, signal);
  },
};

/** Asks for the certificate as a browser would, and trusts the authorities that this machine trusts. */
async function checkCertificate(
  host: string,
  port: number,
  context: CheckContext,
  signal: AbortSignal,
): Promise<CheckResult> {
  try {
    const { fault, validTo } = await readCertificate(host, port, signal);
    const days = Math.floor((validTo.getTime() - Date.now()) / dayMs);
    const date = validTo.toISOString().slice(0, 10);
    if (fault !== undefined)
      return broken(
        `The certificate of ${host}:${port} is not valid: ${describeReason(fault, context)}. Install one for this name in the proxy; it is valid until ${date}.`,
      );
    const advice = days < renewDays ? ' Renew it now.' : '';
    return works(
      `That of ${host}:${port} is valid until ${date}, for ${days} ${days === 1 ? 'day' : 'days'}.${advice}`,
    );
  } catch (error) {
    return broken(
      `${host}:${port} offers no TLS: ${describeReason(error, context)}. Start the proxy, or correct BASE_URL.`,
    );
  }
}

async function readCertificate(
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<{ fault: string | undefined; validTo: Date }> {
  const address = await resolveHost(host);
  const { promise, resolve, reject } = Promise.withResolvers<{ fault: string | undefined; validTo: Date }>();
  const socket = connect({
    host: address,
    port,
    ...(isIP(host) === 0 && { servername: host }),
    // An invalid certificate is read too, to say what is wrong with it.
    rejectUnauthorized: false,
    timeout: connectMs,
  });
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  socket.once('secureConnect', () => {
    const fault = socket.authorized ? undefined : String(socket.authorizationError);
    resolve({ fault, validTo: new Date(socket.getPeerCertificate().valid_to) });
  });
  socket.once('timeout', () => reject(new Error('there was no answer')));
  socket.once('error', reject);
  socket.once('close', () => reject(new Error('the connection was closed')));
  return promise.finally(() => socket.destroy());
}

const proxyGuide = 'docs/operate/proxy.md';

const proxy: Check = {
  part: 'proxy headers',
  async run(context) {
    const url = readBase(context);
    const proxies = readSetting(context, 'TRUSTED_PROXIES');
    const countryHeader = readSetting(context, 'COUNTRY_HEADER');
    if (proxies.length > 0) return checkProxies(proxies, context);
    if (countryHeader !== undefined)
      return broken(
        'COUNTRY_HEADER has no effect without TRUSTED_PROXIES. Set the addresses of the proxy, or remove it.',
      );
    if (url.protocol === 'https:')
      return missing(
        `BASE_URL is https:, so there is a proxy, but TRUSTED_PROXIES is empty: all callers count as the proxy's one address, share its limits, and appear in the audit log with it. Set TRUSTED_PROXIES to the proxy's address: ${proxyGuide}.`,
      );
    return notConfigured(
      'Addresses of callers are those that connect, which is right without a proxy. Behind one, set TRUSTED_PROXIES.',
    );
  },
};

const strangers = ['192.0.2.1', '198.51.100.1', '2001:db8::1'];

function checkProxies(proxies: readonly string[], context: CheckContext): CheckResult {
  try {
    const isTrusted = createProxyCheck(proxies);
    if (strangers.some(isTrusted))
      return broken(
        `TRUSTED_PROXIES trusts every address, so any caller can pretend to have another one. List only your proxies: ${proxyGuide}.`,
      );
    return works(`X-Forwarded-For is read if it comes from ${proxies.join(', ')}. Nobody else can set it.`);
  } catch (error) {
    return broken(
      `TRUSTED_PROXIES is not a list of addresses and ranges: ${describeReason(error, context)}. The API does not start with it.`,
    );
  }
}

export const networkChecks: readonly Check[] = [domain, appsDomain, certificate, appsCertificate, proxy];
