// Owns who reaches an app's data, and whom its rules then see (contract §3.5, §5.7): people by their role over the app,
// the app's own users, and nobody known where the app is open without login.
import type { Exchange } from '../kit/http/exchange.ts';
import { appOf, type FoundData, findAtData, findOpenApp } from './lookup.ts';
import type { Principal } from './principal.ts';
import { type DataAccess, proven } from './proofs.ts';
import { appAs, askerOf, type Guard, missing } from './reach.ts';
import type { AppRole } from './roles.ts';

const managed = appAs('viewer');

/** Over the data of the app named in the path. */
export const dataOf = (): Guard<DataAccess> => ({
  needs: 'rules',
  choosesWorkspace: managed.choosesWorkspace,
  param: managed.param,
  refusals: managed.refusals,
  find: findAtData,
  findOpen: findOpenApp,
  idOf: managed.idOf,
  decide: (found, exchange) =>
    found.kind === 'app_user_token' || found.kind === 'anonymous'
      ? asUser(found as FoundData, exchange)
      : asManager(found as FoundData, exchange),
});

function asManager(found: FoundData, exchange: Exchange): DataAccess {
  const { caller, workspace_id, plan, app, app_role } = managed.decide(found, exchange);
  return proven<DataAccess>({ caller, workspace_id, plan, app, app_role, principal: personOf(found, app_role) });
}

/** A workspace key acts for no person, so the rules know nobody. */
function personOf({ user_id, email, full_name, app_user }: FoundData, app_role: AppRole | null): Principal {
  if (user_id === null || app_role === null) return { kind: 'anonymous' };
  return {
    kind: 'signed_in',
    id: user_id,
    email: email ?? '',
    full_name: full_name ?? '',
    role: app_role === 'viewer' ? 'user' : 'admin',
    data: app_user?.data ?? {},
  };
}

function asUser(found: FoundData, exchange: Exchange): DataAccess {
  const app = appOf(found);
  const { workspace_id, plan } = found;
  const principal = userOf(found);
  if (!app || !workspace_id || !plan || !principal) throw missing('app_not_found');
  const email = principal.kind === 'signed_in' ? principal.email : null;
  const caller = { ...askerOf(found, exchange), email };
  return proven<DataAccess>({ caller, workspace_id, plan, app, app_role: null, principal });
}

/** Undefined for the user of another app. */
function userOf({ kind, app_user_id, app_user }: FoundData): Principal | undefined {
  if (kind === 'anonymous') return { kind };
  if (app_user_id === null || app_user === null) return undefined;
  const { email, full_name, role, data } = app_user;
  return { kind: 'signed_in', id: app_user_id, email, full_name, role, data };
}
