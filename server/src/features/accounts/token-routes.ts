// The routes for personal access tokens, personal API keys and workspace keys.
import { z } from 'zod';
import { sessionOrToken } from '../../core/auth/credentials.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { self, selfInWorkspace, unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { TokenKeys } from '../../core/identity/users.ts';
import { Success } from '../../kit/http/shapes.ts';
import { Problem } from '../../kit/problem.ts';
import {
  ApiKey,
  CreatedToken,
  CreatedWorkspaceKey,
  NewToken,
  NewWorkspaceKey,
  presentApiKey,
  presentToken,
  presentWorkspaceKey,
  Token,
  TokenChange,
  WorkspaceKey,
  WorkspaceKeyChange,
  WorkspaceToken,
} from './contract.ts';
import {
  findApiKey,
  findToken,
  findWorkspaceKey,
  findWorkspaceToken,
  listApiKeys,
  listTokens,
  listWorkspaceKeys,
  listWorkspaceTokens,
} from './store.ts';
import {
  changeWorkspaceKey,
  createToken,
  createWorkspaceKey,
  renameToken,
  revokeApiKey,
  revokeToken,
  revokeWorkspaceKey,
} from './tokens.ts';

export const tokenRoutes = (tokenKeys: TokenKeys): Route[] => [
  ...personalRoutes(tokenKeys),
  ...workspaceCredentialRoutes(tokenKeys),
];

const ownTokenGuard = nestedResource(unlimitedToken(selfInWorkspace), 'token', findToken);
const ownApiKeyGuard = nestedResource(unlimitedToken(self), 'key', findApiKey);

const personalRoutes = (tokenKeys: TokenKeys): Route[] => [
  route({
    name: 'listTokens',
    method: 'GET',
    path: '/api/auth/tokens',
    summary: "List the caller's personal access tokens in the workspace",
    credentials: sessionOrToken,
    access: selfInWorkspace,
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(Token) },
    handle: async ({ db, access, now }) => (await listTokens(db, access, now)).map(presentToken),
  }),
  route({
    name: 'createToken',
    method: 'POST',
    path: '/api/auth/tokens',
    summary: 'Create a personal access token',
    description:
      "Only this response contains the token. A token created with another token can't have more apps, a higher permission or a later expiry than that token.",
    credentials: sessionOrToken,
    access: selfInWorkspace,
    limit: perMinute(20, 'user'),
    idempotency: 'optional',
    secretFields: ['token'],
    body: NewToken,
    audits: ['token.created'],
    answers: { 200: CreatedToken },
    refusals: [
      { status: 403, code: 'token_wider_than_parent' },
      { status: 404, code: 'app_not_found' },
      { status: 409, code: 'limit_reached' },
    ],
    handle: ({ db, access, body, now }) => createToken(db, access, body, tokenKeys, now),
  }),
  route({
    name: 'updateToken',
    method: 'PATCH',
    path: '/api/auth/tokens/{token_id}',
    summary: "Rename one of the caller's tokens",
    credentials: sessionOrToken,
    access: ownTokenGuard,
    limit: perMinute(60, 'caller'),
    body: TokenChange,
    idempotency: 'optional',
    audits: ['token.renamed'],
    answers: { 200: Token },
    handle: ({ db, access, body, now }) => renameToken(db, access, body.name, now),
  }),
  route({
    name: 'revokeToken',
    method: 'DELETE',
    path: '/api/auth/tokens/{token_id}',
    summary: "Revoke one of the caller's tokens and all tokens and keys created with it",
    credentials: sessionOrToken,
    access: ownTokenGuard,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['token.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeToken(db, access, now),
  }),
  route({
    name: 'listApiKeys',
    deprecated: true,
    method: 'GET',
    path: '/api/auth/api-keys',
    summary: "List the caller's personal API keys",
    credentials: sessionOrToken,
    access: self,
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(ApiKey) },
    handle: async ({ db, access, now }) => (await listApiKeys(db, access, now)).map(presentApiKey),
  }),
  route({
    name: 'createApiKey',
    deprecated: true,
    method: 'POST',
    path: '/api/auth/api-keys',
    summary: 'Create a personal API key (retired); create a personal access token instead',
    credentials: sessionOrToken,
    access: { ...self, needs: 'none' },
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: 'nothing',
    answers: {},
    refusals: [{ status: 410, code: 'api_keys_retired' }],
    handle: () => {
      throw new Problem(
        'gone',
        'api_keys_retired',
        'Personal API keys can no longer be created. Create a personal access token instead.',
      );
    },
  }),
  route({
    name: 'revokeApiKey',
    deprecated: true,
    method: 'DELETE',
    path: '/api/auth/api-keys/{key_id}',
    parameterTexts: {
      key_id: { text: 'The id of the personal API key.', example: '0198c1f5-9d04-7b6c-8e21-3fa0d7c5b916' },
    },
    summary: "Revoke one of the caller's personal API keys",
    credentials: sessionOrToken,
    access: ownApiKeyGuard,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['api_key.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeApiKey(db, access, now),
  }),
];

const adminGuard = unlimitedToken(workspaceAs('admin'));
const workspaceTokenGuard = nestedResource(adminGuard, 'token', findWorkspaceToken);
const workspaceKeyGuard = nestedResource(adminGuard, 'key', findWorkspaceKey);

const workspaceCredentialRoutes = (tokenKeys: TokenKeys): Route[] => [
  route({
    name: 'listWorkspaceTokens',
    method: 'GET',
    path: '/api/workspace/tokens',
    summary: 'List the personal access tokens of all members',
    credentials: sessionOrToken,
    access: adminGuard,
    limit: perMinute(60, 'workspace'),
    work: 'slow',
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
    summary: "Revoke a member's token and all tokens and keys created with it",
    credentials: sessionOrToken,
    access: workspaceTokenGuard,
    limit: perMinute(60, 'workspace'),
    repeat: 'safe',
    audits: ['token.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeToken(db, access, now),
  }),
  route({
    name: 'listWorkspaceKeys',
    method: 'GET',
    path: '/api/workspace/api-keys',
    summary: 'List the workspace keys',
    credentials: sessionOrToken,
    access: adminGuard,
    limit: perMinute(60, 'workspace'),
    answers: { 200: z.array(WorkspaceKey) },
    handle: async ({ db, access, now }) => (await listWorkspaceKeys(db, access, now)).map(presentWorkspaceKey),
  }),
  route({
    name: 'createWorkspaceKey',
    method: 'POST',
    path: '/api/workspace/api-keys',
    summary: 'Create a workspace key, for a program that acts for the workspace',
    description:
      "The key acts for the workspace within its scopes, not for a user. If it is created in a session, it stays valid when its creator leaves. If it is created with a token, it can't outlive the token. Only this response contains the key.",
    credentials: sessionOrToken,
    access: adminGuard,
    limit: perMinute(10, 'workspace'),
    idempotency: 'optional',
    secretFields: ['token'],
    body: NewWorkspaceKey,
    audits: ['workspace_key.created'],
    answers: { 200: CreatedWorkspaceKey },
    refusals: [
      { status: 403, code: 'token_wider_than_parent' },
      { status: 404, code: 'app_not_found' },
      { status: 409, code: 'limit_reached' },
    ],
    handle: ({ db, access, body, now }) => createWorkspaceKey(db, access, body, tokenKeys, now),
  }),
  route({
    name: 'updateWorkspaceKey',
    method: 'PATCH',
    path: '/api/workspace/api-keys/{key_id}',
    summary: 'Change the name or description of a workspace key',
    credentials: sessionOrToken,
    access: workspaceKeyGuard,
    limit: perMinute(60, 'workspace'),
    body: WorkspaceKeyChange,
    idempotency: 'optional',
    audits: ['workspace_key.updated'],
    answers: { 200: WorkspaceKey },
    handle: ({ db, access, body, now }) => changeWorkspaceKey(db, access, body, now),
  }),
  route({
    name: 'revokeWorkspaceKey',
    method: 'DELETE',
    path: '/api/workspace/api-keys/{key_id}',
    summary: 'Revoke a workspace key',
    credentials: sessionOrToken,
    access: workspaceKeyGuard,
    limit: perMinute(60, 'workspace'),
    repeat: 'safe',
    audits: ['workspace_key.revoked'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => revokeWorkspaceKey(db, access, now),
  }),
];
