// The client side of OAuth 2.0 (RFC 6749, RFC 7009, PKCE): the consent URL, and the requests that exchange codes
// and refresh or revoke tokens. Error responses and missing responses are returned as results, not thrown.
import * as oauth from 'oauth4webapi';
import type { Clock } from '../../kit/clock.ts';
import { authorizationHeader } from '../../kit/outbound/authorization.ts';
import type { Outbound } from '../../kit/outbound/outbound.ts';
import { type Answered, errorType, type Outcome } from '../../kit/outbound/outcome.ts';
import { readRefusal, readTokens, type Tokens } from './token-answer.ts';

/** A client that the operator has registered with a service, and the service's endpoints. */
export interface OAuthClient {
  /** The workspace that the requests are sent for. Owners never share a network connection. */
  readonly owner: string;
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** Absent if the service documents no revocation endpoint. */
  readonly revocationEndpoint?: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How the client authenticates to the token endpoint: with HTTP basic authentication, or with fields in the body. */
  readonly clientAuth: 'basic' | 'post';
  /** The scope separator in the authorization URL. */
  readonly scopeSeparator: ' ' | ',';
  readonly extraAuthorizeParams: Readonly<Record<string, string>>;
}

export type TokenResult =
  | ({ readonly kind: 'tokens' } & Tokens)
  /** The service refused to issue tokens. `error` is an RFC 6749 code or the service's own. */
  | { readonly kind: 'refused'; readonly error: string }
  /**
   * The request was not sent, or the service currently can't handle it. `reason` is an error type, or a status such as
   * `status_503`.
   */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /**
   * The request was sent, but there was no readable response. The service may have issued tokens, and consumed the code
   * or token that was sent.
   */
  | { readonly kind: 'unknown' };

export interface OAuthGateway {
  authorizationUrl(client: OAuthClient, request: AuthorizationRequest): URL;
  exchange(client: OAuthClient, grant: CodeGrant): Promise<TokenResult>;
  refresh(client: OAuthClient, grant: { readonly refreshToken: string }): Promise<TokenResult>;
  /**
   * `unsupported` means that the service has no revocation endpoint. `failed` means that it did not confirm the
   * revocation.
   */
  revoke(client: OAuthClient, token: string): Promise<'revoked' | 'unsupported' | 'failed'>;
}

export interface AuthorizationRequest {
  readonly state: string;
  /** The code verifier's SHA-256 hash, as base64url. */
  readonly codeChallenge: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
}

export interface CodeGrant {
  readonly code: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

export interface OAuthGatewayDeps {
  readonly outbound: Pick<Outbound, 'send'>;
  readonly clock: Clock;
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 10_000;
const maxAnswerBytes = 64 * 1024;

export function createOAuthGateway({ outbound, clock, timeoutMs = defaultTimeoutMs }: OAuthGatewayDeps): OAuthGateway {
  /**
   * The library builds the request, and the guard for outgoing requests sends it. The guard decides whether plain HTTP
   * is allowed.
   */
  const optionsFor = ({ owner }: OAuthClient) => ({
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: async (url: string, request: oauth.CustomFetchOptions<'POST', URLSearchParams>) => {
      const { headers, body } = request;
      const outcome = await outbound.send({
        owner,
        method: 'POST',
        url,
        headers,
        body: body.toString(),
        timeoutMs,
        maxBodyBytes: maxAnswerBytes,
      });
      if (outcome.outcome !== 'answered') throw new NoTokenAnswer(describeUnanswered(outcome));
      return toResponse(outcome);
    },
  });

  const requestTokens = async (send: () => Promise<Response>): Promise<TokenResult> => {
    try {
      return await readTokenResult(await send(), clock);
    } catch (error) {
      if (error instanceof NoTokenAnswer) return error.result;
      throw error; // nothing was sent
    }
  };

  return {
    authorizationUrl(client, { state, codeChallenge, scopes, redirectUri }) {
      const url = new URL(client.authorizationEndpoint);
      const params = {
        ...client.extraAuthorizeParams,
        response_type: 'code',
        client_id: client.clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
      if (scopes.length > 0) url.searchParams.set('scope', scopes.join(client.scopeSeparator));
      return url;
    },
    exchange: (client, { code, codeVerifier, redirectUri }) =>
      requestTokens(() =>
        oauth.genericTokenEndpointRequest(
          ...partiesOf(client),
          'authorization_code',
          { code, code_verifier: codeVerifier, redirect_uri: redirectUri },
          optionsFor(client),
        ),
      ),
    refresh: (client, { refreshToken }) =>
      requestTokens(() => oauth.refreshTokenGrantRequest(...partiesOf(client), refreshToken, optionsFor(client))),
    async revoke(client, token) {
      if (client.revocationEndpoint === undefined) return 'unsupported';
      try {
        const answer = await oauth.revocationRequest(...partiesOf(client), token, optionsFor(client));
        return answer.ok ? 'revoked' : 'failed';
      } catch {
        return 'failed';
      }
    },
  };
}

function partiesOf(client: OAuthClient): [oauth.AuthorizationServer, oauth.Client, oauth.ClientAuth] {
  const server = {
    issuer: client.issuer,
    token_endpoint: client.tokenEndpoint,
    revocation_endpoint: client.revocationEndpoint,
  };
  const { clientId, clientSecret } = client;
  const authenticate = client.clientAuth === 'basic' ? sendBasic(clientSecret) : oauth.ClientSecretPost(clientSecret);
  return [server, { client_id: clientId }, authenticate];
}

/**
 * Encodes the credentials like `curl -u`. RFC 6749 requires both parts to be percent-encoded first, but services do not
 * decode them.
 */
const sendBasic =
  (clientSecret: string): oauth.ClientAuth =>
  (_server, { client_id }, _body, headers) =>
    headers.set('authorization', authorizationHeader({ kind: 'basic', user: client_id, password: clientSecret }));

/**
 * Statuses that `Response` does not accept, at least not with a body. None of them is a valid response to a token
 * request.
 */
const isUnreadable = (status: number): boolean => status < 200 || status > 599 || [205, 304].includes(status);

/** Converts only the status and the body, because `Response` may reject a service's headers. */
function toResponse({ status, body }: Answered): Response {
  if (isUnreadable(status)) throw new NoTokenAnswer({ kind: 'unknown' });
  return new Response(status === 204 ? null : new Uint8Array(body), { status });
}

/** A proxy may return 502 or 504 even if the service has received the request. */
const proxyStatuses = [502, 504];

async function readTokenResult(answer: Response, clock: Clock): Promise<TokenResult> {
  const text = await answer.text();
  const refusal = answer.status < 500 && answer.status !== 429 ? readRefusal(text) : undefined;
  if (refusal !== undefined) return { kind: 'refused', error: refusal };
  if (proxyStatuses.includes(answer.status)) return { kind: 'unknown' };
  if (!answer.ok) return { kind: 'unavailable', reason: `status_${answer.status}` };
  const tokens = readTokens(text, clock.now());
  return tokens === undefined ? { kind: 'unknown' } : { kind: 'tokens', ...tokens };
}

/** Thrown to leave the library's call when there is no response to process. */
class NoTokenAnswer extends Error {
  readonly result: TokenResult;

  constructor(result: TokenResult) {
    super('no response');
    this.result = result;
  }
}

function describeUnanswered(outcome: Exclude<Outcome, { outcome: 'answered' }>): TokenResult {
  const mayHaveArrived = outcome.outcome === 'failed' && outcome.sent;
  return mayHaveArrived ? { kind: 'unknown' } : { kind: 'unavailable', reason: errorType(outcome) ?? 'failed' };
}
