// Invitations to a workspace: their links, their acceptance, and the apps shared with invited people.
import { type Selectable, sql, type Updateable } from 'kysely';
import { sendWithNext } from '../../kit/db/send.ts';
import { newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import type { Plan } from '../auth/plans.ts';
import type { AppAccess, WorkspaceAccess } from '../auth/proofs.ts';
import type { Pepper } from '../auth/tokens.ts';
import { hashOneTimeToken, newOneTimeToken } from './accounts.ts';

type WorkspaceRef = Pick<WorkspaceAccess, 'workspace_id'>;
type InvitationRef = Pick<Invitation, 'workspace_id' | 'id'>;
type ShareRole = Tables['invitation_shares']['role'];

export type Invitation = Omit<Selectable<Tables['invitations']>, 'hash' | 'pepper_id'>;

const invitationColumns = [
  'workspace_id',
  'id',
  'email',
  'role',
  'assigned_via',
  'invited_by',
  'created_date',
  'expires_at',
  'accepted_at',
  'accepted_by',
  'mailed',
] as const;

const invitations = (db: Db, { workspace_id, id }: InvitationRef) =>
  db.updateTable('invitations').where('workspace_id', '=', workspace_id).where('id', '=', id);

/** Selects invitations that have not been accepted, whether pending or expired. */
export const selectOpenInvitations = (db: Db, { workspace_id }: WorkspaceRef, emails: readonly string[]) =>
  db
    .selectFrom('invitations')
    .where('workspace_id', '=', workspace_id)
    .where('email', 'in', emails)
    .where('accepted_at', 'is', null)
    .select(invitationColumns);

export const findOpenInvitation = (db: Db, workspace: WorkspaceRef, email: string): Promise<Invitation | undefined> =>
  selectOpenInvitations(db, workspace, [email]).executeTakeFirst();

/** The caller must hold the members lock. */
export const saveInvitation = (db: Db, key: InvitationRef, change: Updateable<Tables['invitations']>): Promise<void> =>
  sendWithNext(db, invitations(db, key).set(change).compile());

export async function removeInvitation(db: Db, { workspace_id, id }: InvitationRef): Promise<void> {
  await db.deleteFrom('invitations').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

// ---- links

const linkMs = 60 * 24 * 60 * 60 * 1000;

/** An invitation with its link's token, which is not stored. */
export type InvitationWithToken = Invitation & { readonly token: string };

type InvitationTerms = Pick<Invitation, 'email' | 'role' | 'assigned_via'>;

function newLink(access: WorkspaceAccess, pepper: Pepper, now: Date) {
  const token = newOneTimeToken();
  return {
    token,
    hashed: { hash: hashOneTimeToken(token, pepper), pepper_id: pepper.id },
    issue: {
      mailed: false,
      invited_by: access.caller.user_id,
      created_date: now,
      expires_at: new Date(now.getTime() + linkMs),
    },
  };
}

/** The caller must hold the members lock. */
export async function insertInvitation(
  db: Db,
  pepper: Pepper,
  access: WorkspaceAccess,
  terms: InvitationTerms,
  now: Date,
): Promise<InvitationWithToken> {
  const link = newLink(access, pepper, now);
  const invitation = { workspace_id: access.workspace_id, id: newId(), ...terms, ...link.issue };
  await sendWithNext(
    db,
    db
      .insertInto('invitations')
      .values({ ...invitation, ...link.hashed })
      .compile(),
  );
  return { ...invitation, accepted_at: null, accepted_by: null, token: link.token };
}

/** Replaces the link with a new one that is valid for 60 days. The caller must hold the members lock. */
export async function renewInvitation(
  db: Db,
  pepper: Pepper,
  access: WorkspaceAccess,
  { invitation, terms }: { readonly invitation: Invitation; readonly terms: Partial<InvitationTerms> },
  now: Date,
): Promise<InvitationWithToken> {
  const link = newLink(access, pepper, now);
  const change = { ...terms, ...link.issue };
  await saveInvitation(db, invitation, { ...change, ...link.hashed });
  return { ...invitation, ...change, token: link.token };
}

/** Records that the link was sent to the invited address, unless the link has been replaced in the meantime. */
export async function markMailed(db: Db, pepper: Pepper, { token, ...invitation }: InvitationWithToken): Promise<void> {
  await invitations(db, invitation).where('hash', '=', hashOneTimeToken(token, pepper)).set({ mailed: true }).execute();
}

/**
 * An invitation with its workspace, and the account that must accept it, if there is one. For a mailed invitation, an
 * account with an unverified address is ignored, because using the mailed link verifies the address.
 */
export type InvitationDetails = Invitation & {
  readonly workspace_name: string;
  readonly plan: Plan;
  readonly user_id: string | null;
  /** The address of who invited, if it is verified. Otherwise it could be used to impersonate someone else. */
  readonly inviter: string | null;
  /** The apps that are shared by the invitation, by name. */
  readonly app_names: readonly string[];
};

/**
 * Finds an invitation by its link's token, hashed with each configured pepper. An accepted invitation is found only
 * while the person is a member.
 */
export async function findInvitationByToken(
  db: Db,
  token: string,
  peppers: readonly Pepper[],
): Promise<InvitationDetails | undefined> {
  const hashes = peppers.map((pepper) => hashOneTimeToken(token, pepper));
  const { rows } = await sql<InvitationDetails>`/* lookup */
    select ${sql.join(invitationColumns.map((column) => sql.ref(`i.${column}`)))}, w.name as workspace_name, w.plan, u.id as user_id, by.email as inviter,
      array(select a.name from invitation_shares s join apps a on a.id = s.app_id and a.deleted_date is null
        where s.workspace_id = i.workspace_id and s.invitation_id = i.id order by a.name limit ${maxNamedApps}) as app_names
    from invitations i
    join workspaces w on w.id = i.workspace_id and w.deleted_date is null
    left join users u on u.email = i.email and (u.email_verified_at is not null or not i.mailed)
    left join users by on by.id = i.invited_by and by.email_verified_at is not null
    left join memberships m on m.workspace_id = i.workspace_id and m.user_id = i.accepted_by
    where i.hash in (${sql.join(hashes)}) and (i.accepted_at is null or m.user_id is not null)`.execute(db);
  return rows[0];
}

const maxNamedApps = 3;

/** The names of the apps that are shared by an invitation. */
export async function listNamesOfSharedApps(db: Db, { workspace_id, id }: InvitationRef): Promise<string[]> {
  const apps = await db
    .selectFrom('invitation_shares')
    .innerJoin('apps', 'apps.id', 'invitation_shares.app_id')
    .where('invitation_shares.workspace_id', '=', workspace_id)
    .where('invitation_shares.invitation_id', '=', id)
    .where('apps.workspace_id', '=', workspace_id)
    .where('apps.deleted_date', 'is', null)
    .orderBy('apps.name')
    .limit(maxNamedApps)
    .select('apps.name')
    .execute();
  return apps.map(({ name }) => name);
}

/** Makes the person a member with the invitation's role, and transfers the invitation's shares to them. */
export async function acceptInvitation(db: Db, invitation: Invitation, user_id: string, now: Date): Promise<void> {
  const { workspace_id, id, role, assigned_via } = invitation;
  await db
    .insertInto('memberships')
    .values({ workspace_id, user_id, role, assigned_via, created_date: now, updated_date: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await sql`with shared as (
      delete from invitation_shares where workspace_id = ${workspace_id} and invitation_id = ${id} returning app_id, role
    ) insert into app_shares (app_id, user_id, workspace_id, role, created_date)
    select app_id, ${user_id}, ${workspace_id}, role, ${now} from shared on conflict do nothing`.execute(db);
  await saveInvitation(db, invitation, { accepted_at: now, accepted_by: user_id });
}

/** Removes accepted invitations whose link has expired, and returns their number. */
export async function removeAcceptedInvitations(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } =
    await sql`/* service */ delete from invitations where accepted_at is not null and expires_at <= ${now}`.execute(db);
  return Number(numAffectedRows ?? 0);
}

// ---- apps shared with invited people

const invitedShares = (db: Db, { app }: AppAccess) =>
  db
    .selectFrom('invitation_shares')
    .innerJoin('invitations', (join) =>
      join
        .onRef('invitations.workspace_id', '=', 'invitation_shares.workspace_id')
        .onRef('invitations.id', '=', 'invitation_shares.invitation_id'),
    )
    .where('invitation_shares.workspace_id', '=', app.workspace_id)
    .where('invitations.workspace_id', '=', app.workspace_id)
    .where('invitation_shares.app_id', '=', app.id)
    .select(['invitations.email', 'invitation_shares.role']);

export const listInvitedShares = (db: Db, access: AppAccess) =>
  invitedShares(db, access).orderBy('invitations.email').execute();

export const findInvitedShare = (db: Db, access: AppAccess, invitation: InvitationRef) =>
  invitedShares(db, access).where('invitations.id', '=', invitation.id).executeTakeFirst();

export async function saveInvitedShare(
  db: Db,
  { app }: AppAccess,
  { workspace_id, id }: InvitationRef,
  role: ShareRole,
  now: Date,
): Promise<void> {
  await db
    .insertInto('invitation_shares')
    .values({ workspace_id, invitation_id: id, app_id: app.id, role, created_date: now })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'invitation_id', 'app_id']).doUpdateSet({ role }))
    .execute();
}

/** Returns whether the invitation has other shares. */
export async function removeInvitedShare(
  db: Db,
  { app }: AppAccess,
  { workspace_id, id }: InvitationRef,
): Promise<boolean> {
  const ofInvitation = db.deleteFrom('invitation_shares').where('workspace_id', '=', workspace_id);
  await ofInvitation.where('invitation_id', '=', id).where('app_id', '=', app.id).execute();
  const left = await db
    .selectFrom('invitation_shares')
    .where('workspace_id', '=', workspace_id)
    .where('invitation_id', '=', id)
    .select('app_id')
    .limit(1)
    .executeTakeFirst();
  return left !== undefined;
}

/** Downgrades the invited person's shares to viewer, because a viewer of the workspace can't edit an app. */
export function limitInvitedSharesToViewer(db: Db, { workspace_id, id }: InvitationRef): Promise<void> {
  const shares = db.updateTable('invitation_shares').where('workspace_id', '=', workspace_id);
  return sendWithNext(db, shares.where('invitation_id', '=', id).set({ role: 'viewer' }).compile());
}
