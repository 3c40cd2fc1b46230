// Access to an app's data, and the principal that the app's rules see (docs/api/app-users.md, rules.md). Members
// have access through their role on the app, app users as themselves, and callers without credentials only if the app
// is open without login. Also owns access to the app's sign-in, which is open to everyone, and to app users' operations
// on their own account.
import type { Exchange } from '../../../kit/http/exchange.ts';
import { idOrNull } from '../../../kit/ids.ts';
import { notFound } from '../../../kit/problem.ts';
import { issueProof } from '../issue-proof.ts';
import type { Principal } from '../principal.ts';
import type { AppUserSelfAccess, AppVisitor, DataAccess, MemberDataAccess } from '../proofs.ts';
import { toAnyCaller } from '../request/caller.ts';
import {
  type AnonymousLookup,
  type AppDataLookup,
  type AppDataRowLookup,
  lookUpAnyApp,
  lookUpAppData,
  lookUpOpenApp,
  prepareAppDataRowLookup,
  toAppRow,
} from '../request/lookup.ts';
import type { AppRole } from '../roles.ts';
import { appAs } from './app.ts';
import type { Guard } from './guard.ts';
import { toVisitor } from './visitor.ts';

const memberGuard = appAs('viewer');

/** Guards the data of the app in the path. */
export const appData = (): Guard<DataAccess> => ({
  needs: 'entity rules',
  choosesWorkspace: false,
  pathParam: memberGuard.pathParam,
  refusals: memberGuard.refusals,
  lookUp: (db, hash, exchange) => lookUpAppData(db, hash, idOrNull(exchange.params.app_id)),
  lookUpAnonymous: (db, exchange) => lookUpOpenApp(db, idOrNull(exchange.params.app_id)),
  decide,
});

/**
 * Like `appData`, and also looks up the row that `pathParam` identifies in a feature's table, which saves the operation
 * a query. The row is null if it does not exist, and undefined if it was not looked up because the caller has no
 * credential.
 */
export function appDataWith<Noun extends string, Row>(noun: Noun, table: string, pathParam: string) {
  type Proof = DataAccess & { readonly [N in Noun]?: Row | null };
  const lookUpRow = prepareAppDataRowLookup<Row>(table);
  const guard: Guard<Proof> = {
    ...appData(),
    loadNested: undefined,
    lookUp: (db, hash, exchange) =>
      lookUpRow(db, hash, idOrNull(exchange.params.app_id), idOrNull(exchange.params[pathParam])),
    decide: (lookup: AppDataRowLookup<Row> | AnonymousLookup, exchange) => {
      const resource = lookup.kind === 'anonymous' ? undefined : lookup.resource;
      return { ...decide(lookup, exchange), [noun]: resource } as Proof; // TypeScript does not track computed keys
    },
  };
  return guard;
}

/** Requires at least this role on the app in the path. The proof includes the principal that the app's rules see. */
export function appDataAs(required: AppRole): Guard<MemberDataAccess> {
  const guard = appAs(required);
  return {
    ...guard,
    loadNested: undefined,
    lookUp: (db, hash, exchange) => lookUpAppData(db, hash, idOrNull(exchange.params.app_id)),
    decide: (lookup: AppDataLookup, exchange) => {
      const access = guard.decide(lookup, exchange);
      return issueProof<MemberDataAccess>({ ...access, principal: toMemberPrincipal(lookup, access.app_role) });
    },
  };
}

function decide(lookup: AppDataLookup | AnonymousLookup, exchange: Exchange): DataAccess {
  if (lookup.kind === 'anonymous') return decideAnonymous(lookup, exchange);
  return lookup.kind === 'app_user_token' ? decideAppUser(lookup, exchange) : decideMember(lookup, exchange);
}

function decideMember(lookup: AppDataLookup, exchange: Exchange): DataAccess {
  const { caller, workspace_id, plan, app, app_role } = memberGuard.decide(lookup, exchange);
  const principal = toMemberPrincipal(lookup, app_role);
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role, principal });
}

/** A workspace key does not act on behalf of a person, so it meets no condition. Like members, it manages the app. */
export function toMemberPrincipal(
  lookup: Pick<AppDataLookup, 'user_id' | 'email' | 'full_name' | 'app_user'>,
  app_role: AppRole | null,
): Principal {
  const { user_id, email, full_name, app_user } = lookup;
  if (user_id === null || app_role === null) return { kind: 'anonymous', isManager: true };
  return {
    kind: 'signed_in',
    isManager: true,
    id: user_id,
    email: email ?? '',
    full_name: full_name ?? '',
    role: app_role === 'viewer' ? 'user' : 'admin',
    data: app_user?.data ?? {},
  };
}

/** Throws 404 if the caller is a user of a different app. */
function decideAppUser(lookup: AppDataLookup, exchange: Exchange): DataAccess {
  const app = toAppRow(lookup);
  const { workspace_id, plan, app_user_id, app_user } = lookup;
  if (!app || !workspace_id || !plan || app_user_id === null || app_user === null) throw notFound('app_not_found');
  const { email, full_name, role, data } = app_user;
  const caller = { ...toAnyCaller(lookup, exchange), email };
  const principal: Principal = { kind: 'signed_in', isManager: false, id: app_user_id, email, full_name, role, data };
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role: null, principal });
}

function decideAnonymous(lookup: AnonymousLookup, exchange: Exchange): DataAccess {
  const app = toAppRow(lookup);
  if (app === undefined) throw notFound('app_not_found');
  const { workspace_id, plan } = lookup;
  const caller = toAnyCaller(lookup, exchange);
  const principal: Principal = { kind: 'anonymous', isManager: false };
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role: null, principal });
}

// ---- signing in

const appNotFound = { status: 404, code: 'app_not_found' } as const;

/**
 * Admits every caller except web pages that do not belong to the app (request/checks.ts). For open routes with an app
 * in the path.
 */
export const appVisitor: Guard<AppVisitor> = {
  needs: 'none',
  choosesWorkspace: false,
  pathParam: memberGuard.pathParam,
  refusals: [appNotFound, { status: 403, code: 'origin_not_allowed' }],
  lookUp: async () => undefined,
  lookUpAnonymous: (db, exchange) => lookUpAnyApp(db, idOrNull(exchange.params.app_id)),
  decide: (lookup: AnonymousLookup | undefined, exchange) => {
    const app = lookup && toAppRow(lookup);
    if (app === undefined) throw notFound('app_not_found');
    return issueProof<AppVisitor>({ ...toVisitor(exchange), workspace_id: app.workspace_id, app });
  },
};

/** Admits users of the app in the path, for operations on their own account. */
export const appUserSelf: Guard<AppUserSelfAccess> = {
  needs: 'self',
  choosesWorkspace: false,
  pathParam: memberGuard.pathParam,
  refusals: [appNotFound],
  lookUp: (db, hash, exchange) => lookUpAppData(db, hash, idOrNull(exchange.params.app_id)),
  decide: (lookup: AppDataLookup, exchange) => {
    const { caller, workspace_id, app } = decideAppUser(lookup, exchange);
    const { credential_id, app_user_id } = caller;
    if (credential_id === null || app_user_id === null) throw new Error('the caller is not a user of an app');
    return issueProof<AppUserSelfAccess>({ caller: { ...caller, credential_id, app_user_id }, workspace_id, app });
  },
};
