// Sends a request to Plinth, and sends it again while that is safe and may help. Copy `send` into your client (Node 24).
import { randomUUID } from 'node:crypto';

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Nobody knows whether the request took effect. Find out before you send it again. */
export class OutcomeUnknown extends Error {}

const maxAttempts = 6;
const timeoutMs = 60_000;

/** `honoursKey`: the operation accepts an Idempotency-Key. Every attempt sends the same one. */
export async function send(url: string, request: Outgoing, { honoursKey = false } = {}): Promise<Response> {
  const headers = { ...(honoursKey && { 'idempotency-key': randomUUID() }), ...request.headers };
  const isRepeatable = honoursKey || ['GET', 'PUT', 'DELETE'].includes(request.method);
  for (let attempt = 1; ; attempt += 1) {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { ...request, headers, signal }).catch(() => undefined);
    const verdict = await judge(response);
    const isLast = attempt === maxAttempts;
    if (verdict === 'unknown' && (isLast || !isRepeatable)) throw new OutcomeUnknown(`${request.method} ${url}`);
    if (response !== undefined && (verdict === 'final' || (verdict === 'repeat' && isLast))) return response;
    await new Promise((resolve) => setTimeout(resolve, waitMs(response, attempt)));
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

/** What the server asks for, or 0.5, 1, 2 … seconds; and up to half as much again, so that clients don't return at once. */
function waitMs(response: Response | undefined, attempt: number): number {
  const askedMs = (Number(response?.headers.get('retry-after')) || 0) * 1000; // a proxy may send a date instead
  return Math.max(askedMs, 250 * 2 ** attempt) * (1 + Math.random() / 2);
}
