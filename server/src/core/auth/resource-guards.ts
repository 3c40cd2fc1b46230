// Owns the guards that routes name as their `access`: who may reach a workspace, an app or a row of a feature's table.
// 404 for what the caller can't see, 403 for what they may not do (docs/api/credentials.md#roles).
import type { AnyDb } from '../../kit/db/database.ts';
import type { Exchange } from '../../kit/http/exchange.ts';
import type { Refusal } from '../../kit/http/operation.ts';
import { idOrNull } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { isBoundToWorkspace, type RequestOrigin, toCaller } from './caller.ts';
import { issueProof } from './issue-proof.ts';
import {
  type AnonymousLookup,
  type AppLookup,
  type AppRowLookup,
  type HookLookup,
  type JsonRow,
  type LookupResult,
  lookUpApp,
  lookUpPerson,
  lookUpTrashedApp,
  lookUpWorkspace,
  type PersonLookup,
  prepareAppRowLookup,
  prepareResourceLookup,
  type ResourceLookup,
  toAppRow,
} from './lookup.ts';
import type { AppAccess, Caller, OptionalUserAccess, SelfAccess, Visitor, WorkspaceAccess } from './proofs.ts';
import { type AppRole, deriveAppRole, isAppRoleAtLeast, isRoleAtLeast, type WorkspaceRole } from './roles.ts';

/**
 * A guard says what a route requires of its caller. guard.ts calls its hooks in the order in which they stand here.
 *
 * Example: `PATCH /api/agents/{agent_id}/webhooks/{webhook_id}`, with
 * `access: nestedAppRow(agentAs('editor'), { noun: 'webhook', … })` and `plan: 'agent_webhooks'`.
 * Ann calls it with a personal token and the path `/api/agents/0197-a1/webhooks/0197-b2`:
 *
 *   lookUp      one query, with the hash of the token and the ids `0197-a1` and `0197-b2`, returns
 *               { kind: 'personal_token', user_id: 'ann', workspace_id: 'w1', plan: 'builder', role: 'editor',
 *                 access_state: 'active', share_role: null,
 *                 app_id: '0197-a1', app_workspace_id: 'w1', app_app_type: 'user_agent',
 *                 app_visibility: 'workspace', app_owner_id: 'bob', …, resource: { id: '0197-b2', … } }
 *   decide      needs no query. The app exists and is in Ann's workspace. Ann is not blocked. As an editor of the workspace
 *               she has the role `editor` on an app that the workspace sees. The app is an agent. Returns the proof
 *               { caller: { user_id: 'ann', … }, workspace_id: 'w1', plan: 'builder', role: 'editor',
 *                 app: { id: '0197-a1', … }, app_role: 'editor' }
 *   (plan)      guard.ts compares `builder` with the plan that `agent_webhooks` needs.
 *   loadNested  returns { ...proof, webhook: { id: '0197-b2', … } }, which the handler receives as `access`. The lookup has
 *               read the webhook already. What it has not, `nestedResource` reads by a query of its own.
 *
 *   If instead …                           Ann gets
 *   the app is in another workspace        404 agent_not_found       (decide)
 *   she is a viewer of the workspace       403 role_required         (decide)
 *   the app is not an agent                400 not_an_agent          (decide)
 *   the workspace has the plan `free`      402 plan_required         (guard.ts)
 *   there is no webhook `0197-b2`          404 webhook_not_found     (loadNested)
 *
 * Guards are built by wrapping: `agentAs` spreads `appGuard` and replaces `decide` by one that calls the original and
 * then checks the type of the app. `nestedResource` replaces `loadNested` by one that first calls the original, so
 * that `nestedResource(nestedAppRow(agent, webhook), 'delivery')` resolves the path from left to right.
 */
export interface Guard<Proof> {
  /** The role as docs/api/operations.yaml words it: `member`, `workspace editor`, `app viewer`. */
  readonly needs: string;
  /** True if the caller may choose the workspace with the query parameter `workspaceId`. */
  readonly choosesWorkspace: boolean;
  /** The path parameter that the lookup uses, if any. Names the target of the audit entry of a refusal. */
  readonly pathParam?: string;
  /** What `decide` and `loadNested` may refuse with, for the API document and the tests. */
  readonly refusals: readonly Refusal[];
  /** On an open route: look up the browser session, if there is one, and pass it to `decide`. */
  readonly readsSession?: true;
  /** Reads the credential with this hash, and what the path names. Undefined: no such credential. */
  lookUp(db: AnyDb, hash: Buffer, exchange: Exchange): Promise<LookupResult | undefined>;
  /** Reads what the path names for a caller without credentials, or on an open route. Undefined: it is not open to them. */
  lookUpAnonymous?(db: AnyDb, exchange: Exchange): Promise<AnonymousLookup | undefined>;
  /** On an open route whose path has the token of a hook: reads that hook. Undefined: no such hook. */
  lookUpHook?(db: AnyDb, exchange: Exchange, cellCode: string): Promise<HookLookup | undefined>;
  /**
   * Returns the proof, or throws the refusal. A guard declares the type that its own `lookUp` returns. The lookup is
   * undefined only on open routes, and anonymous only where `lookUpAnonymous` or `lookUpHook` exists.
   */
  decide(lookup: LookupResult | AnonymousLookup | undefined, exchange: Exchange): Proof;
  /** Adds the nested rows that the path names to the proof, or throws 404. */
  loadNested?(db: AnyDb, proof: Proof, exchange: Exchange): Promise<Proof>;
}

// ---- open routes

/** No credential needed. */
export const anyone: Guard<Visitor> = {
  needs: 'none',
  choosesWorkspace: false,
  refusals: [],
  lookUp: async () => undefined,
  decide: (_lookup, exchange) => issueProof<Visitor>(toVisitor(exchange)),
};

/** No credential needed. If a browser session was sent, the proof says whose it is. */
export const anyoneWithSession: Guard<OptionalUserAccess> = {
  needs: anyone.needs,
  choosesWorkspace: false,
  readsSession: true,
  refusals: [{ status: 403, code: 'origin_not_allowed' }],
  lookUp: (db, hash) => lookUpWorkspace(db, hash, null),
  decide: (session, exchange) =>
    issueProof<OptionalUserAccess>({
      ...toVisitor(exchange),
      person: session?.user_id && session.email ? { id: session.user_id, email: session.email } : null,
    }),
};

export const toVisitor = (exchange: Exchange) => ({
  request_id: exchange.requestId,
  ip: exchange.address,
  user_agent: exchange.header('user-agent'),
});

// ---- people

/** Any person, about themselves. */
export const self: Guard<SelfAccess> = {
  needs: 'self',
  choosesWorkspace: false,
  refusals: [],
  lookUp: (db, hash) => lookUpWorkspace(db, hash, null),
  decide: (lookup: LookupResult, exchange) => issueProof<SelfAccess>({ caller: toCaller(lookup, exchange) }),
};

/** A person, about what is theirs in the chosen workspace. */
export const selfInWorkspace: Guard<WorkspaceAccess> = { ...workspaceAs('guest'), needs: 'self' };

/** Refuses tokens and keys that are limited to some apps. */
export function unlimitedToken<Proof extends SelfAccess>(guard: Guard<Proof>): Guard<Proof> {
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 403, code: 'token_app_limited' }],
    decide: (lookup: LookupResult, exchange) => {
      const access = guard.decide(lookup, exchange);
      if (lookup.app_ids === null) return access;
      throw new Problem(
        'forbidden',
        'token_app_limited',
        "This credential is limited to some apps and can't call this operation. Use one without that limit.",
      );
    },
  };
}

/** An operator of the installation. Routes accept a session only: a token acts in one workspace. */
export const operator: Guard<SelfAccess> = {
  ...self,
  needs: 'operator',
  refusals: [{ status: 403, code: 'operator_required' }],
  decide: (lookup: LookupResult, exchange) => {
    const access = self.decide(lookup, exchange);
    if (access.caller.is_operator) return access;
    throw new Problem(
      'forbidden',
      'operator_required',
      'Only operators of this installation can do this. Ask an operator.',
    );
  },
};

// ---- workspaces

/** A member of the chosen workspace with at least this role. */
export function workspaceAs(required: WorkspaceRole): Guard<WorkspaceAccess> {
  return {
    needs: required === 'guest' ? 'member' : `workspace ${required}`,
    choosesWorkspace: true,
    refusals: [
      { status: 403, code: 'workspace_mismatch' },
      { status: 404, code: 'workspace_not_found' },
      { status: 403, code: 'member_blocked' },
      ...(required === 'guest' ? [] : [{ status: 403, code: 'role_required' }]),
    ],
    lookUp: (db, hash, exchange) => lookUpWorkspace(db, hash, readRequestedWorkspace(exchange)),
    decide: (lookup: LookupResult, exchange) => {
      requireMatchingWorkspace(lookup, readRequestedWorkspace(exchange));
      return decideWorkspace(lookup, exchange, required, 'workspace_not_found');
    },
  };
}

const noWorkspaceId = '00000000-0000-0000-0000-000000000000'; // no workspace has it

/** The workspace that the request names. Null: it names none. A malformed id reads as an unknown one. */
function readRequestedWorkspace(exchange: Exchange): string | null {
  const requested = exchange.rawQuery.workspaceId ?? exchange.header('x-active-workspace-id');
  if (requested === undefined) return null;
  return idOrNull(typeof requested === 'string' ? requested : undefined) ?? noWorkspaceId;
}

function requireMatchingWorkspace(lookup: LookupResult, requested: string | null): void {
  if (requested === null || !isBoundToWorkspace(lookup.kind) || requested === lookup.credential_workspace_id) return;
  throw new Problem(
    'forbidden',
    'workspace_mismatch',
    'This credential belongs to another workspace. Use a credential of the requested workspace.',
  );
}

function decideWorkspace(
  lookup: LookupResult,
  origin: RequestOrigin,
  required: WorkspaceRole,
  notFoundCode: string,
): WorkspaceAccess {
  const { workspace_id, plan, role } = lookup;
  if (workspace_id === null || plan === null) throw notFound(notFoundCode);
  const caller = toCaller(lookup, origin);
  if (lookup.kind === 'workspace_key') return issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: null });
  if (role === null) throw notFound(notFoundCode);
  if (lookup.access_state === 'blocked')
    throw new Problem(
      'forbidden',
      'member_blocked',
      'An admin has blocked your access to this workspace. Ask an admin to unblock you.',
    );
  if (!isRoleAtLeast(role, required)) throw roleRequired(required);
  return issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role });
}

// ---- apps

/** At least this role on the app that the path names. */
export const appAs = (required: AppRole): Guard<AppAccess> => appGuard('app', required);

/** As `appAs('viewer')`, for operations that answer only 200, 401 and 403: an app that the caller can't see is 403. */
export const appViewerOrDenied: Guard<AppAccess> = {
  ...appAs('viewer'),
  needs: 'app viewer, 403 if not visible',
  refusals: [
    { status: 403, code: 'app_access_denied' },
    { status: 403, code: 'member_blocked' },
  ],
  decide: (lookup: AppLookup, exchange) => {
    try {
      return decideApp(lookup, exchange, 'viewer', 'app_not_found');
    } catch (error) {
      throw error instanceof Problem && error.code === 'app_not_found' ? appAccessDenied() : error;
    }
  },
};

const appAccessDenied = () =>
  new Problem(
    'forbidden',
    'app_access_denied',
    "The app does not exist, or this credential can't see it. Check the id, or ask for access.",
  );

/** At least this role on an app in the trash. */
export const trashedAppAs = (required: AppRole): Guard<AppAccess> => ({
  ...appAs(required),
  lookUp: (db, hash, exchange) => lookUpTrashedApp(db, hash, idOrNull(exchange.params.app_id)),
});

/** At least this role on the agent that the path names. 400 for an app of another type, if the caller can see it. */
export function agentAs(required: AppRole): Guard<AppAccess> {
  const guard = appGuard('agent', required);
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 400, code: 'not_an_agent' }],
    decide: (lookup, exchange) => {
      const access = guard.decide(lookup, exchange);
      if (access.app.app_type === 'user_agent') return access;
      throw new Problem('bad_request', 'not_an_agent', 'This app is not an agent. Use the id of an agent.');
    },
  };
}

/** As `appAs`, for an app that is built here: not an agent, and not an app with a repository of its own. */
export function builtAppAs(required: AppRole): Guard<AppAccess> {
  const guard = appAs(required);
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 400, code: 'app_kind_mismatch' }],
    decide: (lookup, exchange) => {
      const access = guard.decide(lookup, exchange);
      if (access.app.app_type === 'user_app') return access;
      throw new Problem(
        'bad_request',
        'app_kind_mismatch',
        'Agents and imported apps are not built by chat. Use the id of an app of the type `user_app`.',
      );
    },
  };
}

/** As `appAs`, for an app that has a repository of its own. */
export function importedAppAs(required: AppRole): Guard<AppAccess> {
  const guard = appAs(required);
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 400, code: 'not_an_imported_app' }],
    decide: (lookup, exchange) => {
      const access = guard.decide(lookup, exchange);
      requireImported(access);
      return access;
    },
  };
}

export function requireImported({ app }: AppAccess): void {
  if (app.app_type === 'imported_app') return;
  throw new Problem(
    'bad_request',
    'not_an_imported_app',
    'This app has no repository of its own. Use the id of an app of the type `imported_app`.',
  );
}

function appGuard(noun: 'app' | 'agent', required: AppRole): Guard<AppAccess> {
  const notFoundCode = `${noun}_not_found`;
  const pathParam = `${noun}_id`;
  return {
    needs: `app ${required}`,
    choosesWorkspace: false,
    pathParam,
    refusals: [
      { status: 404, code: notFoundCode },
      { status: 403, code: 'member_blocked' },
      ...(required === 'viewer' ? [] : [{ status: 403, code: 'role_required' }]),
    ],
    lookUp: (db, hash, exchange) => lookUpApp(db, hash, idOrNull(exchange.params[pathParam])),
    decide: (lookup: AppLookup, exchange) => decideApp(lookup, exchange, required, notFoundCode),
  };
}

/** Returns the proof, or throws the refusal. */
export function decideApp(
  lookup: AppLookup,
  origin: RequestOrigin,
  required: AppRole,
  notFoundCode: string,
): AppAccess {
  const app = toAppRow(lookup);
  if (app === undefined || app.workspace_id !== lookup.workspace_id) throw notFound(notFoundCode);
  if (lookup.app_ids !== null && !lookup.app_ids.includes(app.id)) throw notFound(notFoundCode);
  const access = decideWorkspace(lookup, origin, 'guest', notFoundCode);
  if (access.role === null) return issueProof<AppAccess>({ ...access, app, app_role: null });
  const app_role = deriveAppRole({
    workspace_role: access.role,
    visibility: app.visibility,
    is_app_owner: app.owner_id === lookup.user_id,
    share_role: lookup.share_role,
  });
  if (app_role === undefined) throw notFound(notFoundCode);
  if (!isAppRoleAtLeast(app_role, required)) throw roleRequired(required);
  return issueProof<AppAccess>({ ...access, app, app_role });
}

// ---- rows of features

interface ResourceOptions<Noun extends string, Row> {
  readonly noun: Noun;
  /** Must have the columns `id` and `workspace_id`. */
  readonly table: string;
  readonly needs: string;
  /** Turns the row as JSON, in which times are text, into the row. */
  readonly fromJson: (json: JsonRow<Row>) => Row;
  /** The role that this row requires of this caller; undefined if they can't see it. */
  readonly requiredRole: (row: Row, caller: Caller) => WorkspaceRole | undefined;
}

/**
 * A row of a feature's table, which the path names by `<noun>_id`. It comes with the lookup, without a second query.
 */
export function resourceGuard<Noun extends string, Row extends { workspace_id: string }>({
  noun,
  table,
  needs,
  fromJson,
  requiredRole,
}: ResourceOptions<Noun, Row>): Guard<WithRow<WorkspaceAccess, Noun, Row>> {
  const notFoundCode = `${noun}_not_found`;
  const pathParam = `${noun}_id`;
  const lookUpRow = prepareResourceLookup<Row>(table);
  return {
    needs,
    choosesWorkspace: false,
    pathParam,
    refusals: [
      { status: 404, code: notFoundCode },
      { status: 403, code: 'member_blocked' },
      { status: 403, code: 'role_required' },
    ],
    lookUp: (db, hash, exchange) => lookUpRow(db, hash, idOrNull(exchange.params[pathParam])),
    decide: (lookup: ResourceLookup<Row>, exchange) => {
      if (lookup.resource === null) throw notFound(notFoundCode);
      const row = fromJson(lookup.resource);
      const required = requiredRole(row, toCaller(lookup, exchange));
      if (required === undefined || row.workspace_id !== lookup.workspace_id) throw notFound(notFoundCode);
      return addRow(decideWorkspace(lookup, exchange, required, notFoundCode), noun, row);
    },
  };
}

/**
 * A row inside of what another guard lets through. The path names it by `<noun>_id`, `<noun>_name` or `pathParam`.
 * `find` runs after the plan check, and its row becomes the member `<noun>` of the proof.
 */
export function nestedResource<Proof, Noun extends string, Row>(
  guard: Guard<Proof>,
  noun: Noun,
  find: (db: Db, access: Proof, id: string, now: Date) => Promise<Row | undefined>,
  pathParam = `${noun}_id`,
): Guard<WithRow<Proof, Noun, Row>> {
  const code = `${noun}_not_found`;
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 404, code }],
    // The row is added by `loadNested`, before anybody uses the proof.
    decide: (lookup, exchange) => guard.decide(lookup, exchange) as WithRow<Proof, Noun, Row>,
    loadNested: async (db, proof, exchange) => {
      const outer = guard.loadNested === undefined ? proof : await guard.loadNested(db, proof, exchange);
      const id = exchange.params[pathParam] ?? exchange.params[`${noun}_name`] ?? '';
      const row = await find(db, outer, id, exchange.now);
      if (row === undefined) throw notFound(code);
      return addRow(outer, noun, row);
    },
  };
}

interface AppRowOptions<Noun extends string, Row> {
  readonly noun: Noun;
  /** Must have the columns `id` and `app_id`. */
  readonly table: string;
  /** Turns the row as JSON, in which times are text, into the row; undefined if the path can't name this row. */
  readonly fromJson: (json: JsonRow<Row>) => Row | undefined;
  readonly pathParam?: string;
}

/** As `nestedResource`, for a row of the app that `guard` looks up. It comes with the lookup, without a second query. */
export function nestedAppRow<Noun extends string, Row>(
  guard: Guard<AppAccess>,
  { noun, table, fromJson, pathParam = `${noun}_id` }: AppRowOptions<Noun, Row>,
): Guard<WithRow<AppAccess, Noun, Row>> {
  const lookUpRow = prepareAppRowLookup<Row>(table);
  return nestedInLookup(guard, noun, {
    lookUp: (db, hash, { params }) =>
      lookUpRow(db, hash, idOrNull(params[guard.pathParam ?? '']), idOrNull(params[pathParam])),
    findRow: ({ resource }: AppRowLookup<Row>) => (resource === null ? undefined : fromJson(resource)),
  });
}

/**
 * As `nestedResource`, for a person of the workspace, whom the path names by `email`. Whether they are a member, or invited, comes
 * with the lookup, without a second query.
 */
export function nestedPerson(guard: Guard<WorkspaceAccess>, accepts: 'members' | 'members and invitations') {
  const readEmail = ({ params }: Exchange) => (params.email ?? '').toLowerCase();
  return nestedInLookup(guard, 'member', {
    lookUp: (db, hash, exchange) => lookUpPerson(db, hash, readRequestedWorkspace(exchange), readEmail(exchange)),
    findRow: ({ person }: PersonLookup, exchange) =>
      person === 'member' || (person === 'invitation' && accepts === 'members and invitations')
        ? { email: readEmail(exchange) }
        : undefined,
  });
}

/** A nested row that comes with the lookup. */
function nestedInLookup<Proof, Noun extends string, Row, Lookup extends LookupResult>(
  guard: Guard<Proof>,
  noun: Noun,
  row: {
    lookUp(db: AnyDb, hash: Buffer, exchange: Exchange): Promise<Lookup | undefined>;
    findRow(lookup: Lookup, exchange: Exchange): Row | undefined;
  },
): Guard<WithRow<Proof, Noun, Row>> {
  const code = `${noun}_not_found`;
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 404, code }],
    lookUp: row.lookUp,
    // `loadNested` refuses undefined, after the plan check.
    decide: (lookup: Lookup, exchange) =>
      addRow(guard.decide(lookup, exchange), noun, row.findRow(lookup, exchange) as Row),
    loadNested: async (_db, proof) => {
      if (proof[noun] === undefined) throw notFound(code);
      return proof;
    },
  };
}

type WithRow<Proof, Noun extends string, Row> = Proof & { readonly [N in Noun]: Row };

/** Asserted, because TypeScript does not follow a computed key. */
const addRow = <Proof, Noun extends string, Row>(proof: Proof, noun: Noun, row: Row) =>
  ({ ...proof, [noun]: row }) as WithRow<Proof, Noun, Row>;

export const roleRequired = (required: string) =>
  new Problem(
    'forbidden',
    'role_required',
    `This requires the role ${required} or a higher one. Ask somebody who has it.`,
    {
      members: { required_role: required },
    },
  );
