// Owns how a person who was asked comes in: with a new account, or with the one they have (docs/contract.md §1.3).

import { auditVisitor } from '../../../core/audit/audit.ts';
import type { OptionalUserAccess } from '../../../core/auth/proofs.ts';
import { createSession, findUserByEmail, getUser, sessionCookie } from '../../../core/identity/accounts.ts';
import { acceptInvitation, findInvitationByToken, type InvitationDetails } from '../../../core/identity/invitations.ts';
import { findMember, withMembersLock } from '../../../core/identity/members.ts';
import { hashPassword, savePassword } from '../../../core/identity/passwords.ts';
import { presentUser } from '../../../core/identity/shapes.ts';
import { insertUser } from '../../../core/identity/users.ts';
import { takeAdvisoryLock } from '../../../kit/db/database.ts';
import { unchanged, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { Acceptance } from './contract.ts';
import type { InvitationDeps } from './invitation.ts';

export interface AcceptDeps extends InvitationDeps {
  /** True when the site is served over https: the cookie is then never sent without. */
  readonly secureCookie: boolean;
}

/** What a link leads to, while it is good. */
export async function findValidInvitation(
  db: Db,
  text: string,
  { mint }: InvitationDeps,
  now: Date,
): Promise<InvitationDetails | undefined> {
  const opened = await findInvitationByToken(db, text, mint.peppers);
  if (opened === undefined || opened.expires_at > now) return opened;
  throw new Problem('gone', 'invitation_expired', 'This invitation is older than 60 days. Ask for a new one.');
}

export type InvitationAccess = OptionalUserAccess & { readonly invitation: InvitationDetails };

export async function acceptByLink(
  db: Db,
  access: InvitationAccess,
  link: string,
  sent: Acceptance,
  deps: AcceptDeps,
  now: Date,
) {
  const { person, invitation } = access;
  if (person !== null && person.email !== invitation.email) throw emailMismatch();
  if (person === null && invitation.user_id !== null) throw emailMismatch();
  const newcomer = person === null ? await prepareNewAccount(sent) : undefined;
  return withMembersLock(db, invitation, async (db) => {
    const current = await findValidInvitation(db, link, deps, now);
    if (current === undefined) throw invitationNotFound(); // cancelled, or a new link was sent
    if (current.accepted_at !== null) {
      if (person?.id !== current.accepted_by) throw emailMismatch();
      return unchanged(await getAcceptedBody(db, current));
    }
    const user_id = newcomer === undefined ? (person?.id as string) : await createAccount(db, current, newcomer, now);
    await acceptInvitation(db, current, user_id, now);
    const after = { email: current.email, role: current.role, new_account: newcomer !== undefined };
    const change = { type: 'invitation.accepted', target: { kind: 'invitation', id: current.id }, after };
    await auditVisitor(db, access, { id: user_id, email: current.email }, change, now, current.workspace_id);
    const body = await getAcceptedBody(db, current);
    if (newcomer === undefined) return body;
    const session = await createSession(db, deps.mint, user_id, now);
    return withNotes(body, { headers: sessionCookie(session, deps.secureCookie) });
  });
}

interface NewAccount {
  readonly full_name: string;
  /** Hashed. */
  readonly password: string;
}

/** Whoever has no account yet must say who they are. */
async function prepareNewAccount({ full_name, password }: Acceptance): Promise<NewAccount> {
  if (full_name !== undefined && password !== undefined) return { full_name, password: await hashPassword(password) };
  const absent = Object.entries({ full_name, password }).filter(([, value]) => value === undefined);
  throw new ValidationError(absent.map(([field]) => ({ loc: ['body', field], msg: 'is required', type: 'missing' })));
}

async function createAccount(db: Db, { email }: InvitationDetails, newcomer: NewAccount, now: Date): Promise<string> {
  await takeAdvisoryLock(db, `account of ${email}`);
  if ((await findUserByEmail(db, email)) !== undefined) throw emailMismatch(); // made by another invitation meanwhile
  const user_id = await insertUser(db, { email, full_name: newcomer.full_name }, now);
  await savePassword(db, user_id, newcomer.password, now);
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

const invitationNotFound = () => notFound('invitation_not_found');

const emailMismatch = () =>
  new Problem(
    'forbidden',
    'invitation_email_mismatch',
    'Sign in as the person this invitation was sent to, then accept it.',
  );
