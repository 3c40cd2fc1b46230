// Starts a browser session for a person who has shown that they are the owner of an account: by its password, or by a link
// that was sent to its address.
import { auditVisitor } from '../../core/audit/audit.ts';
import type { Visitor } from '../../core/auth/proofs.ts';
import { createSession, type SessionDeps, sessionCookie } from '../../core/identity/accounts.ts';
import { describeBrowser } from '../../core/identity/browsers.ts';
import { isNewPlace } from '../../core/identity/sign-in-addresses.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit } from '../../kit/db/database.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { nameClient } from '../../kit/http/connection/client-address.ts';
import type { Db } from '../../tables.ts';
import type { UserRow } from './contract.ts';
import { insertSignInMail } from './store.ts';

interface StartDeps extends SessionDeps {
  readonly mail: Mail;
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** Returns the body with the cookie of the new session. */
export async function startSession<Body>(
  db: Db,
  deps: StartDeps,
  visitor: Visitor,
  { user, body }: { readonly user: UserRow; readonly body: Body },
  now: Date,
) {
  await reportNewPlace(db, deps, user, visitor, now); // must run before the new session makes the place known
  const token = await createSession(db, deps, user.id, visitor, now);
  await auditVisitor(
    db,
    { visitor, person: user, change: { type: 'auth.sign_in', target: { kind: 'user', id: user.id } } },
    now,
  );
  return withNotes(body, { headers: sessionCookie(token, deps.secureCookie) });
}

/** Notifies the user by e-mail if their address is verified. An unverified address may belong to someone else. */
async function reportNewPlace(db: Db, deps: StartDeps, user: UserRow, visitor: Visitor, now: Date): Promise<void> {
  if (!deps.mail.configured || user.email_verified_at === null) return;
  const browser = describeBrowser(visitor.user_agent);
  if (!(await isNewPlace(db, user, { ip: visitor.ip, browser }, deps.tokenKeys.peppers, now))) return;
  await insertSignInMail(db, user.id, { address: nameClient(visitor.ip), browser }, now);
  afterCommit(db, () => deps.wake.notify('sign_in_mails'));
}
