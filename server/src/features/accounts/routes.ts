// The routes for setup, sign-in, passwords and the caller's profile. Session routes are in session-routes.ts,
// token and key routes in token-routes.ts, logins of programs in device, and operator routes in operator-routes.ts.

import type { IncomingHttpHeaders } from 'node:http';
import { auditSelf } from '../../core/audit/audit.ts';
import { open, readCredentials, sessionOnly, sessionOrToken } from '../../core/auth/credentials.ts';
import { anyone, anyoneHere } from '../../core/auth/guards/visitor.ts';
import { self } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import type { SelfAccess } from '../../core/auth/proofs.ts';
import { type Route, route } from '../../core/auth/route.ts';
import {
  getCallingUser,
  getUser,
  isInitialised,
  listWorkspacesOf,
  lockUser,
  saveName,
} from '../../core/identity/accounts.ts';
import { presentUser, User } from '../../core/identity/shapes.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Answer } from '../../kit/http/answer.ts';
import { unchanged } from '../../kit/http/answer.ts';
import type { Cursors } from '../../kit/http/cursor.ts';
import { media } from '../../kit/http/operation.ts';
import { answerWithPage } from '../../kit/http/page/page.ts';
import { Success } from '../../kit/http/shapes.ts';
import type { Db } from '../../tables.ts';
import {
  Me,
  MeChange,
  PasswordChange,
  PasswordReset,
  PasswordResetRequest,
  SetupInput,
  SetupResult,
  SetupStatus,
  SignInInput,
  SignInResult,
} from './contract.ts';
import { deviceRoutes } from './device/routes.ts';
import { operatorRoutes } from './operator-routes.ts';
import { landingPage } from './pages/landing.ts';
import { resetPasswordPage } from './pages/reset-password.ts';
import { changePassword, forgotPassword, type PasswordDeps, resetPassword } from './password.ts';
import { sessionRoutes } from './session-routes.ts';
import { type SignInDeps, setUp, signIn, signOut } from './sign-in.ts';
import { tokenRoutes } from './token-routes.ts';

export type AccountDeps = SignInDeps &
  PasswordDeps & {
    readonly cursors: Cursors;
    /** Responds with the page of the console. Undefined if the console is not served. */
    readonly answerWithConsole: ((headers: IncomingHttpHeaders) => Answer<Buffer>) | undefined;
  };

export const accountRoutes = (deps: AccountDeps): Route[] => [
  ...signInRoutes(deps),
  ...pageRoutes(deps),
  ...profileRoutes,
  ...sessionRoutes(deps),
  ...tokenRoutes(deps.tokenKeys),
  ...deviceRoutes(deps),
  ...operatorRoutes(deps.cursors),
];

const signInRoutes = (deps: AccountDeps): Route[] => [
  route({
    name: 'getSetup',
    method: 'GET',
    path: '/api/setup',
    summary: 'Check whether the installation has been set up',
    credentials: open,
    access: anyone,
    limit: perMinute(30, 'address'),
    answers: { 200: SetupStatus },
    handle: async ({ db }) => ({ initialised: await isInitialised(db) }),
  }),
  route({
    name: 'setUp',
    headers: ['Set-Cookie'],
    method: 'POST',
    path: '/api/setup',
    summary: 'Create the first user and workspace',
    description:
      'Works once per installation, with the setup token that the API prints to its log at startup. The user becomes an operator.',
    credentials: open,
    access: { ...anyoneHere, needs: 'setup token' },
    limit: perMinute(5, 'address'),
    body: SetupInput,
    audits: ['workspace.created'],
    answers: { 200: SetupResult },
    refusals: [
      { status: 401, code: 'credentials_invalid' },
      { status: 409, code: 'already_initialised' },
    ],
    handle: ({ db, access, body, now }) => setUp(db, deps, access, body, now),
  }),
  route({
    name: 'signIn',
    headers: ['Set-Cookie'],
    method: 'POST',
    path: '/api/auth/sign-in',
    summary: 'Sign in with e-mail address and password to start a browser session',
    description:
      'Returns 429 after five failures for the same e-mail and IP address within 15 minutes, and to a second attempt for the same e-mail address within 5 seconds. For an IP address from which somebody has signed in before, only attempts from that address count.',
    credentials: open,
    access: anyoneHere,
    limit: perMinute(60, 'address'),
    work: 'reserved',
    body: SignInInput,
    audits: ['auth.sign_in', 'auth.sign_in.failed'],
    answers: { 200: SignInResult },
    refusals: [{ status: 401, code: 'sign_in_failed' }],
    handle: ({ db, access, body, now }) => signIn(db, deps, access, body, now),
  }),
  route({
    name: 'signOut',
    headers: ['Set-Cookie'],
    method: 'POST',
    path: '/api/auth/sign-out',
    summary: 'End this browser session',
    credentials: sessionOnly,
    access: self,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['auth.sign_out'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => signOut(db, deps, access, now),
  }),
  route({
    name: 'forgotPassword',
    method: 'POST',
    path: '/api/auth/password/forgot',
    summary: 'Request a password reset mail',
    description:
      'The response is the same whether or not the address has an account. Without a mail server no mail is sent, and the response has `X-Warning: reset_mail_off`.',
    needsWorker: true,
    credentials: open,
    access: anyone,
    limit: perMinute(5, 'address'),
    body: PasswordResetRequest,
    audits: ['auth.password_reset_asked'],
    answers: { 200: Success },
    handle: ({ db, access, body, now }) => forgotPassword(db, deps, access, body.email, now),
  }),
  route({
    name: 'resetPassword',
    headers: ['Set-Cookie'],
    method: 'POST',
    path: '/api/auth/password/reset',
    summary: 'Set a new password with the token from the reset link',
    description:
      'The link works once, for one hour, and verifies the e-mail address. All browser sessions of the user end, and a new one is started; tokens and keys stay valid, unless the address was not verified before.',
    credentials: open,
    access: anyoneHere,
    limit: perMinute(5, 'address'),
    body: PasswordReset,
    repeat: 'safe',
    audits: ['auth.password_reset', 'auth.sign_in', 'token.revoked'],
    answers: { 200: Success },
    refusals: [{ status: 410, code: 'reset_link_expired' }],
    handle: ({ db, access, body, now }) => resetPassword(db, deps, access, body, now),
  }),
];

const page = media('text/html; charset=utf-8', 'HTML page');

const pageRoutes = ({ answerWithConsole }: AccountDeps): Route[] => [
  route({
    name: 'landingPage',
    method: 'GET',
    path: '/',
    summary: 'Show the start page: the console, or if it is not served, sign-in, first steps and a form for a token',
    credentials: open,
    access: anyone,
    limit: perMinute(300, 'address', { group: 'console' }),
    headers: ['ETag'],
    answers: { 200: page, 304: media('application/octet-stream', 'Not modified since this `ETag`') },
    handle: ({ headers }) => answerWithConsole?.(headers) ?? answerWithPage(landingPage),
  }),
  route({
    name: 'resetPasswordPage',
    method: 'GET',
    path: '/reset-password',
    summary: 'Show the page that the password reset mail links to',
    credentials: open,
    access: anyone,
    limit: perMinute(60, 'address'),
    answers: { 200: page },
    handle: () => answerWithPage(resetPasswordPage),
  }),
];

const profileRoutes: Route[] = [
  route({
    name: 'getMe',
    method: 'GET',
    path: '/api/auth/me',
    summary: 'Read the calling user, credential and workspaces',
    credentials: readCredentials,
    access: self,
    limit: perMinute(300, 'caller'),
    answers: { 200: Me },
    handle: ({ db, access }) => describeMe(db, access),
  }),
  route({
    name: 'updateMe',
    method: 'PATCH',
    path: '/api/auth/me',
    summary: "Change the caller's name",
    credentials: sessionOrToken,
    access: self,
    limit: perMinute(30, 'caller'),
    body: MeChange,
    idempotency: 'optional',
    audits: ['auth.profile_changed'],
    answers: { 200: User },
    handle: ({ db, access, body, now }) => updateMe(db, access, body.full_name, now),
  }),
  route({
    name: 'changePassword',
    method: 'POST',
    path: '/api/auth/password',
    summary: "Change the caller's password; their other browser sessions end",
    credentials: sessionOnly,
    access: self,
    limit: perMinute(5, 'user', { scaledBy: 'never' }),
    body: PasswordChange,
    repeat: 'safe',
    audits: { sometimes: ['auth.password_changed'] },
    answers: { 200: Success },
    refusals: [{ status: 401, code: 'sign_in_failed' }],
    handle: ({ db, access, body, now }) => changePassword(db, access, body, now),
  }),
];

async function describeMe(db: Db, access: SelfAccess) {
  const { caller } = access;
  const workspaces = await listWorkspacesOf(db, access.caller);
  return {
    user: presentUser(await getUser(db, getCallingUser(access).id)),
    credential: {
      kind: caller.kind,
      id: caller.credential_id,
      permission: caller.permission,
      app_ids: caller.app_ids === null ? null : [...caller.app_ids],
      workspace_id: caller.workspace_id,
      expires_at: caller.expires_at?.toISOString() ?? null,
    },
    workspaces: workspaces.map(({ id, name, role, plan }) => ({ id, name, role, plan })),
  };
}

async function updateMe(db: Db, access: SelfAccess, full_name: string | undefined, now: Date) {
  return transaction(db, async (db) => {
    const before = await lockUser(db, getCallingUser(access).id);
    if (full_name === undefined || full_name === before.full_name) return unchanged(presentUser(before));
    const user = await saveName(db, before.id, full_name, now);
    const change = { before: { full_name: before.full_name }, after: { full_name: user.full_name } };
    await auditSelf(
      db,
      access,
      { type: 'auth.profile_changed', target: { kind: 'user', id: user.id }, ...change },
      now,
    );
    return presentUser(user);
  });
}
