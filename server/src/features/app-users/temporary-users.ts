// The temporary users needed to test an app. Plinth creates and removes them itself.
import { auditService } from '../../core/audit/audit.ts';
import type { DataAccess } from '../../core/auth/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import type { AppUserRow } from './contract.ts';
import { removeLinks } from './store/links.ts';
import { savePassword } from './store/sign-ins.ts';
import { insertAppUser, lockAppUser, removeAppUser } from './store/users.ts';

interface NewTemporaryUser {
  readonly email: string;
  readonly passwordHash: string;
  readonly role: AppUserRow['role'];
}

/** Runs in the caller's transaction. The user can sign in with the password immediately. Returns the user's id. */
export async function createTemporaryUser(
  db: Db,
  access: DataAccess,
  { email, passwordHash, role }: NewTemporaryUser,
  now: Date,
): Promise<string> {
  const user = await insertAppUser(db, access, { email, full_name: 'Test user', role, data: {} }, now);
  if (user === undefined) throw new Error("a temporary user's e-mail address is already in use");
  await savePassword(db, user, passwordHash, now);
  const after = { email, role, is_temporary: true };
  await auditService(db, access.workspace_id, { ...describe(user), type: 'app_user.created', after }, now);
  return user.id;
}

/** Removes the user and all related data except their records. Does nothing if the user no longer exists. */
export const removeTemporaryUser = (db: Db, access: DataAccess, id: string, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    const user = await lockAppUser(db, access, id);
    if (user === undefined) return;
    await removeAppUser(db, user);
    await removeLinks(db, user);
    const before = { email: user.email, role: user.role, is_temporary: true };
    await auditService(db, access.workspace_id, { ...describe(user), type: 'app_user.deleted', before }, now);
  });

const describe = ({ id, app_id }: AppUserRow) => ({ target: { kind: 'app_user', id }, app_id });
