// The storage and encryption of connection secrets. Each column is sealed with its own data key, bound to its
// table, row and column (kit/secrets.ts).
import type { SecretLocation, Secrets } from '../../kit/secrets.ts';

export const sealedColumns = ['access_token_sealed', 'refresh_token_sealed', 'credentials_sealed'] as const;
export type SealedColumn = (typeof sealedColumns)[number];

export const connectionSecret = (id: string, column: SealedColumn): SecretLocation => ['connections', id, column];

const verifierLocation = (attemptId: string): SecretLocation => [
  'connection_attempts',
  attemptId,
  'code_verifier_sealed',
];

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
}

export const sealTokens = (secrets: Secrets, connectionId: string, { accessToken, refreshToken }: Tokens) => ({
  access_token_sealed: secrets.seal(accessToken, connectionSecret(connectionId, 'access_token_sealed')),
  refresh_token_sealed:
    refreshToken === undefined
      ? null
      : secrets.seal(refreshToken, connectionSecret(connectionId, 'refresh_token_sealed')),
});

/** Undefined if the connection has no tokens, because it is not active or uses API keys. */
export function openTokens(
  secrets: Secrets,
  row: { id: string; access_token_sealed: string | null; refresh_token_sealed: string | null },
): Tokens | undefined {
  if (row.access_token_sealed === null) return undefined;
  const open = (sealed: string, column: SealedColumn) => secrets.open(sealed, connectionSecret(row.id, column));
  return {
    accessToken: open(row.access_token_sealed, 'access_token_sealed'),
    refreshToken:
      row.refresh_token_sealed === null ? undefined : open(row.refresh_token_sealed, 'refresh_token_sealed'),
  };
}

export const sealCredentials = (
  secrets: Secrets,
  connectionId: string,
  credentials: Readonly<Record<string, string>>,
): string => secrets.seal(JSON.stringify(credentials), connectionSecret(connectionId, 'credentials_sealed'));

/** Undefined if the connection has no API keys. */
export const openCredentials = (
  secrets: Secrets,
  row: { id: string; credentials_sealed: string | null },
): Readonly<Record<string, string>> | undefined =>
  row.credentials_sealed === null
    ? undefined
    : JSON.parse(secrets.open(row.credentials_sealed, connectionSecret(row.id, 'credentials_sealed')));

export const sealVerifier = (secrets: Secrets, attemptId: string, verifier: string): string =>
  secrets.seal(verifier, verifierLocation(attemptId));

export const openVerifier = (secrets: Secrets, attemptId: string, sealed: string): string =>
  secrets.open(sealed, verifierLocation(attemptId));
