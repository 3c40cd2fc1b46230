// Owns the proof for what an app does itself, by its workflows and automations: no person calls, and no rule applies. With a
// user of the app, the rules apply to that user.
import type { AnyDb } from '../../kit/db/database.ts';
import { prepared } from '../../kit/db/database.ts';
import { idOrNull } from '../../kit/ids.ts';
import { issueProof } from './issue-proof.ts';
import { lookUpAnyApp, toAppRow } from './lookup.ts';
import type { SignedIn } from './principal.ts';
import type { AnyCaller, DataAccess } from './proofs.ts';

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

/** The same app, as one of its users. Undefined if it has no such user. */
export async function findAccessAsAppUser(db: AnyDb, access: DataAccess, id: string): Promise<DataAccess | undefined> {
  const [user] = await selectAppUser(db, access.app.id, idOrNull(id));
  if (user === undefined) return undefined;
  const { workspace_id, plan, app } = access;
  const caller = { ...service, app_user_id: user.id, email: user.email };
  const principal = { kind: 'signed_in', isManager: false, ...user } as const;
  return issueProof<DataAccess>({ caller, workspace_id, plan, app, app_role: null, principal });
}
