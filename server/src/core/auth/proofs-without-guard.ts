// The proofs that no guard issues: for a resource that the caller has just created, for an app's own actions, and
// for Plinth's own actions on an app.
import type { AnyDb } from '../../kit/db/database.ts';
import { prepared } from '../../kit/db/database.ts';
import { idOrNull } from '../../kit/ids.ts';
import { issueProof } from './issue-proof.ts';
import type { Plan } from './plans.ts';
import type { SignedIn } from './principal.ts';
import type { AnyCaller, AppAccess, AppRow, DataAccess, SelfAccess, ServiceAccess, WorkspaceAccess } from './proofs.ts';
import { lookUpAnyApp, toAppRow } from './request/lookup.ts';

// ---- resources that the caller has just created

/** Must be called in the transaction that inserted the workspace with the caller as its owner. */
export const issueForNewWorkspace = ({ caller }: SelfAccess, workspace_id: string, plan: Plan): WorkspaceAccess =>
  issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: 'owner' });

/** Must be called in the transaction that inserted the app. */
export const issueForNewApp = (access: WorkspaceAccess, app: AppRow): AppAccess =>
  issueProof<AppAccess>({ ...access, app, app_role: access.role === null ? null : 'owner' });

// ---- an app acting through its workflows and automations, without a calling person and without rules

const service: AnyCaller = {
  kind: 'anonymous',
  credential_id: null,
  user_id: null,
  app_user_id: null,
  email: null,
  request_id: 'service',
  ip: '',
};

/** Undefined if the app or its workspace was deleted. */
export async function findAccessAsApp(
  db: AnyDb,
  { workspace_id, app_id }: { readonly workspace_id: string; readonly app_id: string },
): Promise<DataAccess | undefined> {
  const lookup = await lookUpAnyApp(db, app_id);
  const app = lookup && toAppRow(lookup);
  if (lookup === undefined || app === undefined || app.workspace_id !== workspace_id) return undefined;
  const principal = { kind: 'app', isManager: true } as const;
  return issueProof<DataAccess>({ caller: service, workspace_id, plan: lookup.plan, app, app_role: null, principal });
}

export const selectAppUser = prepared<Omit<SignedIn, 'kind' | 'isManager'>, [appId: string, id: string | null]>(
  'find app user to act as',
  'select id, email, full_name, role, data from app_users where app_id = $1 and id = $2::uuid',
);

/** Makes the app act as one of its users, to whom the rules apply. Undefined if it has no such user. */
export async function findAccessAsAppUser(db: AnyDb, access: DataAccess, id: string): Promise<DataAccess | undefined> {
  const [user] = await selectAppUser(db, access.app.id, idOrNull(id));
  if (user === undefined) return undefined;
  const { workspace_id, plan, app } = access;
  const caller = { ...service, app_user_id: user.id, email: user.email };
  const principal = { kind: 'signed_in', isManager: false, ...user } as const;
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role: null, principal });
}

// ---- Plinth itself, for example to verify an app's tracking after publishing. There is no caller, so no role is
// checked.

/** Undefined if the app or its workspace was deleted. */
export async function findAccessAsService(
  db: AnyDb,
  { workspace_id, app_id }: { readonly workspace_id: string; readonly app_id: string },
): Promise<ServiceAccess | undefined> {
  const lookup = await lookUpAnyApp(db, app_id);
  const app = lookup && toAppRow(lookup);
  if (app === undefined || app.workspace_id !== workspace_id) return undefined;
  return issueProof<ServiceAccess>({ isService: true, workspace_id, app });
}
