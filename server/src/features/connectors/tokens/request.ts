// Requests to a connected service's API. The caller chooses the path, and the catalogue determines the host.
import type { Outbound, OutboundRequest } from '../../../kit/outbound/outbound.ts';
import type { Outcome } from '../../../kit/outbound/outcome.ts';
import type { Db } from '../../../tables.ts';
import { type Connector, findConnector } from '../catalogue.ts';
import type { Endpoints } from '../endpoints.ts';
import type { RefreshDeps } from './refresh.ts';
import { type Authentication, authenticate, authenticateAgain, type UnusableReason, type Usable } from './use.ts';

export interface ConnectorRequest extends Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'maxBodyBytes'> {
  readonly integration_type: string;
  /** Begins with a slash and may include a query. */
  readonly path: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ConnectorResult =
  /** `secrets` are the values that authenticated the request. The service may echo them in its response. */
  | { readonly kind: 'sent'; readonly outcome: Outcome; readonly secrets: readonly string[] }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason | 'unknown_type' | 'path' | 'body' };

export interface ConnectorRequestDeps extends RefreshDeps {
  readonly outbound: Pick<Outbound, 'send'>;
  readonly endpoints: Pick<Endpoints, 'clientFor' | 'apiBaseFor'>;
}

/** If the service refuses a token with 401, the token is refreshed and the request is resent once. */
export async function sendRequest(
  db: Db,
  deps: ConnectorRequestDeps,
  app: { readonly workspace_id: string; readonly id: string },
  request: ConnectorRequest,
): Promise<ConnectorResult> {
  const connector = findConnector(request.integration_type);
  if (connector === undefined) return { kind: 'unusable', reason: 'unknown_type' };
  const content = toContent(connector, request);
  if (content === undefined) return { kind: 'unusable', reason: 'body' };
  const startedAt = performance.now();
  const send = async (usable: Usable): Promise<ConnectorResult> => {
    if ('unusable' in usable) return { kind: 'unusable', reason: usable.unusable };
    const url = toUrl(deps.endpoints.apiBaseFor(connector, usable.connection.connection_config), request.path);
    if (url === undefined) return { kind: 'unusable', reason: 'path' };
    const ms = performance.now() - startedAt;
    const timeoutMs = request.timeoutMs - ms;
    // Refreshing the token may have used up all the time.
    if (timeoutMs <= 0)
      return { kind: 'sent', outcome: { outcome: 'failed', kind: 'timeout', sent: false, ms }, secrets: [] };
    return deliver(app.workspace_id, url, { ...request, ...content, timeoutMs }, usable, deps);
  };

  const usable = await authenticate(db, deps, app, connector, request.signal);
  const first = await send(usable);
  if ('unusable' in usable || !isUnauthorized(first)) return first;
  const renewed = await authenticateAgain(db, deps, usable, connector, request.signal);
  if (renewed === undefined) return first;
  const second = await send(renewed);
  // The response may echo either token.
  return second.kind === 'sent' ? { ...second, secrets: [...usable.secrets, ...second.secrets] } : second;
}

async function deliver(
  owner: string,
  url: string,
  { method, headers, body, maxBodyBytes, timeoutMs, signal }: ConnectorRequest,
  { headers: authentication, secrets }: Authentication,
  { outbound }: ConnectorRequestDeps,
): Promise<ConnectorResult> {
  const outcome = await outbound.send({
    owner,
    method,
    url,
    headers: { ...headers, ...authentication },
    ...(body !== undefined && { body }),
    maxBodyBytes,
    timeoutMs,
    signal,
  });
  return { kind: 'sent', outcome, secrets };
}

/** Undefined if the service accepts only forms and the body can't be converted to one. */
function toContent(
  { apiHeaders, bodyFormat }: Connector,
  { headers, body }: ConnectorRequest,
): Pick<ConnectorRequest, 'headers' | 'body'> | undefined {
  const isJson = typeof body === 'string' && headers?.['content-type'] === 'application/json';
  if (bodyFormat !== 'form' || !isJson)
    return { headers: { ...headers, ...apiHeaders }, ...(body !== undefined && { body }) };
  const form = toForm(JSON.parse(body));
  if (form === undefined) return undefined;
  return { headers: { ...headers, ...apiHeaders, 'content-type': formType }, body: form };
}

const formType = 'application/x-www-form-urlencoded';

/** Encodes `{ To: "+1", MediaUrl: ["a", "b"] }` as `To=%2B1&MediaUrl=a&MediaUrl=b`. */
function toForm(fields: unknown): string | undefined {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each === 'object') return undefined;
      form.append(name, String(each));
    }
  return form.toString();
}

const isUnauthorized = (result: ConnectorResult): boolean =>
  result.kind === 'sent' && result.outcome.outcome === 'answered' && result.outcome.status === 401;

/** Undefined if the path leaves the API's own path or host, or if the URL parser would normalise it. */
function toUrl(base: string, path: string): string | undefined {
  const text = base + path;
  const url = path.startsWith('/') ? URL.parse(text) : null;
  const api = new URL(base);
  if (url === null || url.origin !== api.origin || url.hash !== '' || path.includes('#')) return undefined;
  const end = path.indexOf('?');
  const written = end === -1 ? path : path.slice(0, end);
  // `URL` resolves dot segments, even encoded ones, and turns backslashes into slashes. An unchanged path contained
  // neither.
  return url.pathname === (api.pathname === '/' ? '' : api.pathname) + written ? url.href : undefined;
}
