// A single request to the git host's REST API, which is limited in time and size and never repeated. The operator
// sets the address, so requests bypass the guard for addresses that a caller can influence. Redirects to other hosts
// are not followed.
import { Octokit } from '@octokit/core';
import { Agent, type RequestInit, fetch as undiciFetch } from 'undici';
import type { Refused, Unavailable } from './types.ts';

export interface RestRequest {
  readonly method: 'GET' | 'POST';
  /** Example: `/repos/{owner}/{repo}`. Names in braces are parameters. */
  readonly path: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Undefined for a request that anyone may send. */
  readonly token: string | undefined;
  readonly signal?: AbortSignal;
}

export type RestAnswer =
  | { readonly outcome: 'answered'; readonly status: number; readonly headers: Headers; readonly body: unknown }
  /** `sent` is true if the host may have received the request. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly sent: boolean };

type Headers = Readonly<Record<string, unknown>>;

export interface Rest {
  send(request: RestRequest): Promise<RestAnswer>;
  close(): Promise<void>;
}

const maxBodyBytes = 8 * 1024 * 1024;
const maxRedirects = 3;
const ignore = () => {};

export function openRest(url: string, timeoutMs: number): Rest {
  const dispatcher = new Agent({ connect: { timeout: 5_000 } });
  const octokit = new Octokit({
    baseUrl: url.replace(/\/+$/, ''),
    userAgent: 'plinth',
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
  return {
    async send({ method, path, parameters, token, signal }) {
      const timeout = AbortSignal.timeout(timeoutMs);
      const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      // Octokit turns every failure into an error with status 500, so the actual failure is recorded here.
      let failure: Extract<RestAnswer, { outcome: 'failed' }> | undefined;
      const fetchOnce = async (target: string, options: RequestInit) => {
        try {
          return await fetchBounded(target, { ...options, dispatcher, signal: stop });
        } catch (error) {
          failure = describeFailure(error, signal);
          throw error;
        }
      };
      try {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const options = { ...parameters, headers, request: { fetch: fetchOnce } };
        const { status, headers: answered, data } = await octokit.request(`${method} ${path}`, options);
        return { outcome: 'answered', status, headers: answered, body: data };
      } catch (error) {
        if (failure !== undefined) return failure;
        const { response } = error as { response?: { status: number; headers: Headers; data: unknown } };
        // An error without a response means that the response could not be read.
        if (response === undefined) return { outcome: 'failed', reason: 'unreadable_answer', sent: true };
        return { outcome: 'answered', status: response.status, headers: response.headers, body: response.data };
      }
    },
    close: () => dispatcher.destroy(),
  };
}

/**
 * The host redirects requests for a renamed repository. Redirects are followed only within the same host, because the
 * request includes the token.
 */
async function fetchBounded(target: string, options: RequestInit): Promise<Response> {
  let url = target;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await undiciFetch(url, { ...options, redirect: 'manual' });
    const location = answer.headers.get('location');
    const isMoved = [301, 302, 307, 308].includes(answer.status) && location !== null && options.method === 'GET';
    const next = isMoved ? new URL(location, url) : undefined;
    if (next !== undefined && next.origin === new URL(url).origin && redirects < maxRedirects) {
      await answer.body?.cancel();
      url = next.href;
      continue;
    }
    const body = await readBounded(answer.body);
    const hasBody = ![204, 205, 304].includes(answer.status);
    return new Response(hasBody ? body : null, { status: answer.status, headers: [...answer.headers] });
  }
}

async function readBounded(body: AsyncIterable<Uint8Array> | null): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new Error('the response is too large');
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** Error codes for connections that were not established, which means that nothing was sent. */
const unsentCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|.*_CERT.*)$/;

function describeFailure(error: unknown, signal: AbortSignal | undefined): Extract<RestAnswer, { outcome: 'failed' }> {
  const { name, cause } = error as Error & { cause?: { code?: string } };
  const code = cause?.code ?? '';
  const reason = signal?.aborted ? 'stopped' : name === 'TimeoutError' ? 'timeout' : code.toLowerCase() || 'network';
  return { outcome: 'failed', reason, sent: !unsentCodes.test(code) };
}

/** The outcomes that all calls have in common. Undefined if the response depends on the call. */
export function findGeneralOutcome(answer: RestAnswer): Refused | Unavailable | undefined {
  if (answer.outcome === 'failed') return { outcome: 'unavailable', reason: answer.reason };
  const { status, headers } = answer;
  const isLimited = headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined;
  if (status === 429 || (status === 403 && (isLimited || /rate limit/i.test(messageOf(answer)))))
    return { outcome: 'unavailable', reason: 'rate_limited' };
  if (status === 401 || status === 403) return { outcome: 'refused', reason: messageOf(answer) };
  if (status >= 500) return { outcome: 'unavailable', reason: `status_${status}` };
  return undefined;
}

const maxReasonCharacters = 500;

/** The host's message. Example: `Validation Failed: No commits between main and work`. */
export function messageOf({ body, status }: Extract<RestAnswer, { outcome: 'answered' }>): string {
  const { message, errors } = asObject(body);
  const details = (Array.isArray(errors) ? errors : []).slice(0, 10).map((each) => {
    if (typeof each === 'string') return each;
    const error = asObject(each);
    return asText(error.message) || [asText(error.field), asText(error.code)].filter((text) => text !== '').join(' ');
  });
  const text = [asText(message), details.filter((detail) => detail !== '').join(', ')].filter((part) => part !== '');
  return cleanReason(text.join(': ')) || `status ${status}`;
}

/** A single line of limited length, for people and logs. */
export const cleanReason = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed on purpose
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, maxReasonCharacters);

export const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
