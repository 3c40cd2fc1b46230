// Revokes tokens with the service when a connection ends. The service may not respond, so revoking is best effort
// and the caller erases the tokens first.
import type { OAuthGateway } from '../../../gateways/oauth/index.ts';
import type { Secrets } from '../../../kit/secrets.ts';
import { findConnector } from '../catalogue.ts';
import type { Endpoints } from '../endpoints.ts';
import { openTokens } from '../sealed.ts';
import type { ConnectionRow } from '../store/connections.ts';

export interface RevokeDeps {
  readonly oauth: Pick<OAuthGateway, 'revoke'>;
  readonly secrets: Secrets;
  readonly endpoints: Pick<Endpoints, 'clientFor'>;
  /** Called for the log, for example if tokens can't be opened. */
  onRevokeError(error: unknown): void;
}

export type RevocableConnection = Pick<
  ConnectionRow,
  'id' | 'workspace_id' | 'integration_type' | 'connection_config' | 'access_token_sealed' | 'refresh_token_sealed'
>;

/**
 * `connection` is the row from before its tokens were erased. `nothing` means that it had no tokens, or that the
 * service can't revoke them. Takes at most as long as one request. Never throws, because the caller has already
 * committed.
 */
export async function revokeTokens(connection: RevocableConnection, deps: RevokeDeps): Promise<RevokeResult> {
  try {
    return await askService(connection, deps);
  } catch (error) {
    deps.onRevokeError(error);
    return 'failed';
  }
}

type RevokeResult = 'revoked' | 'failed' | 'nothing';

async function askService(connection: RevocableConnection, deps: RevokeDeps): Promise<RevokeResult> {
  const tokens = openTokens(deps.secrets, connection);
  const connector = findConnector(connection.integration_type);
  if (tokens === undefined || connector === undefined) return 'nothing';
  const client = deps.endpoints.clientFor(connector, connection.connection_config, connection.workspace_id);
  if (client === undefined) return 'nothing';
  // With most but not all services, revoking the refresh token ends the whole grant.
  const held = [tokens.refreshToken, tokens.accessToken].filter((token) => token !== undefined);
  const results = await Promise.all(held.map((token) => deps.oauth.revoke(client, token)));
  if (results.includes('unsupported')) return 'nothing';
  return results.includes('failed') ? 'failed' : 'revoked';
}
