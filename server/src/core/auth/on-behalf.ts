// The proof for work that continues after the request that started it, such as a turn of the builder chat. Before
// each action, the proof is issued again, based on the person's current rights.
import type { AnyDb } from '../../kit/db/database.ts';
import { Problem } from '../../kit/problem.ts';
import { decideApp } from './guards/app.ts';
import { decideWorkspace } from './guards/workspace.ts';
import type { AppAccess, WorkspaceAccess } from './proofs.ts';
import { lookUpAppByCredentialId, lookUpWorkspaceByCredentialId } from './request/lookup.ts';
import type { AppRole } from './roles.ts';

/** The request that started the work. It is stored together with the work. */
export interface BegunRequest {
  readonly credential_id: string;
  readonly request_id: string;
  readonly ip: string;
}

/**
 * Undefined if the person no longer has the role or was blocked, removed or deactivated, if the app was deleted, or if
 * the request's credential was revoked. A credential that has since expired is accepted, because it was valid for the
 * request.
 */
export async function findAccessOnBehalf(
  db: AnyDb,
  { credential_id, request_id, ip }: BegunRequest,
  appId: string,
  required: AppRole,
): Promise<AppAccess | undefined> {
  const lookup = await lookUpAppByCredentialId(db, credential_id, appId);
  if (lookup === undefined) return undefined;
  return unlessRefused(() => decideApp(lookup, { requestId: request_id, address: ip }, required, 'app_not_found'));
}

/** The same for the person's own data in a workspace, of which they must be a member. */
export async function findWorkspaceOnBehalf(
  db: AnyDb,
  { credential_id, request_id, ip }: BegunRequest,
  workspaceId: string,
): Promise<WorkspaceAccess | undefined> {
  const lookup = await lookUpWorkspaceByCredentialId(db, credential_id, workspaceId);
  if (lookup === undefined) return undefined;
  const origin = { requestId: request_id, address: ip };
  return unlessRefused(() => decideWorkspace(lookup, origin, 'guest', 'workspace_not_found'));
}

function unlessRefused<Proof>(decide: () => Proof): Proof | undefined {
  try {
    return decide();
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
