// Accepts an invitation with a new account or with the signed-in person's account
// (docs/api/members.md#accepting-an-invitation).

import { auditVisitor } from '../../../core/audit/audit.ts';
import type { OptionalUserAccess } from '../../../core/auth/proofs.ts';
import {
  createSession,
  findUserByEmail,
  getUser,
  type SessionDeps,
  saveName,
  sessionCookie,
} from '../../../core/identity/accounts.ts';
import { acceptInvitation, findInvitationByToken, type InvitationDetails } from '../../../core/identity/invitations.ts';
import { findMember, withMembersLock } from '../../../core/identity/members.ts';
import { type HashingClient, hashPassword, savePassword } from '../../../core/identity/passwords.ts';
import { presentUser } from '../../../core/identity/shapes.ts';
import { insertUser } from '../../../core/identity/users.ts';
import { claimAccount, markEmailVerified } from '../../../core/identity/verification.ts';
import { takeAdvisoryLock } from '../../../kit/db/database.ts';
import { unchanged, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { Acceptance } from './contract.ts';
import type { InvitationDeps } from './mail.ts';

export type AcceptDeps = InvitationDeps & SessionDeps;

/**
 * Finds a link's invitation. Throws if the invitation has expired. Returns undefined if there is none, or if the person
 * who accepted it has left.
 */
export async function findValidInvitation(
  db: Db,
  { tokenKeys }: InvitationDeps,
  token: string,
  now: Date,
): Promise<InvitationDetails | undefined> {
  const invitation = await findInvitationByToken(db, token, tokenKeys.peppers);
  if (invitation === undefined || invitation.expires_at > now) return invitation;
  throw new Problem('gone', 'invitation_expired', 'This invitation has expired. Ask a workspace admin for a new one.');
}

/** Returns a link's invitation. Throws if the invitation has expired or does not exist. */
export async function getValidInvitation(
  db: Db,
  deps: InvitationDeps,
  token: string,
  now: Date,
): Promise<InvitationDetails> {
  const invitation = await findValidInvitation(db, deps, token, now);
  if (invitation === undefined) throw invitationNotFound(); // never existed, cancelled, or replaced by a new link
  return invitation;
}

export type InvitationAccess = OptionalUserAccess & { readonly invitation: InvitationDetails };

export async function acceptByLink(
  db: Db,
  deps: AcceptDeps,
  access: InvitationAccess,
  { token, input }: { readonly token: string; readonly input: Acceptance },
  now: Date,
) {
  const { person, invitation } = access;
  if (person !== null && person.email !== invitation.email) throw emailMismatch();
  if (person === null && invitation.user_id !== null) throw emailMismatch();
  const account = person ?? (await prepareNewAccount(input, access));
  const isNew = 'password_hash' in account;
  return withMembersLock(db, invitation, async (db) => {
    const current = await getValidInvitation(db, deps, token, now);
    if (current.accepted_at !== null) {
      if (person?.id !== current.accepted_by) throw emailMismatch();
      return unchanged(await getAcceptedBody(db, current));
    }
    const user_id = isNew ? await createAccount(db, access, current, account, now) : account.id;
    if (current.mailed) await markEmailVerified(db, user_id, now);
    await acceptInvitation(db, current, user_id, now);
    const after = { email: current.email, role: current.role, new_account: isNew };
    const change = { type: 'invitation.accepted' as const, target: { kind: 'invitation', id: current.id }, after };
    await auditVisitor(
      db,
      { visitor: access, person: { id: user_id, email: current.email }, change, workspace_id: current.workspace_id },
      now,
    );
    const body = await getAcceptedBody(db, current);
    if (!isNew) return body;
    const session = await createSession(db, deps, user_id, access, now);
    return withNotes(body, { headers: sessionCookie(session, deps.secureCookie) });
  });
}

interface NewAccount {
  readonly full_name: string;
  readonly password_hash: string;
}

/** A person without an account must send a name and a password. */
async function prepareNewAccount({ full_name, password }: Acceptance, client: HashingClient): Promise<NewAccount> {
  if (full_name !== undefined && password !== undefined)
    return { full_name, password_hash: await hashPassword(password, client) };
  const missing = Object.entries({ full_name, password }).filter(([, value]) => value === undefined);
  throw new ValidationError(missing.map(([field]) => ({ loc: ['body', field], msg: 'is required', type: 'missing' })));
}

/**
 * Creates the account. If someone else has already created it without verifying the address, the mail's recipient takes
 * it over.
 */
async function createAccount(
  db: Db,
  visitor: OptionalUserAccess,
  { email, mailed }: InvitationDetails,
  { full_name, password_hash }: NewAccount,
  now: Date,
): Promise<string> {
  await takeAdvisoryLock(db, `account of ${email}`);
  const existing = await findUserByEmail(db, email);
  const mayTakeOver = mailed && existing?.email_verified_at === null && existing.deactivated_at === null;
  if (existing !== undefined && !mayTakeOver) throw emailMismatch(); // another invitation has just created it
  const user_id = existing?.id ?? (await insertUser(db, { email, full_name, email_verified: mailed }, now));
  if (existing !== undefined) {
    await saveName(db, user_id, full_name, now);
    await claimAccount(db, visitor, existing, now);
  }
  await savePassword(db, user_id, password_hash, now);
  return user_id;
}

async function getAcceptedBody(db: Db, { workspace_id, workspace_name, plan, email }: InvitationDetails) {
  const member = await findMember(db, { workspace_id }, email);
  if (member === undefined) throw invitationNotFound();
  return {
    user: presentUser(await getUser(db, member.id)),
    workspace: { id: workspace_id, name: workspace_name, role: member.role, plan },
  };
}

const invitationNotFound = () =>
  new Problem(
    'not_found',
    'invitation_not_found',
    'Invitation not found. It was cancelled or replaced by a newer one. Use the link in the most recent e-mail, or ask for a new invitation.',
  );

const emailMismatch = () =>
  new Problem(
    'forbidden',
    'invitation_email_mismatch',
    'This invitation is for another account. Sign in with the e-mail address it was sent to, then accept it.',
  );
