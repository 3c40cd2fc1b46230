// The dependencies for executing runs.

import type { DataAccess } from '../../../core/auth/proofs.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import type { Publish } from '../../../events.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { Shares } from '../../../kit/db/shares.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import type { Outbound, OutboundRequest } from '../../../kit/outbound/outbound.ts';
import type { Outcome } from '../../../kit/outbound/outcome.ts';
import type { Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import type { Definition } from '../definition/model.ts';

/** The entity to use, and the access to use it with. */
export interface RecordsScope {
  readonly access: DataAccess;
  readonly entity: string;
  /** How many workflows and automations lie between a user's change and this one. */
  readonly depth: number;
}

type Data = Readonly<Record<string, unknown>>;

/** The app's records. Changes are part of the caller's transaction. */
export interface Records {
  create(db: Db, scope: RecordsScope, data: Data, now: Date): Promise<unknown>;
  get(db: Db, scope: RecordsScope, id: string, now: Date): Promise<unknown>;
  list(
    db: Db,
    scope: RecordsScope,
    options: { readonly query: unknown; readonly limit: number },
    now: Date,
  ): Promise<unknown>;
  update(db: Db, scope: RecordsScope, id: string, data: Data, now: Date): Promise<unknown>;
  remove(db: Db, scope: RecordsScope, id: string, now: Date): Promise<unknown>;
}

/** Gets an agent's reply to a single message, without a conversation. */
export interface AgentReplies {
  /**
   * Returns how many credits to reserve before requesting the reply, or undefined if the workspace has no agent with
   * this id.
   */
  estimate(db: Db, agent: AgentKey, content: string): Promise<number | undefined>;
  /** Returns undefined if the agent was deleted in the meantime. */
  reply(
    db: Db,
    agent: AgentKey,
    content: string,
    signal: AbortSignal,
  ): Promise<{ readonly content: string; readonly credits: number } | { readonly unavailable: string } | undefined>;
}

export interface AgentKey {
  readonly workspace_id: string;
  readonly id: string;
  /** The owner of the workflow's app. If null, only agents that are visible to the workspace are found. */
  readonly owner_id: string | null;
}

/** A request to a connected service's API. */
export interface ConnectorRequest extends Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'maxBodyBytes'> {
  readonly integration_type: string;
  readonly path: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** `secrets` are the values that authenticated the request, which the service may repeat. */
export type ConnectorResult =
  | { readonly kind: 'sent'; readonly outcome: Outcome; readonly secrets: readonly string[] }
  | {
      readonly kind: 'unusable';
      readonly reason: 'missing' | 'disconnected' | 'expired' | 'unavailable' | 'unknown_type' | 'path' | 'body';
    };

export interface RunDeps {
  readonly jq: Jq;
  readonly outbound: Outbound;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly publish: Publish;
  readonly records: Records;
  readonly storage: StorageQuota;
  /** Shares of the database connections. */
  readonly shares: Shares;
  readonly agentReplies: AgentReplies;
  readonly sendToConnector: (
    db: Db,
    app: { readonly workspace_id: string; readonly id: string },
    request: ConnectorRequest,
  ) => Promise<ConnectorResult>;
  /** Returns the values of an app's named secrets, keyed by name. Secrets that don't exist are left out. */
  readonly readSecrets: (
    db: Db,
    app: { readonly id: string },
    names: readonly string[],
  ) => Promise<Map<string, string>>;
  readonly parseStored: (source: unknown) => Definition;
}
