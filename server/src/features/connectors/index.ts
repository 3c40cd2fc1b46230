// The entry point of connectors: connections of apps to outside services.
import { connectorJobs } from './background.ts';
import { type ConnectorSettings, createEndpoints } from './endpoints.ts';
import { type ConnectorRouteDeps, connectorRoutes } from './routes.ts';
import { createStates } from './state.ts';
import { createTokens, type TokenDeps } from './tokens/index.ts';

export { connectorArchiveTables } from './archive-rows.ts';
/** For apps that are moved to the trash. */
export { endAttempts } from './connection.ts';

type ConnectorDeps = Omit<TokenDeps, 'endpoints'> &
  Omit<ConnectorRouteDeps, 'endpoints' | 'states' | 'revoke'> & {
    readonly settings: ConnectorSettings;
    readonly signingKey: Buffer;
  };

export function connectors(deps: ConnectorDeps) {
  const endpoints = createEndpoints(deps.settings);
  const tokens = createTokens({ ...deps, endpoints });
  const states = createStates(deps.signingKey);
  return {
    routes: connectorRoutes({ ...deps, endpoints, states, revoke: tokens.revoke }),
    jobs: [...connectorJobs, ...tokens.jobs],
    gauges: tokens.gauges,
    /** For workflows. */
    sendRequest: tokens.send,
  };
}
