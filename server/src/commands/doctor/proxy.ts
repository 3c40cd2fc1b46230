// Checks what the proxy in front of the API passes on, by requests through BASE_URL that the API refuses.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { hostOf } from '../../kit/outbound/address.ts';
import { broken, type Check, type CheckContext, describeReason, notConfigured, works } from './check.ts';
import { readBase, resolveHost } from './network.ts';

const guide = 'docs/operate/proxy.md#what-each-file-sets';
const bodyBytes = 9_000_000;

interface Probe {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** The code of the API's answer if everything was passed on. */
  readonly expected: string;
  /** What follows if another answer comes. */
  readonly fault: string;
}

const probes: readonly Probe[] = [
  {
    method: 'GET',
    path: '/api/workspace',
    headers: { api_key: 'doctor' },
    expected: 'credentials_invalid',
    fault: `It drops headers with underscores, so keys that are sent as \`api_key\` are refused: ${guide}.`,
  },
  {
    method: 'POST',
    path: '/api/doctor',
    body: Buffer.alloc(bodyBytes),
    expected: 'route_not_found',
    fault: `It refuses bodies of 9 MB, and Plinth accepts 10 MiB, so files can't be written: ${guide}.`,
  },
];

export const proxyCheck: Check = {
  part: 'proxy',
  limitMs: 20_000,
  async run(context, signal) {
    const url = readBase(context);
    if (url.protocol !== 'https:') return notConfigured('BASE_URL is http:, so none is needed.');
    try {
      await requireApi(url, signal);
      const faults = await Promise.all(probes.map((probe) => findFault(probe, url, signal)));
      const found = faults.filter((fault) => fault !== undefined);
      return found.length > 0
        ? broken(found.join(' '))
        : works('It passes on bodies of 9 MB and headers with underscores.');
    } catch (error) {
      return broken(describeUnreachable(url, error, context));
    }
  },
};

const describeUnreachable = (url: URL, error: unknown, context: CheckContext): string =>
  `The API can't be reached through ${url.origin}: ${describeReason(error, context)}. Start the API and the proxy, or correct BASE_URL.`;

/** Otherwise, whatever the proxy answers instead of the API would be taken for a refusal. */
async function requireApi(url: URL, signal: AbortSignal): Promise<void> {
  const { status } = await send({ method: 'GET', path: '/healthz' }, url, signal);
  if (status !== 200) throw new Error(`the proxy answered ${status}`);
}

async function findFault(probe: Probe, url: URL, signal: AbortSignal): Promise<string | undefined> {
  const { body } = await send(probe, url, signal).catch(() => ({ body: '' })); // some proxies break off instead
  return body.includes(`"${probe.expected}"`) ? undefined : probe.fault;
}

async function send(
  { method, path, headers = {}, body }: Pick<Probe, 'method' | 'path' | 'headers' | 'body'>,
  url: URL,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const host = hostOf(url);
  const sent = request({
    host: await resolveHost(host),
    port: url.port || 443,
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: false, // nothing secret is sent, and another check reads the certificate
    agent: false,
    method,
    path: url.pathname.replace(/\/$/, '') + path,
    headers: { host: url.host, ...headers, ...(body !== undefined && { 'content-length': String(body.length) }) },
    signal,
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  sent.on('error', () => {}); // the answer came before everything was sent
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}
