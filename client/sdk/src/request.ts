// Turns the arguments of a call into a request: path, query, body and headers.
import type { CallOptions } from './call.ts';
import { lastEvents } from './generated/table.ts';
import type { Operation } from './operation.ts';
import type { Outgoing } from './send.ts';

export interface RequestDefaults {
  readonly url: string;
  readonly workspaceId: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** Keys count per person, so without a credential there are none. */
  readonly credential: 'token' | 'session' | undefined;
}

export type Arguments = Readonly<Record<string, unknown>>;

export function buildRequest(
  operation: Operation,
  args: Arguments,
  options: CallOptions,
  defaults: RequestDefaults,
): Outgoing {
  const { path, query, body } = placeArguments(operation, args);
  const headers = {
    accept: 'application/json, */*;q=0.1',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(defaults.workspaceId !== undefined && { 'x-active-workspace-id': defaults.workspaceId }),
    ...chooseKey(operation, options, defaults),
    ...defaults.headers,
    ...withLowerCaseNames(options.headers),
  };
  const hasKey = 'idempotency-key' in headers && isKeyHonoured(operation, defaults);
  return {
    operation,
    url: `${defaults.url}${path}${query}`,
    headers,
    body,
    requestId: options.requestId ?? createId(),
    isRepeatable: operation.has('s') || operation.has('r') || (operation.has('k') && hasKey),
    maxRetries: options.maxRetries ?? defaults.maxRetries,
    attemptMs: options.timeoutMs ?? chooseTimeout(operation, defaults),
    signal: options.signal,
  };
}

/** Otherwise a header could be there twice. */
export const withLowerCaseNames = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Browsers have `randomUUID` only on pages with https. */
export const createId = (): string =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** One key for all attempts of a call. */
function chooseKey(
  operation: Operation,
  { idempotencyKey }: CallOptions,
  { credential }: RequestDefaults,
): { readonly 'idempotency-key'?: string } {
  if (!operation.has('i')) return {};
  const key = idempotencyKey ?? (credential && createId());
  return key === undefined ? {} : { 'idempotency-key': key };
}

/**
 * The key of an anonymous caller is ignored. Nobody may be signed in on the page, and an operation for anonymous callers
 * does not say so.
 */
const isKeyHonoured = (operation: Operation, { credential }: RequestDefaults): boolean =>
  credential === 'token' || (credential === 'session' && !operation.has('a'));

/** Only the stream of such a read is held; a plain answer comes at once. */
function chooseTimeout(operation: Operation, { timeoutMs }: RequestDefaults): number {
  const isOfStream = operation.has('r') && operation.name in lastEvents;
  const heldSeconds = isOfStream ? 0 : Number(operation.value('h') ?? 0);
  return heldSeconds > 0 ? (heldSeconds + 10) * 1000 : timeoutMs;
}

function placeArguments(operation: Operation, args: Arguments) {
  const left = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = left.get(name);
    left.delete(name);
    // An empty part of a path would make another path of it.
    if (value === undefined || value === null || value === '')
      throw new TypeError(`${operation.name}: ${name} is missing`);
    // So would these, which encoding leaves as they are: /apps/a/entities/../secrets is /apps/a/secrets.
    if (/^\.\.?$/.test(String(value))) throw new TypeError(`${operation.name}: ${name} can't be "." or ".."`);
    return encodeURIComponent(String(value));
  });
  const hasBody = operation.has('b') || operation.has('B');
  const inQuery = hasBody ? (operation.value('q')?.split(',') ?? []) : [...left.keys()];
  const query = new URLSearchParams();
  for (const name of inQuery) {
    const value = left.get(name);
    left.delete(name);
    if (value !== undefined && value !== null)
      query.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  const text = query.size > 0 ? `?${query}` : '';
  if (!hasBody) return { path, query: text, body: undefined };
  const whole = operation.has('B') ? left.get('body') : Object.fromEntries(left);
  return { path, query: text, body: JSON.stringify(whole ?? {}) };
}
