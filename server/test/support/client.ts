// The tests' HTTP client: plain requests on loopback, sent exactly as the test specifies.
import { Agent, request } from 'node:http';

export interface CallOptions {
  /** A token, sent as `Authorization: Bearer`. */
  readonly as?: string;
  /** Sent as JSON, unless it is a string or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Disconnects from the server when aborted. */
  readonly signal?: AbortSignal | undefined;
}

export interface CallResult {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: Responses are not typed here.
  readonly body: any;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export function call(base: string, method: string, path: string, options: CallOptions = {}): Promise<CallResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CallResult>();
  const payload = toPayload(options.body);
  const { hostname, port } = new URL(base);
  const outgoing = request(
    { agent, method, hostname, port, path, headers: toHeaders(options, payload), signal: options.signal },
    (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const headers = incoming.headers as Record<string, string | undefined>;
        resolve({
          status: incoming.statusCode ?? 0,
          headers,
          text,
          body: isJson(headers) && text ? JSON.parse(text) : undefined,
        });
      });
      incoming.on('error', reject);
    },
  );
  outgoing.on('error', reject);
  outgoing.end(payload);
  return promise;
}

export interface StreamedEvent {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly data: any;
}

export interface EventStream {
  readonly status: number;
  /** The events received so far. Comments appear as events named `:`. */
  readonly events: readonly StreamedEvent[];
  /** Waits for the first event with this name. */
  until(event: string): Promise<StreamedEvent>;
  readonly ended: Promise<void>;
  close(): void;
}

/** Requests an event stream and reads it as it arrives. With a body it posts. */
export function stream(base: string, path: string, options: CallOptions): Promise<EventStream> {
  const { promise, resolve, reject } = Promise.withResolvers<EventStream>();
  const payload = toPayload(options.body);
  const headers = { accept: 'text/event-stream', ...toHeaders(options, payload) };
  const { hostname, port } = new URL(base);
  const outgoing = request({ method: payload ? 'POST' : 'GET', hostname, port, path, headers }, (incoming) => {
    const events: StreamedEvent[] = [];
    const waiters = new Set<() => void>();
    const ended = Promise.withResolvers<void>();
    let text = '';
    incoming.on('data', (chunk: Buffer) => {
      const blocks = (text + chunk.toString('utf8')).split('\n\n');
      text = blocks.pop() ?? '';
      events.push(...blocks.map(parseEvent));
      for (const check of waiters) check();
    });
    incoming.on('close', () => {
      ended.resolve();
      for (const check of waiters) check();
    });
    incoming.on('error', () => {}); // `close` follows
    const until = (name: string) => {
      const found = Promise.withResolvers<StreamedEvent>();
      const check = () => {
        const event = events.find((each) => each.event === name);
        if (event !== undefined) found.resolve(event);
        else if (incoming.closed) found.reject(new Error(`the stream ended without ${name}`));
      };
      waiters.add(check);
      check();
      return found.promise;
    };
    resolve({ status: incoming.statusCode ?? 0, events, until, ended: ended.promise, close: () => outgoing.destroy() });
  });
  outgoing.on('error', reject);
  outgoing.end(payload);
  return promise;
}

function parseEvent(block: string): StreamedEvent {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1];
  return { event: field('event') ?? ':', id: field('id'), data: JSON.parse(field('data') ?? 'null') };
}

const isJson = (headers: Record<string, string | undefined>): boolean =>
  /^application\/(problem\+)?json/.test(headers['content-type'] ?? '');

function toPayload(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function toHeaders(options: CallOptions, payload: Buffer | undefined): Record<string, string | number> {
  return {
    ...(options.as && { authorization: `Bearer ${options.as}` }),
    ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
    ...options.headers,
  };
}
