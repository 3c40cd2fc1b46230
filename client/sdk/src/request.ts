// Turns the arguments of a call into a request: path, query, body and headers.
import type { CallOptions } from './call.ts';
import type { Operation } from './operation.ts';
import type { Outgoing } from './send.ts';

export interface RequestDefaults {
  readonly url: string;
  readonly workspaceId: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** Keys count per person, so without a credential there are none. */
  readonly hasCredential: boolean;
}

export type Arguments = Readonly<Record<string, unknown>>;

export function buildRequest(
  operation: Operation,
  args: Arguments,
  options: CallOptions,
  defaults: RequestDefaults,
): Outgoing {
  const { path, query, body } = placeArguments(operation, args);
  const key = chooseKey(operation, options, defaults);
  const held = Number(operation.value('h') ?? 0);
  return {
    operation,
    url: `${defaults.url}${path}${query}`,
    headers: {
      accept: 'application/json, */*;q=0.1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(defaults.workspaceId !== undefined && { 'x-active-workspace-id': defaults.workspaceId }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...defaults.headers,
      ...options.headers,
    },
    body,
    requestId: options.requestId ?? crypto.randomUUID(),
    isRepeatable:
      operation.has('s') || operation.has('r') || (operation.has('k') && key !== undefined && defaults.hasCredential),
    maxRetries: options.maxRetries ?? defaults.maxRetries,
    attemptMs: options.timeoutMs ?? (held > 0 ? (held + 10) * 1000 : defaults.timeoutMs),
    signal: options.signal,
  };
}

/** One key for all attempts of a call. */
function chooseKey(
  operation: Operation,
  { idempotencyKey }: CallOptions,
  { hasCredential }: RequestDefaults,
): string | undefined {
  if (!operation.has('i')) return undefined;
  return idempotencyKey ?? (hasCredential ? crypto.randomUUID() : undefined);
}

function placeArguments(operation: Operation, args: Arguments) {
  const left = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = left.get(name);
    left.delete(name);
    // An empty part of a path would make another path of it.
    if (value === undefined || value === null || value === '')
      throw new TypeError(`${operation.name}: ${name} is missing`);
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
