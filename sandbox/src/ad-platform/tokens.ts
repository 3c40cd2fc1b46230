// The ad platform's token endpoint. It accepts one refresh token, and one service account whose signature it
// verifies.
import { generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';

const client = { client_id: 'sandbox-client', client_secret: 'sandbox-secret', refresh_token: 'sandbox-refresh' };
const email = 'plinth@sandbox.iam.gserviceaccount.com';
const lifetimeSeconds = 3_600;

export interface TokenEndpoint {
  /** Returns an authorized user's credential file, as JSON. */
  userCredentials(tokenUri: string): string;
  /** Returns a service account's credential file, as JSON. */
  serviceCredentials(tokenUri: string): string;
  answer(form: string, tokenUri: string): { readonly status: number; readonly body: object };
  isValid(authorization: string | undefined): boolean;
  /** Expires all tokens. */
  expireAll(): void;
}

export function createTokenEndpoint(): TokenEndpoint {
  const issued = new Set<string>();
  let publicKey: KeyObject | undefined;
  return {
    userCredentials: (token_uri) => JSON.stringify({ type: 'authorized_user', ...client, token_uri }),
    serviceCredentials(token_uri) {
      const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
      publicKey = pair.publicKey;
      const private_key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' });
      return JSON.stringify({ type: 'service_account', client_email: email, private_key, token_uri });
    },
    answer(text, tokenUri) {
      const form = new URLSearchParams(text);
      const isUser = Object.entries(client).every(([name, value]) => form.get(name) === value);
      if (!isUser && !isSigned(form.get('assertion') ?? '', publicKey, tokenUri))
        return { status: 400, body: { error: 'invalid_grant' } };
      const access_token = `sandbox.${randomBytes(16).toString('base64url')}`;
      issued.add(access_token);
      return { status: 200, body: { access_token, expires_in: lifetimeSeconds, token_type: 'Bearer' } };
    },
    isValid: (authorization) => issued.has(/^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? ''),
    expireAll: () => issued.clear(),
  };
}

function isSigned(assertion: string, key: KeyObject | undefined, audience: string): boolean {
  const [header = '', claims = '', signature = ''] = assertion.split('.');
  if (key === undefined || signature === '') return false;
  if (!verify('RSA-SHA256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))) return false;
  const { iss, aud, exp, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  return (
    iss === email &&
    aud === audience &&
    Number(exp) * 1000 > Date.now() &&
    scope === 'https://www.googleapis.com/auth/adwords'
  );
}
