// Owns what runs use from outside.

import type { DataAccess } from '../../../core/auth/proofs.ts';
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

/** Who uses which entity. */
export interface RecordsScope {
  readonly access: DataAccess;
  readonly entity: string;
  /** How many workflows and automations are between a person's change and this. */
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

/** The reply of an agent to one message, without a conversation. */
export interface AgentReplies {
  /** The credits to reserve before the agent is asked; undefined if there is no such agent in the workspace. */
  estimate(db: Db, agent: AgentKey, content: string): Promise<number | undefined>;
  /** Undefined if the agent was deleted meanwhile. */
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
  /** The owner of the app whose workflow it is. Null: only an agent that the workspace sees. */
  readonly owner_id: string | null;
}

/** A request to the API of a service that the app is connected to. */
export interface ConnectorRequest extends Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'maxBodyBytes'> {
  readonly integration_type: string;
  readonly path: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** `secrets` authenticated the request. The service may repeat them. */
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
  /** Of the connections to the database. */
  readonly shares: Shares;
  readonly agentReplies: AgentReplies;
  readonly sendToConnector: (
    db: Db,
    app: { readonly workspace_id: string; readonly id: string },
    request: ConnectorRequest,
  ) => Promise<ConnectorResult>;
  /** The values of those of these secrets of an app that exist, by name. */
  readonly readSecrets: (
    db: Db,
    app: { readonly id: string },
    names: readonly string[],
  ) => Promise<Map<string, string>>;
  readonly parseStored: (source: unknown) => Definition;
}
