// Finds principals other than the caller, to explain how an app's rules apply to them. No proof is issued, so it
// is impossible to act as them.
import type { AnyDb } from '../../kit/db/database.ts';
import { prepared } from '../../kit/db/database.ts';
import { idOrNull } from '../../kit/ids.ts';
import { toMemberPrincipal } from './guards/app-data.ts';
import type { Principal } from './principal.ts';
import type { AppAccess } from './proofs.ts';
import { selectAppUser } from './proofs-without-guard.ts';
import type { AppDataLookup } from './request/lookup.ts';
import { deriveAppRole, type WorkspaceRole } from './roles.ts';

/** Finds an app user by id. */
export async function findAppUserPrincipal(db: AnyDb, { app }: AppAccess, id: string): Promise<Principal | undefined> {
  const [user] = await selectAppUser(db, app.id, idOrNull(id));
  return user && { kind: 'signed_in', isManager: false, ...user };
}

type MemberRow = Pick<AppDataLookup, 'email' | 'full_name' | 'app_user' | 'share_role'> & {
  readonly user_id: string;
  readonly role: WorkspaceRole;
};

// Reads the same facts that a request's lookup reads about its caller (lookup.ts).
const selectMember = prepared<MemberRow, [workspaceId: string, appId: string, email: string]>(
  'find member to explain rules for',
  `select u.id as user_id, u.email, u.full_name, m.role, s.role as share_role, to_json(p) as app_user
   from memberships m
   join users u on u.id = m.user_id and u.deactivated_at is null
   left join app_shares s on s.app_id = $2 and s.user_id = u.id
   left join app_users p on p.app_id = $2 and p.email = u.email and u.email_verified_at is not null
   where m.workspace_id = $1 and m.access_state = 'active' and u.email = $3`,
);

/** Finds a person with access to the app by their e-mail address. */
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
