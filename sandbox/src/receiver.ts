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
  readonly body: unknown;
}

const keptDeliveries = 1_000;

/** `onDelivery` is called with a line for people. */
export async function startReceiver(port = 0, onDelivery: (line: string) => void = () => {}): Promise<Receiver> {
  const deliveries: ReceivedRequest[] = [];
  const secrets: string[] = [];
  const endpoint = await startWebhookEndpoint({ address: '127.0.0.1', port, onRequest: () => {} });

  endpoint.respond = (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://receiver');
    if (request.method === 'GET' && pathname === '/received') return json(200, list(searchParams));
    if (request.method === 'POST' && pathname === '/secrets') return addSecret(request.body.trim());
    if (request.method !== 'POST') return json(404, { error: usage });
    deliveries.push(request);
    deliveries.splice(0, deliveries.length - keptDeliveries);
    const shown = show(request, secrets);
    const number = shown.sequence === null ? 'a test' : `number ${shown.sequence}`;
    onDelivery(`${shown.path}  ${shown.event}, ${number}, attempt ${shown.attempt}: signature ${shown.signature}`);
    return { status: shown.answered };
  };

  /** Oldest first. `path` selects those sent to one path. */
  function list(query: URLSearchParams): Shown[] {
    const path = query.get('path');
    const all = deliveries.map((request) => show(request, secrets));
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
  'POST anything to any path to deliver it. GET /received?path=/… lists what arrived. POST /secrets takes a secret to verify with.';

const json = (status: number, body: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: `${JSON.stringify(body, null, 2)}\n`,
});

function show(request: ReceivedRequest, secrets: readonly string[]): Shown {
  const header = (name: string) => String(request.headers[name] ?? '');
  return {
    path: request.path,
    event: header('x-service-event'),
    delivery: header('x-service-delivery'),
    sequence: Number(header('x-service-sequence')) || null,
    attempt: Number(header('x-service-attempt')),
    answered: statusFor(request.path),
    signature: judgeSignature(request, secrets, header),
    body: parseBody(request.body),
  };
}

/** `/status/503/orders` answers 503; every other path answers 200. */
const statusFor = (path: string): number => Number(/^\/status\/([2-5]\d\d)(?:\/|\?|$)/.exec(path)?.[1] ?? 200);

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
