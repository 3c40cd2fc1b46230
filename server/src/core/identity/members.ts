// Memberships: finding, changing and removing them, together with the member's apps, shares and tokens.
import { sql, type Updateable } from 'kysely';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { sendTogether, sendWithNext } from '../../kit/db/send.ts';
import type { Db, Tables } from '../../tables.ts';
import type { AppAccess, WorkspaceAccess } from '../auth/proofs.ts';
import type { WorkspaceRole } from '../auth/roles.ts';
import { revokeWithDescendants } from './accounts.ts';
import { type Invitation, selectOpenInvitations } from './invitations.ts';

/** A proof, or any other value with a workspace id. */
type WorkspaceRef = Pick<WorkspaceAccess, 'workspace_id'>;

/**
 * Serialises changes to a workspace's members, because two rules span several rows: a workspace has exactly one owner,
 * and a person is either a member or invited.
 */
export const withMembersLock = <Result>(
  db: Db,
  { workspace_id }: WorkspaceRef,
  work: (db: Db) => Promise<Result>,
): Promise<Result> =>
  transaction(db, async (db) => {
    await takeAdvisoryLock(db, `members of ${workspace_id}`);
    return work(db);
  });

export interface Member {
  readonly id: string;
  readonly email: string;
  readonly role: WorkspaceRole;
  readonly access_state: 'active' | 'blocked';
  readonly credit_limit: number | null;
  readonly deactivated_at: Date | null;
}

const members = (db: Db, { workspace_id }: WorkspaceRef) =>
  db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .where('memberships.workspace_id', '=', workspace_id)
    .select([
      'users.id',
      'users.email',
      'users.deactivated_at',
      'memberships.role',
      'memberships.access_state',
      'memberships.credit_limit',
    ]);

/** Finds a member of the workspace by e-mail address, ignoring case. */
export const findMember = (db: Db, workspace: WorkspaceRef, email: string): Promise<Member | undefined> =>
  members(db, workspace).where('users.email', '=', email.toLowerCase()).executeTakeFirst();

/** Like `findMember`, with the role of the member's share. Null if the app is not shared with them. */
export const findMemberWithShare = (db: Db, { app }: AppAccess, email: string) =>
  members(db, app)
    .leftJoin('app_shares', (join) =>
      join
        .onRef('app_shares.user_id', '=', 'users.id')
        .on('app_shares.workspace_id', '=', app.workspace_id)
        .on('app_shares.app_id', '=', app.id),
    )
    .where('users.email', '=', email.toLowerCase())
    .select('app_shares.role as share_role')
    .executeTakeFirst();

export const getOwner = (db: Db, workspace: WorkspaceRef): Promise<Member> =>
  members(db, workspace).where('memberships.role', '=', 'owner').executeTakeFirstOrThrow();

/** Leaves out unverified addresses, because they may belong to strangers. */
const membersToMail = (db: Db, workspace: WorkspaceRef) =>
  members(db, workspace)
    .where('memberships.access_state', '=', 'active')
    .where('users.deactivated_at', 'is', null)
    .where('users.email_verified_at', 'is not', null)
    .orderBy('users.email');

const selectOwnerOf = (db: Db, workspace: WorkspaceRef, app_id: string) =>
  db.selectFrom('apps').where('workspace_id', '=', workspace.workspace_id).where('id', '=', app_id).select('owner_id');

/** Lists the e-mail addresses of the people responsible for an app: its owner, and the workspace's owner and admins. */
export async function listResponsibleEmails(db: Db, workspace: WorkspaceRef, app_id: string): Promise<string[]> {
  const rows = await membersToMail(db, workspace)
    .where((is) =>
      is.or([
        is('memberships.role', 'in', ['owner', 'admin']),
        is('users.id', '=', selectOwnerOf(db, workspace, app_id)),
      ]),
    )
    .execute();
  return rows.map((row) => row.email);
}

/** Lists the e-mail addresses of an app's owner and another member, if they may be mailed. */
export async function listEmailsOfOwnerAnd(
  db: Db,
  workspace: WorkspaceRef,
  app_id: string,
  user_id: string | null,
): Promise<string[]> {
  const rows = await membersToMail(db, workspace)
    .where((is) => is.or([is('users.id', '=', user_id), is('users.id', '=', selectOwnerOf(db, workspace, app_id))]))
    .execute();
  return rows.map((row) => row.email);
}

/** An entry in the members list: a member or an invited person. */
export type MemberOrInvitation = ({ readonly joined: true } & Member) | ({ readonly joined: false } & Invitation);

/** Finds members and invitations by e-mail address, leaving out accepted invitations. */
export async function findMembersOrInvitations(
  db: Db,
  workspace: WorkspaceRef,
  emails: readonly string[],
): Promise<Map<string, MemberOrInvitation>> {
  if (emails.length === 0) return new Map();
  const [joined, invited] = await sendTogether(
    db,
    members(db, workspace).where('users.email', 'in', emails).compile(),
    selectOpenInvitations(db, workspace, emails).compile(),
  );
  return new Map<string, MemberOrInvitation>([
    ...invited.map((row) => [row.email, { joined: false, ...row }] as const),
    ...joined.map((row) => [row.email, { joined: true, ...row }] as const),
  ]);
}

/** The caller must hold the members lock. */
export function saveMember(
  db: Db,
  { workspace_id }: WorkspaceRef,
  user_id: string,
  change: Updateable<Tables['memberships']>,
): Promise<void> {
  const members = db.updateTable('memberships').where('workspace_id', '=', workspace_id);
  return sendWithNext(db, members.where('user_id', '=', user_id).set(change).compile());
}

/** Downgrades the member's shares to viewer, because a viewer of the workspace can't edit an app. */
export function limitSharesToViewer(db: Db, { workspace_id }: WorkspaceRef, user_id: string): Promise<void> {
  const shares = db.updateTable('app_shares').where('workspace_id', '=', workspace_id).where('user_id', '=', user_id);
  return sendWithNext(db, shares.set({ role: 'viewer' }).compile());
}

/**
 * Removes a membership with the person's shares, invitations and tokens in the workspace, and the workspace keys
 * created with those tokens. Transfers their apps to `owner_id`, and clears the workspace from their sessions. Returns
 * how many apps were transferred, and how many tokens and keys were revoked.
 */
export async function removeMembership(
  db: Db,
  { workspace_id }: WorkspaceRef,
  user_id: string,
  owner_id: string,
  now: Date,
): Promise<{ apps_passed: number; tokens_revoked: number; keys_revoked: number }> {
  const passed = await sql`with passed as (
      update apps set owner_id = ${owner_id} where workspace_id = ${workspace_id} and owner_id = ${user_id} returning id
    ), redundant_shares as (
      delete from app_shares where workspace_id = ${workspace_id} and user_id = ${owner_id}
        and app_id in (select id from passed)
    ) select id from passed`.execute(db);
  await db.deleteFrom('app_shares').where('workspace_id', '=', workspace_id).where('user_id', '=', user_id).execute();
  const revoked = await revokeWithDescendants(db, { workspace_id }, { user_id }, now);
  await db
    .updateTable('credentials')
    .set({ workspace_id: null })
    .where('workspace_id', '=', workspace_id)
    .where('user_id', '=', user_id)
    .where('kind', '=', 'session')
    .execute();
  await db
    .deleteFrom('invitations')
    .where('workspace_id', '=', workspace_id)
    .where((is) =>
      is.or([
        is('accepted_by', '=', user_id),
        is('email', '=', is.selectFrom('users').where('id', '=', user_id).select('email')),
      ]),
    )
    .execute();
  await db.deleteFrom('memberships').where('workspace_id', '=', workspace_id).where('user_id', '=', user_id).execute();
  const keys_revoked = revoked.filter(({ kind }) => kind === 'workspace_key').length;
  return { apps_passed: passed.rows.length, tokens_revoked: revoked.length - keys_revoked, keys_revoked };
}
