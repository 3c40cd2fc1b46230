// The routes for an app's users and their tokens. The sign-in routes are in sign-in-routes.ts.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { nestedAppRow } from '../../core/auth/guards/row.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { TokenKeys } from '../../core/identity/users.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { Success } from '../../kit/http/shapes.ts';
import { changeAppUser, createAppUser, createAppUserToken, deleteAppUser } from './app-user.ts';
import {
  AppUser,
  AppUserChange,
  AppUserQuery,
  type AppUserRow,
  AppUsers,
  AppUserToken,
  defaultTokenSeconds,
  NewAppUser,
  NewAppUserToken,
  presentAppUser,
} from './contract.ts';
import { listAppUsers } from './store/users.ts';

export interface AppUserDeps {
  readonly cursors: Cursors;
  readonly tokenKeys: TokenKeys;
}

const editorGuard = appAs('editor');
const appUserGuard = nestedAppRow(editorGuard, {
  noun: 'app_user',
  table: 'app_users',
  pathParam: 'user_id',
  fromJson: (json): AppUserRow => ({
    ...json,
    created_date: new Date(json.created_date),
    updated_date: new Date(json.updated_date),
  }),
});
const limit = perMinute(60, 'caller');
const emailTaken = { status: 409, code: 'unique_conflict' } as const;

export const appUserRoutes = ({ cursors, tokenKeys }: AppUserDeps): Route[] => [
  route({
    name: 'listAppUsers',
    method: 'GET',
    path: '/api/apps/{app_id}/users',
    summary: 'List the users of an app, newest first',
    credentials: readCredentials,
    access: editorGuard,
    limit,
    work: 'slow',
    query: AppUserQuery,
    answers: { 200: AppUsers },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listAppUsers', access.app.id, access.caller.credential_id, query.search];
      const rows = await listAppUsers(db, access, query, cursors.open(query.cursor, binding, now));
      const positionOf = (row: (typeof rows)[number]) => [row.created_date.toISOString(), row.id];
      return cursors.page(rows, query.limit, binding, now, presentAppUser, positionOf);
    },
  }),
  route({
    name: 'createAppUser',
    method: 'POST',
    path: '/api/apps/{app_id}/users',
    summary: 'Create a user of an app',
    credentials: writeCredentials,
    access: editorGuard,
    limit,
    stores: 1_500,
    idempotency: 'optional',
    body: NewAppUser,
    audits: ['app_user.created'],
    answers: { 200: AppUser },
    refusals: [emailTaken],
    handle: ({ db, access, body, now }) => createAppUser(db, access, body, now),
  }),
  route({
    name: 'updateAppUser',
    method: 'PATCH',
    path: '/api/apps/{app_id}/users/{user_id}',
    summary: 'Change a user of an app',
    description: 'Fields that are not sent keep their value. `data` is merged key by key; null removes a key.',
    credentials: writeCredentials,
    access: appUserGuard,
    limit,
    body: AppUserChange,
    idempotency: 'optional',
    audits: ['app_user.updated'],
    answers: { 200: AppUser },
    refusals: [emailTaken],
    handle: ({ db, access, body, now }) => changeAppUser(db, access, body, now),
  }),
  route({
    name: 'deleteAppUser',
    method: 'DELETE',
    path: '/api/apps/{app_id}/users/{user_id}',
    summary: 'Delete a user of an app; their tokens stop working at once, their records stay',
    credentials: writeCredentials,
    access: appUserGuard,
    limit,
    repeat: 'safe',
    audits: ['app_user.deleted'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => deleteAppUser(db, access, now),
  }),
  route({
    name: 'createAppUserToken',
    secretFields: ['token'],
    method: 'POST',
    path: '/api/apps/{app_id}/users/{user_id}/tokens',
    summary: 'Create a token with which a user of an app calls its data operations',
    description: "For the app's own server, after it has signed the user in. The token is valid for this app only.",
    credentials: writeCredentials,
    access: appUserGuard,
    limit,
    stores: 900,
    body: NewAppUserToken,
    idempotency: 'optional',
    audits: ['app_user.token_created'],
    answers: { 200: AppUserToken },
    handle: ({ db, access, body, now }) =>
      createAppUserToken(db, access, body.expires_in_seconds ?? defaultTokenSeconds, tokenKeys, now),
  }),
];
