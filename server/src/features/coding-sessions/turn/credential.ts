// The credential that a session uses to access its repository.
import type { GitCredential } from '../../../gateways/git-host/types.ts';
import type { Db } from '../../../tables.ts';
import { type CredentialDeps, isSameRepository, openCredential } from '../repository/repository.ts';
import { findRepository } from '../store/repositories.ts';
import type { SessionRow } from '../store/sessions.ts';

/** Undefined if the app is no longer connected to the session's repository, or may no longer use it. */
export async function readCredential(
  db: Db,
  deps: CredentialDeps,
  session: Pick<SessionRow, 'workspace_id' | 'app_id' | 'repository_full_name'>,
): Promise<GitCredential | undefined> {
  const row = await findRepository(db, session);
  return row && isSameRepository(row, session.repository_full_name) ? openCredential(deps, row) : undefined;
}
