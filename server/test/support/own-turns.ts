// Routes without turns. Each request appears to come from its own workspace, so no request waits because an
// earlier one occupied the process for long. For tests that measure the cost of single requests.
import type { AppDeps } from '../../src/app.ts';
import { newId } from '../../src/kit/ids.ts';

export const withOwnTurns: NonNullable<AppDeps['routes']> = (routes) =>
  routes.map((route) => ({
    ...route,
    access: {
      ...route.access,
      decide: (lookup, exchange) => {
        // The answer to a key counts towards the storage of a workspace, which must exist.
        if (exchange.actor && !exchange.header('idempotency-key'))
          exchange.actor = { ...exchange.actor, workspaceId: newId() };
        return route.access.decide(lookup, exchange);
      },
    },
  }));
