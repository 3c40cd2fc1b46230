// One connector's authorization server: oidc-provider below a path, its consent page, and its back-channel
// requests. Everything is kept in memory.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Adapter, errors, Provider } from 'oidc-provider';
import { createStore } from './authorization-server-store.ts';
import { toConsentPage, toProblemPage } from './consent-page.ts';
import { answerWithPage, sendPage } from './pages/page.ts';

export interface BackChannelAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface ConnectorProvider {
  /** Serves a user's browser. */
  showPage(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Handles a client's request. Returns the response instead of sending it. */
  request(request: IncomingMessage, body: string): Promise<BackChannelAnswer>;
  /** Returns a valid access token's scopes. */
  findScopes(accessToken: string): Promise<string | undefined>;
}

/** The client that the operator registers for each connector. */
const sandboxClient = (connector: string) => ({
  clientId: `sandbox-${connector}`,
  clientSecret: `sandbox-${connector}-secret`,
});

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });

export function createConnectorProvider(
  issuer: string,
  lifetimeSeconds: () => number,
  startPage: string | undefined,
): ConnectorProvider {
  const { pathname: mountPath } = new URL(issuer);
  const store = createStore();
  let scopes = new Set(['openid', 'offline_access']);
  let provider = createProvider(issuer, scopes, store, { lifetimeSeconds, startPage });

  /** Adds the requested scopes, because oidc-provider must know all scopes when it is created. */
  const addScopes = (wanted: readonly string[]) => {
    if (wanted.every((scope) => scopes.has(scope))) return;
    scopes = new Set([...scopes, ...wanted]);
    provider = createProvider(issuer, scopes, store, { lifetimeSeconds, startPage });
  };

  /** oidc-provider reads its mount path from `originalUrl`. */
  const mount = (request: IncomingMessage): MountedRequest => {
    const originalUrl = request.url ?? '/';
    return Object.assign(request, { originalUrl, url: originalUrl.slice(mountPath.length) || '/' });
  };

  return {
    async showPage(request, response) {
      addScopes(readScopes(request));
      const mounted = mount(request);
      if (mounted.url.startsWith('/consent/')) await answerConsent(provider, mounted, response, startPage);
      else await provider.callback()(mounted, response);
    },
    request: (request, body) => passOn(mount(request), body, provider.callback()),
    async findScopes(accessToken) {
      const token = await provider.AccessToken.find(accessToken);
      return token === undefined || token.isExpired ? undefined : (token.scope ?? '');
    },
  };
}

type MountedRequest = IncomingMessage & { readonly originalUrl: string; readonly url: string };

/** Some services separate scopes by commas, which oidc-provider does not support. */
function readScopes(request: IncomingMessage): readonly string[] {
  const url = new URL(request.url ?? '/', 'http://sandbox');
  const scopes =
    url.searchParams
      .get('scope')
      ?.split(/[\s,]+/)
      .filter(Boolean) ?? [];
  if (scopes.length > 0) url.searchParams.set('scope', scopes.join(' '));
  request.url = url.pathname + url.search;
  return scopes;
}

function createProvider(
  issuer: string,
  scopes: ReadonlySet<string>,
  store: (model: string) => Adapter,
  { lifetimeSeconds, startPage }: { lifetimeSeconds: () => number; startPage: string | undefined },
): Provider {
  const { clientId, clientSecret } = sandboxClient(new URL(issuer).pathname.slice(1));
  const client = {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code' as const],
  };
  const provider = new Provider(issuer, {
    // Services differ in how clients authenticate, so a connector may use either method.
    clients: [{ ...client, token_endpoint_auth_method: 'client_secret_post' }],
    scopes: [...scopes],
    adapter: store,
    jwks: { keys: [keys] },
    cookies: { keys: ['sandbox'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    routes: { authorization: '/authorize', token: '/token', revocation: '/revoke' },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true, allowedPolicy: async () => true } },
    interactions: { url: (_ctx, interaction) => `${new URL(issuer).pathname}/consent/${interaction.uid}` },
    renderError: (ctx, { error, error_description }) => {
      const { headers, body } = answerWithPage(toProblemPage(`${error}: ${error_description}`, startPage));
      ctx.set(headers);
      ctx.body = body;
    },
    findAccount: async (_ctx, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    ttl: {
      AccessToken: lifetimeSeconds,
      AuthorizationCode: 60,
      Grant: 86_400,
      Interaction: 3_600,
      RefreshToken: 86_400,
      Session: 86_400,
      IdToken: 3_600,
    },
  });
  // Any redirect to this machine is allowed, because the sandbox serves every installation on it.
  Object.assign(provider.Client.prototype, {
    redirectUriAllowed: (uri: string) => ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(uri).hostname),
  });
  return provider;
}

async function answerConsent(
  provider: Provider,
  request: MountedRequest,
  response: ServerResponse,
  startPage: string | undefined,
): Promise<void> {
  const details = await provider.interactionDetails(request, response).catch((error: unknown) => {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  });
  if (details === undefined)
    return sendPage(
      response,
      toProblemPage('This page has expired, or was opened in another browser.', startPage),
      400,
    );
  const { params } = details;
  if (request.method !== 'POST') {
    const consent = {
      service: new URL(provider.issuer).pathname.slice(1),
      clientId: String(params.client_id),
      redirectUri: String(params.redirect_uri),
      scopes: String(params.scope ?? '')
        .split(' ')
        .filter(Boolean),
      startPage,
    };
    return sendPage(response, toConsentPage(consent));
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const form = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
  if (form.get('answer') !== 'allow') {
    const refusal = { error: 'access_denied', error_description: 'The person refused' };
    return provider.interactionFinished(request, response, refusal);
  }
  const accountId = 'sandbox-account';
  const grant = new provider.Grant({ accountId, clientId: String(params.client_id) });
  const requested = String(params.scope ?? '');
  const granted = form.get('scopes') ?? requested;
  grant.addOIDCScope(granted);
  // Without this, oidc-provider would ask for the rejected scopes again.
  const refused = requested.split(' ').filter((scope) => !granted.split(' ').includes(scope));
  if (refused.length > 0) grant.rejectOIDCScope(refused.join(' '));
  await provider.interactionFinished(request, response, {
    login: { accountId },
    consent: { grantId: await grant.save() },
  });
}

/** Forwards a request whose body has already been read over a new connection. Returns the response. */
async function passOn(
  request: MountedRequest,
  body: string,
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<BackChannelAnswer> {
  const server = createServer((inner, response) => {
    Object.assign(inner, { originalUrl: request.originalUrl, url: request.url });
    handle(inner, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const credentials = toPostCredentials(authorization, body);
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': type },
      body: credentials,
    });
    return { status: answer.status, type: answer.headers.get('content-type') ?? '', body: await answer.text() };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Converts basic authentication to body fields, because oidc-provider accepts only one method per client. */
function toPostCredentials(authorization: string, body: string): string {
  const encoded = /^Basic (.+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return body;
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':').map(formDecode);
  const form = new URLSearchParams(body);
  form.set('client_id', id);
  form.set('client_secret', secret);
  return form.toString();
}

const formDecode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
