// Owns who reaches an app's data, and whom its rules then see (contract §3.5, §5.7): people by their role over the app,
// the app's own users, and nobody known where the app is open without login.

import type { Exchange } from '../../kit/http/exchange.ts';
import { idOrNull } from '../../kit/ids.ts';
import { notFound } from '../../kit/problem.ts';
import { issueProof } from './issue-proof.ts';
import {
  type AppDataLookup,
  type AppDataResourceLookup,
  appOf,
  lookUpAppData,
  lookUpAppDataResource,
  lookUpOpenApp,
} from './lookup.ts';
import type { Principal } from './principal.ts';
import type { DataAccess } from './proofs.ts';
import { anyCallerOf, appAs, type Guard } from './resource-guards.ts';
import type { AppRole } from './roles.ts';

const managed = appAs('viewer');

/** Over the data of the app named in the path. */
export const appData = (): Guard<DataAccess> => ({
  needs: 'entity rules',
  choosesWorkspace: managed.choosesWorkspace,
  param: managed.param,
  refusals: managed.refusals,
  find: lookUpAppData,
  findOpen: lookUpOpenApp,
  idOf: managed.idOf,
  decide: (found, exchange) =>
    found.kind === 'app_user_token' || found.kind === 'anonymous'
      ? asUser(found as AppDataLookup, exchange)
      : asManager(found as AppDataLookup, exchange),
});

/**
 * The same, and the row of a feature's own table that `param` names comes with the look-up, so that an operation on it begins
 * with it: null when there is none, undefined when it was not looked for (a caller without credentials).
 */
export function appDataWith<Noun extends string, Row>(noun: Noun, table: string, param: string) {
  type Proof = DataAccess & { readonly [N in Noun]?: Row | null };
  const { inner: _, ...guard } = appData();
  const find = lookUpAppDataResource<Row>(table);
  const within: Guard<Proof> = {
    ...guard,
    find: (db, hash, id, exchange) => find(db, hash, id, idOrNull(exchange.params[param])),
    decide: (found, exchange) =>
      ({ ...guard.decide(found, exchange), [noun]: (found as Partial<AppDataResourceLookup<Row>>).thing }) as Proof,
  };
  return within;
}

function asManager(found: AppDataLookup, exchange: Exchange): DataAccess {
  const { caller, workspace_id, plan, app, app_role } = managed.decide(found, exchange);
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role, principal: personOf(found, app_role) });
}

/** A workspace key acts for no person, so the rules know nobody. */
function personOf({ user_id, email, full_name, app_user }: AppDataLookup, app_role: AppRole | null): Principal {
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

function asUser(found: AppDataLookup, exchange: Exchange): DataAccess {
  const app = appOf(found);
  const { workspace_id, plan } = found;
  const principal = userOf(found);
  if (!app || !workspace_id || !plan || !principal) throw notFound('app_not_found');
  const email = principal.kind === 'signed_in' ? principal.email : null;
  const caller = { ...anyCallerOf(found, exchange), email };
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role: null, principal });
}

/** Undefined for the user of another app. */
function userOf({ kind, app_user_id, app_user }: AppDataLookup): Principal | undefined {
  if (kind === 'anonymous') return { kind };
  if (app_user_id === null || app_user === null) return undefined;
  const { email, full_name, role, data } = app_user;
  return { kind: 'signed_in', id: app_user_id, email, full_name, role, data };
}
