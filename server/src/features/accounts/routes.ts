// Owns the HTTP contract of accounts: coming in, being someone, and the credentials one hands out.
import { z } from 'zod';
import { open, reading } from '../../access/accepted.ts';
import { getUser, isInitialised, listWorkspacesOf } from '../../access/accounts.ts';
import { auditSelf } from '../../access/audit.ts';
import { perMinute } from '../../access/limits.ts';
import type { SelfAccess } from '../../access/proofs.ts';
import { anyone, self, selfInWorkspace, unlimitedToken, within, workspaceAs } from '../../access/reach.ts';
import { type Route, route } from '../../access/route.ts';
import { transaction } from '../../kit/db/database.ts';
import { noted } from '../../kit/http/answer.ts';
import { media } from '../../kit/http/operation.ts';
import { Success } from '../../kit/http/shapes.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  ApiKey,
  CreatedToken,
  CreatedWorkspaceKey,
  ForgottenPassword,
  Me,
  MeChange,
  NewToken,
  NewWorkspaceKey,
  PasswordChange,
  PasswordReset,
  presentApiKey,
  presentToken,
  presentUser,
  presentWorkspaceKey,
  SetUp,
  SetUpDone,
  Setup,
  SignedIn,
  SignIn,
  Token,
  TokenChange,
  User,
  WorkspaceKey,
  WorkspaceKeyChange,
  WorkspaceToken,
} from './contract.ts';
import { resetPasswordPage, resetPasswordPolicy } from './pages.ts';
import { changePassword, forgotPassword, type PasswordParts, resetPassword } from './password.ts';
import { type SignInParts, setUp, signIn, signOut } from './sign-in.ts';
import {
  findApiKey,
  findToken,
  findWorkspaceKey,
  findWorkspaceToken,
  listApiKeys,
  listTokens,
  listWorkspaceKeys,
  listWorkspaceTokens,
  saveName,
} from './store.ts';
import {
  changeWorkspaceKey,
  createToken,
  createWorkspaceKey,
  endApiKey,
  renameToken,
  revokeToken,
  revokeWorkspaceKey,
} from './tokens.ts';

export type AccountParts = SignInParts & PasswordParts;

const bySession = { session: true } as const;
const bySessionOrToken = { session: true, token: 'full_access' } as const;

export const accountRoutes = (parts: AccountParts): Route[] => [
  ...comingIn(parts),
  ...beingSomeone,
  ...tokens(parts),
  ...workspaceCredentials(parts),
];

const comingIn = (parts: AccountParts): Route[] => [
  route({
    name: 'getSetup',
    method: 'GET',
    path: '/api/setup',
    origin: 'N',
    summary: 'Has this installation been set up?',
    credentials: open,
    access: anyone,
    limit: perMinute(30, 'address'),
    answers: { 200: Setup },
    handle: async ({ db }) => ({ initialised: await isInitialised(db) }),
  }),
  route({
    name: 'setUp',
    method: 'POST',
    path: '/api/setup',
    origin: 'N',
    summary: 'Make the first person and workspace',
    description: 'Once per installation, with the set-up token that the server’s first start prints to its log.',
    credentials: open,
    access: anyone,
    limit: perMinute(5, 'address'),
    body: SetUp,
    audits: ['workspace.created'],
    answers: { 200: SetUpDone },
    refusals: [
      { status: 401, code: 'credentials_invalid' },
      { status: 409, code: 'already_initialised' },
    ],
    handle: ({ db, access, body, now }) => setUp(db, access, body, parts, now),
  }),
  route({
    name: 'signIn',
    method: 'POST',
    path: '/api/auth/sign-in',
    origin: 'N',
    summary: 'Sign in with e-mail and password; begins a browser session',
    description:
      'Five failures for one address and e-mail in 15 minutes, or two tries for one e-mail within 5 seconds, answer 429.',
    credentials: open,
    access: anyone,
    limit: perMinute(60, 'address'),
    body: SignIn,
    audits: ['auth.sign_in', 'auth.sign_in.failed'],
    answers: { 200: SignedIn },
    refusals: [{ status: 401, code: 'sign_in_failed' }],
    handle: ({ db, access, body, now }) => signIn(db, access, body, parts, now),
  }),
  route({
    name: 'signOut',
    method: 'POST',
    path: '/api/auth/sign-out',
    origin: 'N',
    summary: 'End this browser session',
    credentials: bySession,
    access: self,
    limit: perMinute(60, 'caller'),
    audits: ['auth.sign_out'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => signOut(db, access, now),
  }),
  route({
    name: 'forgotPassword',
    method: 'POST',
    path: '/api/auth/password/forgot',
    origin: 'N',
    summary: 'Send a link that sets a new password',
    description: 'Answers the same whether or not the address has an account.',
    credentials: open,
    access: anyone,
    limit: perMinute(5, 'address'),
    body: ForgottenPassword,
    audits: ['auth.password_reset_asked'],
    answers: { 200: Success },
    handle: ({ db, access, body, now }) => forgotPassword(db, access, body.email, parts, now),
  }),
  route({
    name: 'resetPasswordPage',
    method: 'GET',
    path: '/reset-password',
    origin: 'N',
    summary: 'The page that the link in the mail leads to',
    credentials: open,
    access: anyone,
    limit: perMinute(60, 'address'),
    answers: { 200: media('text/html; charset=utf-8', 'a page') },
    handle: () => noted(resetPasswordPage, { headers: { 'content-security-policy': resetPasswordPolicy } }),
  }),
  route({
    name: 'resetPassword',
    method: 'POST',
    path: '/api/auth/password/reset',
    origin: 'N',
    summary: 'Set a new password with the link from the mail',
    description: 'The link works once, for an hour. All browser sessions of the person end; tokens stay.',
    credentials: open,
    access: anyone,
    limit: perMinute(5, 'address'),
    body: PasswordReset,
    audits: ['auth.password_reset'],
    answers: { 200: Success },
    refusals: [{ status: 410, code: 'reset_link_expired' }],
    handle: ({ db, access, body, now }) => resetPassword(db, access, body, parts, now),
  }),
];

const beingSomeone: Route[] = [
  route({
    name: 'getMe',
    method: 'GET',
    path: '/api/auth/me',
    origin: 'N',
    summary: 'Who am I, by which credential, and in which workspaces?',
    credentials: reading,
    access: self,
    limit: perMinute(300, 'caller'),
    answers: { 200: Me },
    handle: ({ db, access }) => describeMe(db, access),
  }),
  route({
    name: 'updateMe',
    method: 'PATCH',
    path: '/api/auth/me',
    origin: 'N',
    summary: 'Change my name',
    credentials: bySessionOrToken,
    access: self,
    limit: perMinute(30, 'caller'),
    body: MeChange,
    audits: ['auth.profile_changed'],
    answers: { 200: User },
    handle: ({ db, access, body, now }) => changeMe(db, access, body.full_name, now),
  }),
  route({
    name: 'changePassword',
    method: 'POST',
    path: '/api/auth/password',
    origin: 'N',
    summary: 'Change my password; my other browser sessions end',
    credentials: bySession,
    access: self,
    limit: perMinute(5, 'user', { scaledBy: 'never' }),
    body: PasswordChange,
    audits: ['auth.password_changed'],
    answers: { 200: Success },
    refusals: [{ status: 401, code: 'sign_in_failed' }],
    handle: ({ db, access, body, now }) => changePassword(db, access, body, now),
  }),
];

const ownToken = within(selfInWorkspace, 'token', findToken);
const ownKey = within(self, 'key', findApiKey);

const tokens = ({ mint }: AccountParts): Route[] => [
  route({
    name: 'listTokens',
    method: 'GET',
    path: '/api/auth/tokens',
    origin: 'N',
    summary: 'List my personal access tokens in the workspace',
    credentials: bySessionOrToken,
    access: selfInWorkspace,
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(Token) },
    handle: async ({ db, access, now }) => (await listTokens(db, access, now)).map(presentToken),
  }),
  route({
    name: 'createToken',
    method: 'POST',
    path: '/api/auth/tokens',
    origin: 'R',
    summary: 'Create a personal access token',
    description:
      'The text is in this answer only. A token made by a token can reach no more, do no more and live no longer than it.',
    credentials: bySessionOrToken,
    access: selfInWorkspace,
    limit: perMinute(20, 'user'),
    idempotency: 'optional',
    shownOnce: ['token'],
    body: NewToken,
    audits: ['token.created'],
    answers: { 200: CreatedToken },
    refusals: [
      { status: 403, code: 'token_wider_than_parent' },
      { status: 404, code: 'app_not_found' },
      { status: 409, code: 'limit_reached' },
    ],
    handle: ({ db, access, body, now }) => createToken(db, access, body, mint, now),
  }),
  route({
    name: 'updateToken',
    method: 'PATCH',
    path: '/api/auth/tokens/{token_id}',
    origin: 'N',
    summary: 'Rename one of my tokens',
    credentials: bySessionOrToken,
    access: ownToken,
    limit: perMinute(60, 'caller'),
    body: TokenChange,
    audits: ['token.renamed'],
    answers: { 200: Token },
    handle: ({ db, access, body, now }) => renameToken(db, access, body.name, now),
  }),
  route({
    name: 'revokeToken',
    method: 'DELETE',
    path: '/api/auth/tokens/{token_id}',
    origin: 'N',
    summary: 'Revoke one of my tokens, and those made by it',
    credentials: bySessionOrToken,
    access: ownToken,
    limit: perMinute(60, 'caller'),
    audits: ['token.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeToken(db, access, now),
  }),
  route({
    name: 'listApiKeys',
    method: 'GET',
    path: '/api/auth/api-keys',
    origin: 'N',
    summary: 'List my personal API keys',
    credentials: bySessionOrToken,
    access: self,
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(ApiKey) },
    handle: async ({ db, access, now }) => (await listApiKeys(db, access, now)).map(presentApiKey),
  }),
  route({
    name: 'createApiKey',
    method: 'POST',
    path: '/api/auth/api-keys',
    origin: 'R',
    summary: 'Retired: create a personal access token instead',
    credentials: bySessionOrToken,
    access: { ...self, needs: '– (410)' },
    limit: perMinute(60, 'caller'),
    audits: 'nothing',
    answers: {},
    refusals: [{ status: 410, code: 'api_keys_retired' }],
    handle: () => {
      throw new Problem(
        'gone',
        'api_keys_retired',
        'Personal API keys can no longer be created. Create a personal access token.',
      );
    },
  }),
  route({
    name: 'revokeApiKey',
    method: 'DELETE',
    path: '/api/auth/api-keys/{key_id}',
    origin: 'N',
    summary: 'Revoke one of my personal API keys',
    credentials: bySessionOrToken,
    access: ownKey,
    limit: perMinute(60, 'caller'),
    audits: ['api_key.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => endApiKey(db, access, now),
  }),
];

const admin = unlimitedToken(workspaceAs('admin'));
const workspaceToken = within(admin, 'token', findWorkspaceToken);
const workspaceKey = within(admin, 'key', findWorkspaceKey);

const workspaceCredentials = ({ mint }: AccountParts): Route[] => [
  route({
    name: 'listWorkspaceTokens',
    method: 'GET',
    path: '/api/workspace/tokens',
    origin: 'N',
    summary: 'List every member’s tokens in the workspace, never their text',
    credentials: bySessionOrToken,
    access: workspaceAs('admin'),
    limit: perMinute(60, 'workspace'),
    answers: { 200: z.array(WorkspaceToken) },
    handle: async ({ db, access, now }) =>
      (await listWorkspaceTokens(db, access, now)).map((row) => ({
        ...presentToken(row),
        owner_email: row.owner_email,
      })),
  }),
  route({
    name: 'revokeWorkspaceToken',
    method: 'DELETE',
    path: '/api/workspace/tokens/{token_id}',
    origin: 'N',
    summary: 'Revoke a member’s token, and those made by it',
    credentials: bySessionOrToken,
    access: workspaceToken,
    limit: perMinute(60, 'workspace'),
    audits: ['token.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeToken(db, access, now),
  }),
  route({
    name: 'listWorkspaceKeys',
    method: 'GET',
    path: '/api/workspace/api-keys',
    origin: 'N',
    summary: 'List the workspace’s API keys',
    credentials: bySessionOrToken,
    access: workspaceAs('admin'),
    limit: perMinute(60, 'workspace'),
    answers: { 200: z.array(WorkspaceKey) },
    handle: async ({ db, access, now }) => (await listWorkspaceKeys(db, access, now)).map(presentWorkspaceKey),
  }),
  route({
    name: 'createWorkspaceKey',
    method: 'POST',
    path: '/api/workspace/api-keys',
    origin: 'N',
    summary: 'Create a workspace API key',
    description:
      'It acts for the workspace by its scopes, for no person, and survives whoever made it. The text is in this answer only.',
    credentials: bySessionOrToken,
    access: admin,
    limit: perMinute(10, 'workspace'),
    idempotency: 'optional',
    shownOnce: ['token'],
    body: NewWorkspaceKey,
    audits: ['workspace_key.created'],
    answers: { 200: CreatedWorkspaceKey },
    refusals: [
      { status: 404, code: 'app_not_found' },
      { status: 409, code: 'limit_reached' },
    ],
    handle: ({ db, access, body, now }) => createWorkspaceKey(db, access, body, mint, now),
  }),
  route({
    name: 'updateWorkspaceKey',
    method: 'PATCH',
    path: '/api/workspace/api-keys/{key_id}',
    origin: 'N',
    summary: 'Change a workspace key’s name or description; its scopes are fixed',
    credentials: bySessionOrToken,
    access: workspaceKey,
    limit: perMinute(60, 'workspace'),
    body: WorkspaceKeyChange,
    audits: ['workspace_key.updated'],
    answers: { 200: WorkspaceKey },
    handle: ({ db, access, body, now }) => changeWorkspaceKey(db, access, body, now),
  }),
  route({
    name: 'revokeWorkspaceKey',
    method: 'DELETE',
    path: '/api/workspace/api-keys/{key_id}',
    origin: 'N',
    summary: 'Revoke a workspace key',
    credentials: bySessionOrToken,
    access: workspaceKey,
    limit: perMinute(60, 'workspace'),
    audits: ['workspace_key.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeWorkspaceKey(db, access, now),
  }),
];

async function describeMe(db: Db, access: SelfAccess) {
  const { caller } = access;
  const workspaces = await listWorkspacesOf(db, access);
  return {
    user: presentUser(await getUser(db, caller.user_id as string)),
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

async function changeMe(db: Db, access: SelfAccess, full_name: string | undefined, now: Date) {
  const before = await getUser(db, access.caller.user_id as string);
  return transaction(db, async (db) => {
    const user = await saveName(db, access, full_name ?? before.full_name, now);
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
