// The data that measurements share: a user, apps, and workspaces with a token and a rate limit too high to be
// reached.

import type { Config } from '../server/src/config.ts';
import { issueProof } from '../server/src/core/auth/issue-proof.ts';
import type { WorkspaceAccess } from '../server/src/core/auth/proofs.ts';
import { insertApp, type NewApp } from '../server/src/core/identity/apps.ts';
import { insertCredential, insertUser, insertWorkspace } from '../server/src/core/identity/users.ts';
import { newId } from '../server/src/kit/ids.ts';
import type { Db } from '../server/src/tables.ts';

export const benchEmail = 'bench@example.com';

export const createBenchUser = (db: Db): Promise<string> =>
  insertUser(db, { email: benchEmail, full_name: 'Bench', email_verified: true }, new Date());

export interface BenchWorkspace {
  readonly user_id: string;
  readonly workspace_id: string;
  /** The owner's full-access token. */
  readonly token: string;
  readonly access: WorkspaceAccess;
}

export async function createBenchWorkspace(
  db: Db,
  { TOKEN_PEPPERS: peppers, CELL_CODE: cellCode }: Pick<Config, 'TOKEN_PEPPERS' | 'CELL_CODE'>,
  user_id: string,
): Promise<BenchWorkspace> {
  const now = new Date();
  const workspace_id = await insertWorkspace(db, { name: 'Bench', plan: 'enterprise', owner_id: user_id }, now);
  // Requests are counted as in production, but the limit is never reached.
  await db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace_id).execute();
  const mine = { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' } as const;
  const { id: credential_id, token } = await insertCredential(db, { peppers, cellCode }, mine, now);
  const caller = { kind: mine.kind, credential_id, user_id, email: benchEmail, request_id: newId(), ip: '127.0.0.1' };
  const access = issueProof<WorkspaceAccess>({
    caller: caller as WorkspaceAccess['caller'],
    workspace_id,
    plan: 'enterprise',
    role: 'owner',
  });
  return { user_id, workspace_id, token, access };
}

export const createBenchApp = (
  db: Db,
  { access }: Pick<BenchWorkspace, 'access'>,
  app_type: NewApp['app_type'],
  name = 'Bench',
) =>
  insertApp(
    db,
    access,
    { name, app_type, user_description: '', visibility: 'workspace', public_settings: 'public_with_login' },
    new Date(),
  );
