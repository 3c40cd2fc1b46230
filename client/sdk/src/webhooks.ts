// Verifies deliveries of webhooks, and notices which of them are missing (docs/guides/receiving-webhooks.md).
import type { MessageEvent, RecordEvent } from './generated/schemas.ts';

export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

export interface Delivery {
  readonly event: MessageEvent | RecordEvent;
  /** The id of the delivery, the same at every attempt. It is signed: recognise repeats by it. */
  readonly id: string;
  /**
   * The number of the delivery within its webhook, without gaps. Undefined for a test. It is not signed: use it only to
   * notice what is missing.
   */
  readonly sequence: number | undefined;
  readonly attempt: number;
}

export interface VerifyOptions {
  /** The secret that was shown when the webhook was created: `whsec_…`. */
  readonly secret: string;
  /** How old a delivery may be. Default: five minutes. */
  readonly toleranceSeconds?: number;
  readonly now?: Date;
}

/** What a request of any framework has: its headers, and its raw body before any parsing. */
export interface RawRequest {
  readonly headers: AnyHeaders | Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | Uint8Array;
}

/** A request with the methods of the web standard, of whatever library. */
export interface WebRequest {
  readonly headers: AnyHeaders;
  arrayBuffer(): Promise<ArrayBuffer>;
}

interface AnyHeaders {
  get(name: string): string | null;
}

/** Throws WebhookError unless the delivery is genuine and recent. */
export async function verifyWebhook(request: WebRequest | RawRequest, options: VerifyOptions): Promise<Delivery> {
  const { secret, toleranceSeconds = 300, now = new Date() } = options;
  if (!/^whsec_./.test(secret)) throw new WebhookError('The secret is missing or does not begin with whsec_.');
  const header = (name: string) => readHeader(request.headers, name);
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')];
  const offSeconds = Math.abs(now.getTime() / 1000 - Number(timestamp));
  // Written so that a tolerance that is not a number accepts nothing.
  if (!/^\d+$/.test(timestamp) || !(offSeconds <= toleranceSeconds))
    throw new WebhookError('webhook-timestamp is missing or too far from the present time.');
  const body = await readBody(request);
  const signatures = header('webhook-signature')
    .split(' ')
    .filter((each) => each.startsWith('v1,'));
  const key = await importKey(fromBase64(secret.slice('whsec_'.length)));
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const checks = await Promise.all(signatures.map((each) => isSignature(key, fromBase64(each.slice(3)), signed)));
  if (!checks.includes(true)) throw new WebhookError('webhook-signature does not match.');
  const sequence = header('x-service-sequence');
  return {
    event: JSON.parse(new TextDecoder().decode(body)),
    id,
    sequence: /^\d+$/.test(sequence) ? Number(sequence) : undefined,
    attempt: Number(header('x-service-attempt') || 1),
  };
}

function readHeader(headers: RawRequest['headers'], name: string): string {
  if (hasGet(headers)) return headers.get(name) ?? '';
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return String(Array.isArray(found) ? found[0] : (found ?? ''));
}

const hasGet = (headers: RawRequest['headers']): headers is AnyHeaders => typeof headers.get === 'function';

async function readBody(request: WebRequest | RawRequest): Promise<Uint8Array<ArrayBuffer>> {
  if ('arrayBuffer' in request) return new Uint8Array(await request.arrayBuffer());
  const { body } = request;
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return new Uint8Array(body);
  throw new WebhookError('The raw body is missing: pass it as text or bytes, before it is parsed.');
}

const importKey = (bytes: Uint8Array<ArrayBuffer>) =>
  crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);

type Key = Awaited<ReturnType<typeof importKey>>;

/** Compares in constant time. */
const isSignature = (key: Key, signature: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<boolean> =>
  crypto.subtle.verify('HMAC', key, signature, signed);

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new WebhookError('The secret or the signature is not base64.');
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(a.length + b.length);
  whole.set(a);
  whole.set(b, a.length);
  return whole;
}

export interface StoredSequence {
  /** Every number up to this one was received. */
  readonly upTo: number;
  /** The numbers above it that were received. */
  readonly beyond: readonly number[];
}

/**
 * The numbers of a webhook's deliveries that were received. They arrive in any order, and some of them twice. Lock the
 * row that it is stored in: two processes that change what they both have read would forget a number.
 */
export class Sequence {
  #upTo: number;
  readonly #beyond: Set<number>;

  constructor({ upTo, beyond }: StoredSequence = { upTo: 0, beyond: [] }) {
    this.#upTo = upTo;
    this.#beyond = new Set(beyond);
  }

  has(sequence: number): boolean {
    return sequence <= this.#upTo || this.#beyond.has(sequence);
  }

  /** Adds a number, after its work. Returns false if it was received before. */
  add(sequence: number): boolean {
    if (this.has(sequence)) return false;
    this.#beyond.add(sequence);
    this.#advance();
    return true;
  }

  /** Counts all numbers up to this one as received, for example those before your first delivery. */
  skipTo(sequence: number): void {
    if (sequence <= this.#upTo) return;
    this.#upTo = sequence;
    for (const each of this.#beyond) if (each <= sequence) this.#beyond.delete(each);
    this.#advance();
  }

  #advance(): void {
    while (this.#beyond.delete(this.#upTo + 1)) this.#upTo += 1;
  }

  /** The numbers below the highest one that have not arrived: at most the first 1,000. */
  get missing(): number[] {
    const missing: number[] = [];
    let highest = this.#upTo;
    for (const each of this.#beyond) highest = Math.max(highest, each);
    for (let each = this.#upTo + 1; each < highest && missing.length < 1000; each += 1)
      if (!this.#beyond.has(each)) missing.push(each);
    return missing;
  }

  /** What to store, in the same transaction as the work. */
  toJSON(): StoredSequence {
    return { upTo: this.#upTo, beyond: [...this.#beyond].sort((a, b) => a - b) };
  }
}
