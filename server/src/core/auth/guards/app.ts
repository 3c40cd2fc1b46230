// The guards for apps, which decide who has access to the app in the path, and with which role. Callers get 404
// for an app that they can't see, and 403 for an action that they may not take (docs/api/credentials.md#roles).
import { idOrNull } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { issueProof } from '../issue-proof.ts';
import type { AppAccess } from '../proofs.ts';
import type { RequestOrigin } from '../request/caller.ts';
import { type AppLookup, lookUpApp, lookUpTrashedApp, toAppRow } from '../request/lookup.ts';
import { type AppRole, deriveAppRole, isAppRoleAtLeast } from '../roles.ts';
import type { Guard } from './guard.ts';
import { decideWorkspace, roleRequired } from './workspace.ts';

/** Requires at least this role on the app in the path. */
export const appAs = (required: AppRole): Guard<AppAccess> => appGuard('app', required);

/**
 * Like `appAs('viewer')`, for operations that return only 200, 401 or 403. Throws 403 for an app that the caller can't
 * see.
 */
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

export const appAccessDenied = () =>
  new Problem(
    'forbidden',
    'app_access_denied',
    "The app doesn't exist, or this credential can't access it. Check the id, or ask for access.",
  );

/** Requires at least this role on an app in the trash. */
export const trashedAppAs = (required: AppRole): Guard<AppAccess> => ({
  ...appAs(required),
  lookUp: (db, hash, exchange) => lookUpTrashedApp(db, hash, idOrNull(exchange.params.app_id)),
});

/**
 * Requires at least this role on the agent in the path. Throws 400 if the caller can see the app but it is not an
 * agent.
 */
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

/** Like `appAs`, for apps built on Plinth, as opposed to agents and apps with their own repository. */
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
        "Agents and imported apps can't be built by chat. Use the id of an app whose type is `user_app`.",
      );
    },
  };
}

/** Like `appAs`, for apps that have their own repository. */
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
    "This app doesn't have its own repository. Use the id of an app whose type is `imported_app`.",
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
