// The entry point of connectors, which connect apps to external services.
import type { KeyObject } from 'node:crypto';
import type { Metrics } from '../../kit/metrics.ts';
import { connectorJobs } from './background.ts';
import { type ConnectorSettings, createEndpoints } from './endpoints.ts';
import { type ConnectorRouteDeps, connectorRoutes } from './routes.ts';
import { createStates } from './state.ts';
import { createTokens, type TokenDeps } from './tokens/index.ts';

export { connectorArchiveTables } from './archive-rows.ts';
/** Used when an app is moved to the trash. */
export { endAttempts } from './connection.ts';
/** Used by `plinth doctor`. */
export { listTokenEndpoints } from './endpoints.ts';

type ConnectorDeps = Omit<TokenDeps, 'endpoints' | 'onRefresh'> &
  Omit<ConnectorRouteDeps, 'endpoints' | 'states' | 'revoke'> & {
    readonly settings: ConnectorSettings;
    readonly signingKey: KeyObject;
    readonly metrics: Metrics;
  };

export function connectors({ metrics, ...deps }: ConnectorDeps) {
  const endpoints = createEndpoints(deps.settings);
  const onRefresh = metrics.addOutcomes(
    'plinth_token_refresh_attempt',
    'Attempts to refresh the tokens of connections, by outcome',
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const tokens = createTokens({ ...deps, endpoints, onRefresh });
  const states = createStates(deps.signingKey);
  return {
    routes: connectorRoutes({ ...deps, endpoints, states, revoke: tokens.revoke }),
    jobs: [...connectorJobs, ...tokens.jobs],
    queues: tokens.queues,
    gauges: tokens.gauges,
    /** Used by workflows. */
    sendRequest: tokens.send,
  };
}
