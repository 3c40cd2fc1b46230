// Sends a request to Plinth, and sends it again while that is safe and may help. Copy `send` into your client (Node
// 24).
import { randomUUID } from 'node:crypto';

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Nobody knows whether the request took effect. Find out before you send it again. */
export class OutcomeUnknown extends Error {}

const maxAttempts = 6;

export interface SendOptions {
  /** What the API says of the operation (`x-repeat`). With `key`, every attempt sends the same Idempotency-Key. */
  readonly repeat?: 'safe' | 'key' | 'look';
  readonly timeoutMs?: number;
}

export async function send(
  url: string,
  request: Outgoing,
  { repeat = request.method === 'GET' ? 'safe' : 'look', timeoutMs = 60_000 }: SendOptions = {},
): Promise<Response> {
  const headers = { ...(repeat === 'key' && { 'idempotency-key': randomUUID() }), ...request.headers };
  let mayHaveSucceeded = false;
  for (let attempt = 1; ; attempt += 1) {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await sendWhole(url, { ...request, headers, signal });
    const verdict = await judge(response);
    const isLast = attempt === maxAttempts;
    if (verdict === 'unknown' && (isLast || repeat === 'look')) throw new OutcomeUnknown(`${request.method} ${url}`);
    mayHaveSucceeded ||= verdict === 'unknown' || response?.status === 500;
    if (response !== undefined && (verdict === 'final' || (verdict === 'repeat' && isLast))) {
      // Without a key, a refusal may be the consequence of the first attempt, such as a revision that it changed.
      const isDone = response.ok || (request.method === 'DELETE' && response.status === 404);
      if (mayHaveSucceeded && !isDone && (repeat === 'safe' || verdict === 'repeat') && request.method !== 'GET')
        throw new OutcomeUnknown(`${request.method} ${url}`);
      return response;
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs(response, attempt)));
  }
}

/** Undefined if the answer did not arrive whole. */
async function sendWhole(url: string, request: RequestInit): Promise<Response | undefined> {
  try {
    const response = await fetch(url, request);
    const body = await response.arrayBuffer();
    return new Response(body.byteLength > 0 ? body : null, response);
  } catch {
    return undefined;
  }
}

async function judge(response: Response | undefined): Promise<'final' | 'repeat' | 'unknown'> {
  if (response === undefined) return 'unknown'; // a lost connection, a timeout
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json');
  if (!isProblem) return response.status >= 500 ? 'unknown' : 'final'; // a page of a proxy, not an answer of Plinth
  const { retry_safe } = (await response.clone().json()) as { retry_safe?: boolean };
  if (response.status === 500 && !retry_safe) return 'unknown';
  const isTemporary = response.status >= 500 || response.headers.has('retry-after');
  return retry_safe && isTemporary ? 'repeat' : 'final';
}

/** What the server asks for, or 0.5, 1, 2 … seconds; and up to half as much again, so clients don't return at once. */
function waitMs(response: Response | undefined, attempt: number): number {
  const askedMs = (Number(response?.headers.get('retry-after')) || 0) * 1000; // a proxy may send a date instead
  return Math.max(askedMs, 250 * 2 ** attempt) * (1 + Math.random() / 2);
}
