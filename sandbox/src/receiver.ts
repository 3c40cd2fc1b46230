// A receiver of webhooks for development: takes every POST, shows what arrived, and says whether its signature is genuine.
// It verifies with the code of the guide (docs/guides/receivers/verify.ts), which knows nothing of how Plinth signs.
import { verify } from '../../docs/guides/receivers/verify.ts';
import { type ReceivedRequest, startWebhookEndpoint } from './webhook-endpoint.ts';

export interface Receiver {
  readonly url: string;
  close(): Promise<void>;
}

/** What `GET /received` shows of a delivery. */
interface Shown {
  readonly path: string;
  readonly event: string;
  readonly delivery: string;
  readonly sequence: number | null;
  readonly attempt: number;
  readonly answered: number;
  readonly signature: string;
  /** Those that the caller of `GET /received` named. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A request, and how it was answered. */
type Delivery = ReceivedRequest & { readonly answered: number };

const keptDeliveries = 1_000;

/** `onDelivery` is called with a line for people. */
export async function startReceiver(port = 0, onDelivery: (line: string) => void = () => {}): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const secrets: string[] = [];
  const endpoint = await startWebhookEndpoint({ address: '127.0.0.1', port, onRequest: () => {} });

  endpoint.respond = (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://receiver');
    if (request.method === 'GET' && pathname === '/received') return json(200, list(searchParams));
    if (request.method === 'POST' && pathname === '/secrets') return addSecret(request.body.trim());
    if (request.method !== 'POST') return json(404, { error: usage });
    const earlier = deliveries.filter(({ path }) => path === request.path).length;
    const delivery = { ...request, answered: statusFor(request.path, earlier) };
    deliveries.push(delivery);
    deliveries.splice(0, deliveries.length - keptDeliveries);
    onDelivery(describe(show(delivery, secrets)));
    return { status: delivery.answered };
  };

  /** Oldest first. `path` selects those sent to one path, `headers` names headers to show. */
  function list(query: URLSearchParams): Shown[] {
    const path = query.get('path');
    const headers = query.get('headers')?.toLowerCase().split(',');
    const all = deliveries.map((delivery) => show(delivery, secrets, headers));
    return path === null ? all : all.filter((shown) => shown.path === path);
  }

  function addSecret(secret: string) {
    if (!/^whsec_[\w+/=-]+$/.test(secret))
      return json(400, { error: "Send the webhook's secret as the body. It begins with whsec_." });
    if (!secrets.includes(secret)) secrets.push(secret);
    return json(200, { secrets: secrets.length });
  }

  return { url: `http://127.0.0.1:${endpoint.port}`, close: endpoint.close };
}

const usage =
  'POST anything to any path to deliver it. GET /received?path=/… lists what arrived, with &headers=authorization also that header. POST /secrets takes a secret to verify with.';

const json = (status: number, body: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: `${JSON.stringify(body, null, 2)}\n`,
});

/** Requests that are no webhooks, such as those of workflows, have no event. */
const describe = ({ path, event, sequence, attempt, signature, answered }: Shown): string =>
  event === ''
    ? `${path}  answered ${answered}: not from a webhook`
    : `${path}  ${event}, ${sequence === null ? 'a test' : `number ${sequence}`}, attempt ${attempt}: signature ${signature}`;

function show(request: Delivery, secrets: readonly string[], headers?: readonly string[]): Shown {
  const header = (name: string) => String(request.headers[name] ?? '');
  return {
    path: request.path,
    event: header('x-service-event'),
    delivery: header('x-service-delivery'),
    sequence: Number(header('x-service-sequence')) || null,
    attempt: Number(header('x-service-attempt')),
    answered: request.answered,
    signature: judgeSignature(request, secrets, header),
    ...(headers && { headers: Object.fromEntries(headers.map((name) => [name, header(name)])) }),
    body: parseBody(request.body),
  };
}

/**
 * `/status/503/orders` answers 503; every other path answers 200. `/status/503,200/orders` answers 503 to the first request, and
 * 200 to those after it.
 */
function statusFor(path: string, earlier: number): number {
  const statuses = /^\/status\/((?:[2-5]\d\d,)*[2-5]\d\d)(?:\/|\?|$)/.exec(path)?.[1]?.split(',') ?? ['200'];
  return Number(statuses[Math.min(earlier, statuses.length - 1)]);
}

/** Judged when it is shown, so that a secret that becomes known later counts for what has arrived before. */
function judgeSignature(
  request: ReceivedRequest,
  secrets: readonly string[],
  header: (name: string) => string,
): string {
  if (header('webhook-signature') === '') return 'missing: the delivery is not signed';
  const raw = Buffer.from(request.body);
  const reasons = secrets.map((secret) => verify(secret, header, raw, request.at));
  if (reasons.includes(undefined)) return 'valid';
  if (reasons.length === 0) return 'not checked: send the secret to POST /secrets';
  return `invalid with each of the ${reasons.length} known secrets: ${reasons.at(-1)}`;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
