// Owns who reaches what: the guards that routes name as their `access`, and the decision each makes over what one
// look-up found (contract §1.2, §0.5 step 5). 404 for what the caller cannot see, 403 for what they may not do.
import type { Kysely } from 'kysely';
import type { Exchange } from '../../kit/http/exchange.ts';
import type { Refusal } from '../../kit/http/operation.ts';
import { idOrNull } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { issueProof } from './issue-proof.ts';
import {
  type AppLookup,
  appOf,
  type LookupResult,
  lookUpApp,
  lookUpResource,
  lookUpTrashedApp,
  lookUpWorkspace,
  type ResourceLookup,
} from './lookup.ts';
import type {
  AnyCaller,
  AppAccess,
  Caller,
  OptionalUserAccess,
  SelfAccess,
  Visitor,
  WorkspaceAccess,
} from './proofs.ts';
import { type AppRole, deriveAppRole, isAppRoleAtLeast, isRoleAtLeast, type WorkspaceRole } from './roles.ts';

export interface Guard<Proof> {
  /** The role as docs/api/operations.yaml words it: `member`, `workspace editor`, `app viewer`. */
  readonly needs: string;
  /** True where the caller may choose the workspace by `workspaceId` (contract §0.1). */
  readonly choosesWorkspace: boolean;
  /** The path parameter that names the outermost thing, if any. */
  readonly param?: string;
  readonly refusals: readonly Refusal[];
  /** On an open route: look whose the browser session is, if there is one. */
  readonly recognises?: true;
  // biome-ignore lint/suspicious/noExplicitAny: the look-up runs on any database that has this room's tables.
  find(db: Kysely<any>, hash: Buffer, id: string | null, exchange: Exchange): Promise<LookupResult | undefined>;
  /** What to look up beside the credential. */
  idOf(exchange: Exchange): string | null;
  decide(found: LookupResult, exchange: Exchange): Proof;
  /** For who sends no credentials: what the path names, where that is open to them (contract §1.7). */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  findOpen?(db: Kysely<any>, id: string | null): Promise<LookupResult | undefined>;
  /** Finds the inner things the path names, outside in, once the outer ones were let through. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  inner?(db: Kysely<any>, proof: Proof, exchange: Exchange): Promise<Proof>;
}

/** No credential needed. */
export const anyone: Guard<Visitor> = {
  needs: 'none',
  choosesWorkspace: false,
  refusals: [],
  find: async () => undefined,
  idOf: () => null,
  decide: (_found, exchange) => issueProof<Visitor>({ request_id: exchange.requestId, ip: exchange.address }),
};

/** No credential needed, but a browser's session is known for whose it is. */
export const anyoneWithSession: Guard<OptionalUserAccess> = {
  needs: anyone.needs,
  choosesWorkspace: false,
  recognises: true,
  refusals: [{ status: 403, code: 'origin_not_allowed' }],
  find: lookUpWorkspace,
  idOf: () => null,
  decide: ({ user_id, email }, exchange) =>
    issueProof<OptionalUserAccess>({
      request_id: exchange.requestId,
      ip: exchange.address,
      person: user_id && email ? { id: user_id, email } : null,
    }),
};

/** Any person, about themselves. */
export const self: Guard<SelfAccess> = {
  needs: 'self',
  choosesWorkspace: false,
  refusals: [],
  find: lookUpWorkspace,
  idOf: () => null,
  decide: (found, exchange) => issueProof<SelfAccess>({ caller: callerOf(found, exchange) }),
};

/** A person about their own things in the chosen workspace. */
export const selfInWorkspace: Guard<WorkspaceAccess> = { ...workspaceAs('guest'), needs: 'self' };

/** More than some apps: what a token limited to those cannot do. */
export function unlimitedToken<Proof extends SelfAccess>(guard: Guard<Proof>): Guard<Proof> {
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 403, code: 'token_app_limited' }],
    decide: (found, exchange) => {
      const access = guard.decide(found, exchange);
      if (found.app_ids === null) return access;
      throw new Problem('forbidden', 'token_app_limited', 'A credential limited to some apps cannot do this.');
    },
  };
}

/** Someone who runs the installation. */
export const operator: Guard<SelfAccess> = unlimitedToken({
  ...self,
  needs: 'operator',
  refusals: [{ status: 403, code: 'operator_required' }],
  decide: (found, exchange) => {
    if (!found.is_operator)
      throw new Problem('forbidden', 'operator_required', 'This needs an operator of the installation.');
    return self.decide(found, exchange);
  },
});

/** A thing inside what another guard lets through, named in the path by `<noun>_id`, `<noun>_name` or `param`. */
export function nestedResource<Proof, Noun extends string, Row>(
  guard: Guard<Proof>,
  noun: Noun,
  find: (db: Db, access: Proof, id: string, now: Date) => Promise<Row | undefined>,
  param = `${noun}_id`,
): Guard<Proof & { readonly [N in Noun]: Row }> {
  const code = `${noun}_not_found`;
  type Inner = Proof & { readonly [N in Noun]: Row };
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 404, code }],
    decide: (found, exchange) => guard.decide(found, exchange) as Inner,
    inner: async (db, proof, exchange) => {
      const access = guard.inner === undefined ? proof : await guard.inner(db, proof, exchange); // outside in
      const id = exchange.params[param] ?? exchange.params[`${noun}_name`] ?? '';
      const row = await find(db, access, id, exchange.now);
      if (row === undefined) throw notFound(code);
      return { ...access, [noun]: row } as Inner;
    },
  };
}

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
    find: lookUpWorkspace,
    idOf: requestedWorkspace,
    decide: (found, exchange) => {
      refuseMismatch(found, requestedWorkspace(exchange));
      return inWorkspace(found, exchange, required, 'workspace_not_found');
    },
  };
}

/** Over an app in the trash. */
export const trashedAppAs = (required: AppRole): Guard<AppAccess> => ({ ...appAs(required), find: lookUpTrashedApp });

/** Over the app named in the path, with at least this app role. */
export const appAs = (required: AppRole): Guard<AppAccess> => appGuard('app', required);

/** Over the agent named in the path: an app of another kind is refused once the caller may see it (contract §0.5). */
export function agentAs(required: AppRole): Guard<AppAccess> {
  const guard = appGuard('agent', required);
  return {
    ...guard,
    refusals: [...guard.refusals, { status: 400, code: 'not_an_agent' }],
    decide: (found, exchange) => {
      const access = guard.decide(found, exchange);
      if (access.app.app_type === 'user_agent') return access;
      throw new Problem('bad_request', 'not_an_agent', 'This app is not an agent.');
    },
  };
}

function appGuard(noun: 'app' | 'agent', required: AppRole): Guard<AppAccess> {
  const notFoundCode = `${noun}_not_found`;
  const param = `${noun}_id`;
  return {
    needs: `app ${required}`,
    choosesWorkspace: false,
    param,
    refusals: [
      { status: 404, code: notFoundCode },
      { status: 403, code: 'member_blocked' },
      ...(required === 'viewer' ? [] : [{ status: 403, code: 'role_required' }]),
    ],
    find: lookUpApp,
    idOf: (exchange) => idOrNull(exchange.params[param]),
    decide: (found, exchange) => atApp(found as AppLookup, exchange, required, notFoundCode),
  };
}

/**
 * Through a thing of a feature's own table, `<noun>_id` in the path. The feature says which role this thing needs of
 * this caller, or undefined when they cannot see it.
 */
export function resourceGuard<Noun extends string, Row extends { workspace_id: string }>(
  noun: Noun,
  table: string,
  needs: string,
  requiredRole: (thing: Row, caller: Caller) => WorkspaceRole | undefined,
): Guard<WorkspaceAccess & { readonly [N in Noun]: Row }> {
  const notFoundCode = `${noun}_not_found`;
  return {
    needs,
    choosesWorkspace: false,
    param: `${noun}_id`,
    refusals: [
      { status: 404, code: notFoundCode },
      { status: 403, code: 'member_blocked' },
      { status: 403, code: 'role_required' },
    ],
    find: lookUpResource<Row>(table),
    idOf: (exchange) => idOrNull(exchange.params[`${noun}_id`]),
    decide: (found, exchange) => {
      const thing = revived((found as ResourceLookup<Row>).thing);
      const required = thing === null ? undefined : requiredRole(thing, callerOf(found, exchange));
      if (thing === null || required === undefined || thing.workspace_id !== found.workspace_id)
        throw notFound(notFoundCode);
      const access = inWorkspace(found, exchange, required, notFoundCode);
      return { ...access, [noun]: thing } as WorkspaceAccess & { readonly [N in Noun]: Row };
    },
  };
}

/** Times come out of JSON as text. */
function revived<Row extends object>(thing: Row | null): Row | null {
  if (thing === null) return null;
  const dated = Object.entries(thing).map(([key, value]) => [
    key,
    key.endsWith('_date') && value ? new Date(value) : value,
  ]);
  return Object.fromEntries(dated) as Row;
}

function atApp(found: AppLookup, exchange: Exchange, required: AppRole, notFoundCode: string): AppAccess {
  const app = appOf(found);
  const limitedElsewhere = found.app_ids !== null && app !== undefined && !found.app_ids.includes(app.id);
  if (app === undefined || limitedElsewhere || app.workspace_id !== found.workspace_id) throw notFound(notFoundCode);
  const access = inWorkspace(found, exchange, 'guest', notFoundCode);
  if (access.role === null) return issueProof<AppAccess>({ ...access, app, app_role: null });
  const app_role = deriveAppRole({
    workspace_role: access.role,
    visibility: app.visibility,
    is_app_owner: app.owner_id === found.user_id,
    share_role: found.share_role,
  });
  if (app_role === undefined) throw notFound(notFoundCode);
  if (!isAppRoleAtLeast(app_role, required)) throw roleRequired(required);
  return issueProof<AppAccess>({ ...access, app, app_role });
}

function inWorkspace(
  found: LookupResult,
  exchange: Exchange,
  required: WorkspaceRole,
  notFoundCode: string,
): WorkspaceAccess {
  const { workspace_id, plan } = found;
  if (workspace_id === null || plan === null) throw notFound(notFoundCode);
  const caller = callerOf(found, exchange);
  if (found.kind === 'workspace_key') return issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: null });
  if (found.role === null) throw notFound(notFoundCode);
  if (found.access_state === 'blocked') {
    throw new Problem('forbidden', 'member_blocked', 'An admin of this workspace has blocked your access to it.');
  }
  if (!isRoleAtLeast(found.role, required)) throw roleRequired(required);
  return issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: found.role });
}

const isBound = ({ kind }: LookupResult): boolean => kind !== 'session' && kind !== 'personal_key';

function refuseMismatch(found: LookupResult, requested: string | null): void {
  if (isBound(found) && requested !== null && requested !== found.credential_workspace_id) {
    throw new Problem(
      'forbidden',
      'workspace_mismatch',
      'This credential belongs to another workspace than the one asked for.',
    );
  }
}

const nowhere = '00000000-0000-0000-0000-000000000000'; // an id no workspace has: what was asked for cannot exist

function requestedWorkspace(exchange: Exchange): string | null {
  // The header is a browser's: a key or token in the request means that no session is.
  const isSession = exchange.header('authorization') === undefined && exchange.header('api_key') === undefined;
  const asked = exchange.rawQuery.workspaceId ?? (isSession ? exchange.header('x-active-workspace-id') : undefined);
  if (asked === undefined) return null;
  return idOrNull(typeof asked === 'string' ? asked : undefined) ?? nowhere;
}

export const anyCallerOf = (found: LookupResult, exchange: Exchange): AnyCaller => ({
  kind: found.kind,
  credential_id: found.credential_id,
  user_id: found.user_id,
  app_user_id: found.app_user_id,
  email: found.email,
  request_id: exchange.requestId,
  ip: exchange.address,
});

const callerOf = (found: LookupResult, exchange: Exchange): Caller => ({
  ...anyCallerOf(found, exchange),
  kind: found.kind as Caller['kind'], // app users are let in by the guard of data alone, which makes no caller of them
  credential_id: found.credential_id,
  is_operator: found.is_operator ?? false,
  permission: found.permission,
  workspace_id: isBound(found) ? found.credential_workspace_id : null,
  app_ids: found.app_ids,
  scopes: found.scopes,
  expires_at: found.expires_at === null ? null : new Date(found.expires_at),
});

export const roleRequired = (required: string) =>
  new Problem('forbidden', 'role_required', `This needs the role ${required} or higher.`, {
    members: { required_role: required },
  });
