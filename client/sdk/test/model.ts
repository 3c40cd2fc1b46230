// A model of the server for tests of retries: it counts the effects of each call, and loses, cuts or replaces answers
// as chance decides. It is passed to the client as `fetch`.

export interface ModelledCall {
  /** How often the call took effect. */
  effects: number;
  /** The answers by key. */
  readonly stored: Map<string, string>;
  isDeleted: boolean;
}

export type Chance = () => number;

const problem = (status: number, code: string, more: object = {}, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ status, code, detail: 'Refused.', request_id: 'r', ...more }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });

const answer = (body: string) => new Response(body, { headers: { 'content-type': 'application/json' } });

/** Returns a body that breaks in the middle. */
function cutOff(text: string): Response {
  const bytes = new TextEncoder().encode(text);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes.slice(0, bytes.length / 2));
      controller.error(new Error('socket closed'));
    },
  });
  return new Response(stream, { headers: { 'content-type': 'application/json' } });
}

const lost = (code: string, syscall: string) => new TypeError('fetch failed', { cause: { code, syscall } });

/** What gateways answer with in JSON. Their codes are not Plinth's. */
const gateway = (status: number) =>
  new Response(JSON.stringify({ code: status, message: 'No route, or no server.' }), {
    status,
    headers: { 'content-type': 'application/json' },
  });

/** What the server does with a request that reaches it. `safe` is what `retry_safe` says after a 500. */
function process(state: ModelledCall, method: string, key: string | null): { response: Response; text: string } {
  const ok = (text: string) => ({ response: answer(text), text });
  if (method === 'GET') return ok('{"id":"a"}');
  if (method === 'PUT') {
    state.effects = 1; // the same values again change nothing
    return ok('{"id":"a"}');
  }
  if (method === 'DELETE') {
    if (state.isDeleted) return { response: problem(404, 'app_not_found'), text: '' };
    state.isDeleted = true;
    state.effects += 1;
    return ok('{"success":true}');
  }
  const stored = key === null ? undefined : state.stored.get(key);
  if (stored !== undefined) return ok(stored);
  state.effects += 1;
  const text = '{"id":"a"}';
  if (key !== null) state.stored.set(key, text);
  return ok(text);
}

/** Creates a `fetch` whose requests meet a random fate. Keys of callers without a credential do not count. */
export function createModel(state: ModelledCall, chance: Chance, repeat: 'safe' | 'key' | 'look'): typeof fetch {
  return async (_url, init = {}) => {
    const headers = new Headers(init.headers);
    const method = init.method ?? 'GET';
    const key = headers.has('authorization') ? headers.get('idempotency-key') : null;
    const isSafe = repeat === 'safe' || (repeat === 'key' && key !== null);
    const fate = chance();
    if (fate < 0.04) throw lost('ECONNREFUSED', 'connect');
    if (fate < 0.06) throw lost('ENOTFOUND', 'getaddrinfo');
    if (fate < 0.14) throw lost('ECONNRESET', 'read');
    if (fate < 0.16) return gateway(404);
    if (fate < 0.18)
      return new Response('404 page not found', { status: 404, headers: { 'content-type': 'text/plain' } });
    if (fate < 0.22)
      return new Response('<html>Bad gateway</html>', { status: 502, headers: { 'content-type': 'text/html' } });
    if (fate < 0.28)
      return problem(429, 'rate_limited', { retry_safe: true }, { 'retry-after': chance() < 0.5 ? '0' : '3600' });
    if (fate < 0.34) return problem(503, 'busy', { retry_safe: true }, { 'retry-after': '0' });
    if (fate < 0.38) return problem(409, 'slug_taken', { retry_safe: false });
    if (fate < 0.42) return problem(500, 'internal_error', { retry_safe: isSafe });
    const { response, text } = process(state, method, key);
    if (fate < 0.48) throw lost('ECONNRESET', 'read');
    if (fate < 0.51) throw lost('EHOSTUNREACH', 'read');
    if (fate < 0.53) return gateway(503);
    if (fate < 0.57)
      return new Response('<html>Gateway time-out</html>', { status: 504, headers: { 'content-type': 'text/html' } });
    if (fate < 0.62)
      return new Response('<html>Sign in to the network</html>', { headers: { 'content-type': 'text/html' } });
    if (fate < 0.67) return problem(500, 'internal_error', { retry_safe: isSafe });
    if (fate < 0.74 && text !== '') return cutOff(text);
    return response;
  };
}
