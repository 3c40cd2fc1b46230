// The token interface for connectors and other features: requests, revocation and background work.
import type { Db } from '../../../tables.ts';
import { tokenJobs } from './background.ts';
import { createRefreshQueue } from './queue.ts';
import { type ConnectorRequest, type ConnectorRequestDeps, type ConnectorResult, sendRequest } from './request.ts';
import { type RevocableConnection, type RevokeDeps, revokeTokens } from './revoke.ts';
import { countFailing } from './store/refreshes.ts';

export { planRefresh } from './schedule.ts';

export type TokenDeps = ConnectorRequestDeps & Pick<RevokeDeps, 'onRevokeError'> & { readonly masterKeyId: string };

export const createTokens = (deps: TokenDeps) => ({
  jobs: tokenJobs(deps),
  queues: [createRefreshQueue(deps)],
  gauges: [
    {
      name: 'plinth_connections_failing',
      help: 'Active connections whose last refresh failed, and whose access token has not expired yet',
      read: (db: Db) => countFailing(db, deps.clock.now()),
    },
  ],
  /** Best effort. `connection` is the row from before its tokens were erased. */
  revoke: (connection: RevocableConnection) => revokeTokens(connection, deps),
  /** Used by workflows. The result must not be returned to callers, because it may contain the token. */
  send: (
    db: Db,
    app: { readonly workspace_id: string; readonly id: string },
    request: ConnectorRequest,
  ): Promise<ConnectorResult> => sendRequest(db, deps, app, request),
});
