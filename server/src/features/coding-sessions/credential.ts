// Owns the credential with which a session reaches its repository.
import type { GitCredential } from '../../gateways/git-host/types.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { isSameRepository, openCredential } from './repository.ts';
import { findRepository } from './store/repositories.ts';
import type { SessionRow } from './store/sessions.ts';

export interface CredentialDeps {
  readonly secrets: Secrets;
}

/** Undefined if the app is no longer connected to the repository of the session. */
export async function readCredential(
  db: Db,
  session: Pick<SessionRow, 'workspace_id' | 'app_id' | 'repository_full_name'>,
  { secrets }: CredentialDeps,
): Promise<GitCredential | undefined> {
  const row = await findRepository(db, session);
  return row && isSameRepository(row, session.repository_full_name) ? openCredential(secrets, row) : undefined;
}
