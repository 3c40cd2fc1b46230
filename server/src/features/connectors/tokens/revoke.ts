// Owns withdrawing tokens at the service when a connection is ended. The service may not answer, so that this is best effort:
// whoever erases the tokens does so first.
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
  /** For the log: tokens that can't be opened, for example. */
  onRevokeError(error: unknown): void;
}

export type RevocableConnection = Pick<
  ConnectionRow,
  'id' | 'workspace_id' | 'integration_type' | 'connection_config' | 'access_token_sealed' | 'refresh_token_sealed'
>;

/**
 * `connection` is the row as it was before its tokens were erased. `nothing`: it had no tokens, or the service has no way to
 * revoke them. Takes at most as long as one request, and never throws: what it follows is committed.
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
  // The refresh token ends the whole grant at most services, but not at all of them.
  const held = [tokens.refreshToken, tokens.accessToken].filter((token) => token !== undefined);
  const results = await Promise.all(held.map((token) => deps.oauth.revoke(client, token)));
  if (results.includes('unsupported')) return 'nothing';
  return results.includes('failed') ? 'failed' : 'revoked';
}
