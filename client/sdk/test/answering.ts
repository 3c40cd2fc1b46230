// Clients whose requests get chosen answers, and what was sent.
import { Plinth, type PlinthOptions } from '../src/index.ts';

export const url = 'https://plinth.example';

export const json = (body: unknown, headers: Record<string, string> = {}, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

export const problem = (status: number, code: string, more: object = {}, headers: Record<string, string> = {}) =>
  json({ status, code, detail: 'Refused.', request_id: 'r', ...more }, headers, status);

export const page = (status: number, type = 'text/html') =>
  new Response('<html>A page of a proxy</html>', { status, headers: { 'content-type': type } });

/** An event as it is sent. An event of the server's own has no id. */
export const event = (name: string, data: unknown, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** A stream of these events that ends, or breaks. */
export const events = (texts: readonly string[], ending: 'ends' | 'breaks' = 'ends') => {
  const body = new ReadableStream({
    // Each text is a read of its own, because a stream that breaks drops what has not been read.
    pull(controller) {
      const [next, ...rest] = texts;
      texts = rest;
      if (next !== undefined) return controller.enqueue(new TextEncoder().encode(next));
      if (ending === 'ends') controller.close();
      else controller.error(new Error('socket closed'));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
};

/** What `fetch` throws. `syscall` says what the system was asked for when it failed. */
export const lost = (code: string, syscall: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(`${syscall} ${code}`), { code, syscall }) });

export const fail = (error: Error) => (): never => {
  throw error;
};

/** Returns a client whose requests get these answers, the last of them again and again, and the requests. */
export function answering(answers: readonly (() => Response)[], options: PlinthOptions = {}) {
  const sent: { url: string; init: RequestInit }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init = {}) => {
    sent.push({ url: String(url), init });
    return answers[Math.min(sent.length, answers.length) - 1]?.() ?? json({});
  };
  return { plinth: new Plinth({ url, token: 'plp_00', fetch, ...options }), sent };
}

/** What a call or a stream is refused with. */
export const refusalOf = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => undefined,
    (error: unknown) => error,
  );

export async function listOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const listed: Item[] = [];
  for await (const item of items) listed.push(item);
  return listed;
}
