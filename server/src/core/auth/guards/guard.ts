// The `Guard` interface: a route's requirements for its caller, and the hooks that decide whether a request meets
// them.
import type { AnyDb } from '../../../kit/db/database.ts';
import type { Exchange } from '../../../kit/http/exchange.ts';
import type { Refusal } from '../../../kit/http/operation.ts';
import type { AnonymousLookup, HookLookup, LookupResult } from '../request/lookup.ts';

/**
 * A guard states what a route requires of its caller. request/checks.ts calls its hooks in the order of their
 * declaration.
 *
 * Example: `PATCH /api/agents/{agent_id}/webhooks/{webhook_id}`, with
 * `access: nestedAppRow(agentAs('editor'), { noun: 'webhook', … })` and `plan: 'agent_webhooks'`.
 * Ann calls it with a personal token and the path `/api/agents/0197-a1/webhooks/0197-b2`:
 *
 *   lookUp      one query, with the token's hash and the ids `0197-a1` and `0197-b2`, returns
 *               { kind: 'personal_token', user_id: 'ann', workspace_id: 'w1', plan: 'builder', role: 'editor',
 *                 access_state: 'active', share_role: null,
 *                 app_id: '0197-a1', app_workspace_id: 'w1', app_app_type: 'user_agent',
 *                 app_visibility: 'workspace', app_owner_id: 'bob', …, resource: { id: '0197-b2', … } }
 *   decide      needs no query. The app exists, is in Ann's workspace, and is an agent. Ann is not blocked. She is an
 *               editor of the workspace, so she has the role `editor` on apps that the whole workspace can see. Returns
 *               the proof
 *               { caller: { user_id: 'ann', … }, workspace_id: 'w1', plan: 'builder', role: 'editor',
 *                 app: { id: '0197-a1', … }, app_role: 'editor' }
 *   (plan)      request/checks.ts compares `builder` with the plan that `agent_webhooks` requires.
 *   loadNested  returns { ...proof, webhook: { id: '0197-b2', … } }, which the handler receives as `access`. The lookup
 *               has already read the webhook. For rows that the lookup does not read, `nestedResource` runs its own
 *               query.
 *
 *   If instead …                           Ann gets
 *   the app is in another workspace        404 agent_not_found       (decide)
 *   she is a viewer of the workspace       403 role_required         (decide)
 *   the app is not an agent                400 not_an_agent          (decide)
 *   the workspace is on the plan `free`    402 plan_required         (request/checks.ts)
 *   there is no webhook `0197-b2`          404 webhook_not_found     (loadNested)
 *
 * Guards are built by wrapping. `agentAs` spreads `appGuard` and replaces `decide` with one that calls the original and
 * then checks the app's type. `nestedResource` replaces `loadNested` with one that first calls the original, so
 * `nestedResource(nestedAppRow(agent, webhook), 'delivery')` resolves the path from left to right.
 */
export interface Guard<Proof> {
  /** The required role, as worded in docs/api/operations.yaml: `member`, `workspace editor`, `app viewer`. */
  readonly needs: string;
  /** True if the caller may choose the workspace with the `workspaceId` query parameter. */
  readonly choosesWorkspace: boolean;
  /**
   * The path parameter that the lookup uses, if any. If the request is refused, the audit entry names it as the target.
   */
  readonly pathParam?: string;
  /** The refusals that `decide` and `loadNested` may throw. Used by the OpenAPI document and the tests. */
  readonly refusals: readonly Refusal[];
  /** Makes an open route look up the browser session, if one was sent, and pass it to `decide`. */
  readonly readsSession?: true;
  /** Makes an open route that starts a browser session refuse pages of other sites. */
  readonly startsSession?: true;
  /** Reads the credential with this hash, and the resource in the path. Undefined if there is no such credential. */
  lookUp(db: AnyDb, hash: Buffer, exchange: Exchange): Promise<LookupResult | undefined>;
  /**
   * Reads the resource in the path, for a caller without credentials or on an open route. Undefined if the caller has
   * no access to it.
   */
  lookUpAnonymous?(db: AnyDb, exchange: Exchange): Promise<AnonymousLookup | undefined>;
  /** Reads the hook whose token is in the path of an open route. Undefined if there is no such hook. */
  lookUpHook?(db: AnyDb, exchange: Exchange, cellCode: string): Promise<HookLookup | undefined>;
  /**
   * Returns the proof, or throws the refusal. Each guard declares the type that its own `lookUp` returns. `lookup` is
   * undefined only on open routes, and anonymous only if `lookUpAnonymous` or `lookUpHook` exists.
   */
  decide(lookup: LookupResult | AnonymousLookup | undefined, exchange: Exchange): Proof;
  /** Adds the nested rows in the path to the proof, or throws 404. */
  loadNested?(db: AnyDb, proof: Proof, exchange: Exchange): Promise<Proof>;
}
