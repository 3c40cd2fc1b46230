// Owns finding other principals than the caller, to explain what an app's rules decide about them. Nothing is done in their
// name: no proof is issued.
import type { AnyDb } from '../../kit/db/database.ts';
import { prepared } from '../../kit/db/database.ts';
import { idOrNull } from '../../kit/ids.ts';
import { toMemberPrincipal } from './app-data-guard.ts';
import { selectAppUser } from './as-app.ts';
import type { AppDataLookup } from './lookup.ts';
import type { Principal } from './principal.ts';
import type { AppAccess } from './proofs.ts';
import { deriveAppRole, type WorkspaceRole } from './roles.ts';

/** A user of the app. Undefined if there is none with this id. */
export async function findAppUserPrincipal(db: AnyDb, { app }: AppAccess, id: string): Promise<Principal | undefined> {
  const [user] = await selectAppUser(db, app.id, idOrNull(id));
  return user && { kind: 'signed_in', isManager: false, ...user };
}

type MemberRow = Pick<AppDataLookup, 'email' | 'full_name' | 'app_user' | 'share_role'> & {
  readonly user_id: string;
  readonly role: WorkspaceRole;
};

// The same facts as the lookup of a request reads about its caller (lookup.ts).
const selectMember = prepared<MemberRow, [workspaceId: string, appId: string, email: string]>(
  'find member to explain rules for',
  `select u.id as user_id, u.email, u.full_name, m.role, s.role as share_role, to_json(p) as app_user
   from memberships m
   join users u on u.id = m.user_id and u.deactivated_at is null
   left join app_shares s on s.app_id = $2 and s.user_id = u.id
   left join app_users p on p.app_id = $2 and p.email = u.email and u.email_verified_at is not null
   where m.workspace_id = $1 and m.access_state = 'active' and u.email = $3`,
);

/** A person with access to the app. Undefined if nobody with this address has. */
export async function findMemberPrincipal(
  db: AnyDb,
  { app }: AppAccess,
  email: string,
): Promise<Principal | undefined> {
  const [row] = await selectMember(db, app.workspace_id, app.id, email);
  if (row === undefined) return undefined;
  const app_role = deriveAppRole({
    workspace_role: row.role,
    visibility: app.visibility,
    is_app_owner: app.owner_id === row.user_id,
    share_role: row.share_role,
  });
  return app_role && toMemberPrincipal(row, app_role);
}
