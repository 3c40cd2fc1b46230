// The API of the sandbox's services. It echoes a request that carries an issued access token, or the API key of one of
// the two services that use keys.
import type { IncomingMessage } from 'node:http';
import type { ConnectorProvider } from './authorization-server-provider.ts';

/** The API keys that the sandbox accepts. */
export const sandboxApiKeys = {
  twilio: { account_sid: 'AC5a4d0b0c5a4d0b0c5a4d0b0c5a4d0b0c', auth_token: 'sandboxsandboxsandboxsandbox0001' },
  sendgrid: { api_key: 'SG.sandboxsandbox0001.sandboxsandboxsandbox0001' },
} as const;

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The journal entry. */
  readonly entry: { readonly status: number; readonly path: string; readonly idempotency_key?: string };
}

export async function answerApi(
  connector: string,
  request: IncomingMessage,
  body: string,
  provider: ConnectorProvider,
  isDown: boolean,
): Promise<ApiAnswer> {
  const path = (request.url ?? '').slice(`/${connector}/api`.length);
  const key = request.headers['idempotency-key'];
  const entry = { path, ...(typeof key === 'string' && { idempotency_key: key }) };
  const answer = (status: number, content: unknown) => ({ status, body: content, entry: { ...entry, status } });
  if (isDown) return answer(503, { error: 'down' });
  const { authorization = '' } = request.headers;
  const scopes = await findScopes(connector, authorization, provider);
  if (scopes === undefined) return answer(401, { error: 'invalid_token' });
  const status = Number(/^\/status\/(\d{3})\b/.exec(path)?.[1] ?? 200);
  // `/echo` behaves like a careless service that repeats the credentials in several forms.
  const echo = path.startsWith('/echo') ? { authorization, token: authorization.replace(/^\w+ /, '') } : {};
  return answer(status, { method: request.method, path, scopes: scopes.split(' '), ...echo, received: readJson(body) });
}

/** Returns undefined if the credentials are not valid. */
async function findScopes(
  connector: string,
  authorization: string,
  provider: ConnectorProvider,
): Promise<string | undefined> {
  const bearer = /^Bearer (.+)$/.exec(authorization)?.[1];
  const { twilio, sendgrid } = sandboxApiKeys;
  if (connector === 'twilio') {
    const basic = Buffer.from(`${twilio.account_sid}:${twilio.auth_token}`).toString('base64');
    return authorization === `Basic ${basic}` ? '' : undefined;
  }
  if (connector === 'sendgrid') return bearer === sendgrid.api_key ? 'mail.send' : undefined;
  return bearer === undefined ? undefined : provider.findScopes(bearer);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? null : text;
  }
}
