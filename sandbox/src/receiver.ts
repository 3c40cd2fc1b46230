// A webhook receiver for development. It accepts every POST, lists the deliveries, and reports whether each signature
// is genuine. Signatures are verified with the guide's code (docs/guides/receivers/verify.ts), which shares nothing
// with Plinth's signing code.
import { verify } from '../../docs/guides/receivers/verify.ts';
import { answerWithPage, wantsPage } from './pages/page.ts';
import { toReceivedPage } from './received-page.ts';
import { type ReceivedRequest, startWebhookEndpoint } from './webhook-endpoint.ts';

export interface Receiver {
  readonly url: string;
  close(): Promise<void>;
}

/** A delivery as listed by `GET /received`. */
interface Shown {
  readonly path: string;
  readonly event: string;
  readonly delivery: string;
  readonly sequence: number | null;
  readonly attempt: number;
  readonly answered: number;
  readonly signature: string;
  /** The headers that the `GET /received` request selected. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A request, its number, and its response status. */
type Delivery = ReceivedRequest & { readonly id: number; readonly answered: number };

const keptDeliveries = 1_000;

/** `onDelivery` is called with a human-readable line for each delivery. `startPage` is the sandbox's start page. */
export async function startReceiver(
  port = 0,
  onDelivery: (line: string) => void = () => {},
  startPage?: string,
): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  let nextId = 1;
  const secrets: string[] = [];
  const endpoint = await startWebhookEndpoint({ address: '127.0.0.1', port, onRequest: () => {} });
  const url = `http://127.0.0.1:${endpoint.port}`;

  endpoint.respond = (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://receiver');
    if (request.method === 'GET' && pathname === '/received')
      return wantsPage(request)
        ? showPage(searchParams.get('path') || null)
        : json(200, list(searchParams), { vary: 'accept' });
    if (request.method === 'GET' && pathname === '/' && wantsPage(request))
      return { status: 302, headers: { location: '/received' } };
    if (request.method === 'POST' && pathname === '/secrets') return addSecret(request.body.trim());
    if (request.method !== 'POST') return json(404, { error: usage });
    const earlier = deliveries.filter(({ path }) => path === request.path).length;
    const delivery = { ...request, id: nextId++, answered: statusFor(request.path, earlier) };
    deliveries.push(delivery);
    deliveries.splice(0, deliveries.length - keptDeliveries);
    onDelivery(describe(show(delivery, secrets)));
    return { status: delivery.answered };
  };

  /** Lists deliveries, oldest first. `path` filters by path, and `headers` names the headers to include. */
  function list(query: URLSearchParams): Shown[] {
    const path = query.get('path');
    const headers = query.get('headers')?.toLowerCase().split(',');
    const all = deliveries.map((delivery) => show(delivery, secrets, headers));
    return path === null ? all : all.filter((shown) => shown.path === path);
  }

  function showPage(path: string | null) {
    const shown = deliveries.map((delivery) => ({
      ...show(delivery, secrets),
      id: delivery.id,
      at: delivery.at,
      method: delivery.method,
      headers: Object.entries(delivery.headers).map(([name, value]) => [name, String(value)] as const),
    }));
    return answerWithPage(toReceivedPage({ url, deliveries: shown, path, keptDeliveries, startPage }));
  }

  function addSecret(secret: string) {
    if (!/^whsec_[\w+/=-]+$/.test(secret))
      return json(400, { error: "Send the webhook's secret as the body. It begins with whsec_." });
    if (!secrets.includes(secret)) secrets.push(secret);
    return json(200, { secrets: secrets.length });
  }

  return { url, close: endpoint.close };
}

const usage =
  'POST anything to any path to deliver it. GET /received?path=/… lists what arrived, with &headers=authorization also that header. POST /secrets takes a secret to verify with.';

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: `${JSON.stringify(body, null, 2)}\n`,
});

/** Describes a delivery. Requests that are not webhooks, such as those from workflows, have no event. */
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
 * `/status/503/orders` responds with 503, and every other path with 200. `/status/503,200/orders` responds with 503 to
 * the first request and with 200 to later requests.
 */
function statusFor(path: string, earlier: number): number {
  const statuses = /^\/status\/((?:[2-5]\d\d,)*[2-5]\d\d)(?:\/|\?|$)/.exec(path)?.[1]?.split(',') ?? ['200'];
  return Number(statuses[Math.min(earlier, statuses.length - 1)]);
}

/** Signatures are checked when deliveries are listed, so a new secret also applies to earlier deliveries. */
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
