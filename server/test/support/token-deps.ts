// The dependencies that a process needs to refresh tokens and call the sandbox's services without a server.
import { connectorsWithClient } from '../../src/config/connectors.ts';
import { createEndpoints } from '../../src/features/connectors/endpoints.ts';
import type { TokenDeps } from '../../src/features/connectors/tokens/index.ts';
import type { RefreshOutcome } from '../../src/features/connectors/tokens/refresh.ts';
import { createOAuthGateway, type OAuthGateway } from '../../src/gateways/oauth/index.ts';
import type { Clock } from '../../src/kit/clock.ts';
import { parseAllowList } from '../../src/kit/outbound/address.ts';
import { openOutbound } from '../../src/kit/outbound/outbound.ts';
import { createSecrets, type MasterKey } from '../../src/kit/secrets.ts';

const clients = new Map(
  connectorsWithClient.map((type) => [type, { clientId: `sandbox-${type}`, clientSecret: `sandbox-${type}-secret` }]),
);

export interface TestTokenDeps extends TokenDeps {
  readonly oauth: OAuthGateway;
  /** The refreshes' outcomes, in order. */
  readonly outcomes: RefreshOutcome['kind'][];
  close(): Promise<void>;
}

export function createTokenDeps(
  masterKeys: readonly MasterKey[],
  clock: Clock,
  sandboxUrl: string,
  timeoutMs?: number,
): TestTokenDeps {
  const outbound = openOutbound({ allow: parseAllowList('http://127.0.0.0/8') });
  const outcomes: RefreshOutcome['kind'][] = [];
  return {
    oauth: createOAuthGateway({ outbound, clock, timeoutMs }),
    outbound,
    endpoints: createEndpoints({ clients, gitlabHost: 'gitlab.com', sandboxUrl }),
    secrets: createSecrets(masterKeys),
    masterKeyId: masterKeys[0]?.id ?? '',
    clock,
    outcomes,
    onRevokeError: () => {},
    onRefresh: (outcome) => outcomes.push(outcome),
    close: () => outbound.close(),
  };
}
