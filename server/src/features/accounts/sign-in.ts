// The initial setup, and signing in and out (docs/api/accounts.md#sign-in).
import { timingSafeEqual } from 'node:crypto';
import { auditSelf, auditVisitor } from '../../core/audit/audit.ts';
import type { Plan } from '../../core/auth/plans.ts';
import type { SelfAccess, Visitor } from '../../core/auth/proofs.ts';
import type { Counters } from '../../core/auth/rate-limits/counters.ts';
import { removeSessionCookie } from '../../core/auth/session-cookie.ts';
import {
  createSession,
  endSession,
  getCallingUser,
  getUser,
  hashOneTimeToken,
  isInitialised,
  listWorkspacesOf,
  type SessionDeps,
  sessionCookie,
} from '../../core/identity/accounts.ts';
import {
  findPassword,
  hashPassword,
  isMatchingPassword,
  lockPasswordIfUnchanged,
  savePassword,
} from '../../core/identity/passwords.ts';
import { presentUser } from '../../core/identity/shapes.ts';
import { isKnownAddress } from '../../core/identity/sign-in-addresses.ts';
import { countFailedTry, nameAccount, refuseRepeatedTries } from '../../core/identity/sign-in-tries.ts';
import { insertUser, insertWorkspace } from '../../core/identity/users.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { SetupInput } from './contract.ts';
import { startSession } from './session-start.ts';
import { findSetupToken, removeSetupTokens } from './store.ts';

export interface SignInDeps extends SessionDeps {
  readonly counters: Counters;
  /** Set in the environment. If undefined, the API prints a token at startup and stores its hash in the database. */
  readonly setupToken: string | undefined;
  readonly defaultPlan: Plan;
  readonly mail: Mail;
  readonly wake: Pick<WakeUps, 'notify'>;
}

export async function setUp(db: Db, deps: SignInDeps, visitor: Visitor, input: SetupInput, now: Date) {
  await refuseSetUp(db, deps, input); // checked first, because hashing is expensive
  const password = await hashPassword(input.password, visitor);
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, 'first set-up');
    await refuseSetUp(db, deps, input);
    const { email, full_name } = input;
    const operator = { email, full_name, is_operator: true, email_verified: true };
    const user_id = await insertUser(db, operator, now);
    await savePassword(db, user_id, password, now);
    const workspace_id = await insertWorkspace(
      db,
      { name: input.workspace_name, plan: deps.defaultPlan, owner_id: user_id },
      now,
    );
    await removeSetupTokens(db);
    const change = {
      type: 'workspace.created' as const,
      target: { kind: 'workspace', id: workspace_id },
      after: { name: input.workspace_name },
    };
    await auditVisitor(db, { visitor, person: { id: user_id, email: input.email }, change, workspace_id }, now);
    const user = await getUser(db, user_id);
    const workspace = { id: workspace_id, name: input.workspace_name, role: 'owner' as const, plan: deps.defaultPlan };
    return answerWithSession(
      { user: presentUser(user), workspace },
      await createSession(db, deps, user_id, visitor, now),
      deps,
    );
  });
}

async function refuseSetUp(db: Db, deps: SignInDeps, { setup_token }: SetupInput): Promise<void> {
  if (await isInitialised(db))
    throw new Problem(
      'conflict',
      'already_initialised',
      'This installation has already been set up. Sign in instead.',
      { retrySafe: false },
    );
  if (!(await isSetupToken(db, deps, setup_token)))
    throw unauthenticated(
      'credentials_invalid',
      'The setup token is wrong. Use the value of PLINTH_SETUP_TOKEN, or the token that the API printed to its log at startup.',
    );
}

async function isSetupToken(db: Db, { setupToken, tokenKeys }: SignInDeps, text: string): Promise<boolean> {
  const [pepper] = tokenKeys.peppers;
  const hash = hashOneTimeToken(text, pepper);
  if (setupToken !== undefined && timingSafeEqual(hash, hashOneTimeToken(setupToken, pepper))) return true;
  return (await findSetupToken(db, hash)) !== undefined;
}

/** Every failure returns the same response and takes the same time, so accounts can't be enumerated. */
export async function signIn(
  db: Db,
  deps: SignInDeps,
  visitor: Visitor,
  input: { email: string; password: string },
  now: Date,
) {
  const email = input.email.trim().toLowerCase();
  const isKnown = await isKnownAddress(db, visitor.ip, deps.tokenKeys.peppers, now);
  const tried = { email, ip: visitor.ip, isKnownAddress: isKnown };
  await refuseRepeatedTries(deps.counters, tried);
  const stored = await findPassword(db, email);
  if (!(await isMatchingPassword(input.password, stored?.hash, visitor)) || stored === undefined) {
    await countFailedTry(deps.counters, tried);
    await auditVisitor(
      db,
      {
        visitor,
        person: null,
        change: { type: 'auth.sign_in.failed', target: { kind: 'user', id: nameAccount(email) } },
      },
      now,
    );
    throw wrongEmailOrPassword();
  }
  return transaction(db, async (db) => {
    // If the password was changed during the check, the caller sent the old one.
    if (!(await lockPasswordIfUnchanged(db, stored.user_id, stored.hash))) throw wrongEmailOrPassword();
    const user = await getUser(db, stored.user_id);
    const memberships = await listWorkspacesOf(db, { user_id: user.id, workspace_id: null });
    const workspaces = memberships.map(({ id, name, role, plan }) => ({ id, name, role, plan }));
    return startSession(db, deps, visitor, { user, body: { user: presentUser(user), workspaces } }, now);
  });
}

export async function signOut(db: Db, deps: Pick<SessionDeps, 'secureCookie'>, access: SelfAccess, now: Date) {
  const { id } = getCallingUser(access);
  return transaction(db, async (db) => {
    await endSession(db, id, access.caller.credential_id);
    await auditSelf(db, access, { type: 'auth.sign_out', target: { kind: 'user', id } }, now);
    return withNotes({ success: true } as const, { headers: removeSessionCookie(deps.secureCookie) });
  });
}

function answerWithSession<Body>(body: Body, token: string, { secureCookie }: SignInDeps) {
  return withNotes(body, { headers: sessionCookie(token, secureCookie) });
}

const wrongEmailOrPassword = () =>
  unauthenticated('sign_in_failed', 'The e-mail address or password is wrong. Check both, or reset the password.');

const unauthenticated = (code: string, message: string) => new Problem('unauthenticated', code, message);
