// The Authorization header for a token, or for a user name and password.

export type Authorization =
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string };

export function authorizationHeader(authorization: Authorization): string {
  if (authorization.kind === 'bearer') return `Bearer ${authorization.token}`;
  const { user, password } = authorization;
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
}
