// Finds signed tokens (JWTs) that grant access. Public tokens state in their payload that they are public.
import type { SecretMatch } from './kinds.ts';

const form = /(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{16,1024}/g;
const publicRoles = new Set(['anon', 'anonymous', 'public', 'publishable', 'guest']);

export function findJwts(text: string, now: Date): SecretMatch[] {
  if (!text.includes('eyJ')) return [];
  return [...text.matchAll(form)].flatMap(({ 0: secret, index }) =>
    isSecretToken(secret, now) ? [{ kind: 'jwt', start: index, end: index + secret.length, secret }] : [],
  );
}

function isSecretToken(token: string, now: Date): boolean {
  const payload = readPart(token.split('.')[1] ?? '');
  if (payload === undefined) return false;
  const { role, sub, name, email, exp } = payload;
  if (typeof role === 'string' && publicRoles.has(role.toLowerCase())) return false;
  // The example token from the documentation, which is often copied.
  if (sub === '1234567890' && (name === 'John Doe' || name === undefined)) return false;
  if (role === 'service_role') return true;
  if ([sub, name, email].some((text) => /example|^test|^demo|dummy|sample/i.test(String(text ?? '')))) return false;
  return !(typeof exp === 'number' && exp * 1000 < now.getTime());
}

function readPart(encoded: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
