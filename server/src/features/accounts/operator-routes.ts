// The routes that operators use to manage the installation's accounts.
import { sessionOnly } from '../../core/auth/credentials.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { operator } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { items } from '../../kit/http/shapes.ts';
import { OperatorUser, OperatorUserQuery, presentOperatorUser } from './contract.ts';
import { findUser, listUsers } from './store.ts';
import { deactivate, reactivate } from './user.ts';

const userGuard = nestedResource(operator, 'user', findUser);

const userText = {
  text: 'The id of the user who has the account.',
  example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
};

export const operatorRoutes = (cursors: Cursors): Route[] => [
  route({
    name: 'listOperatorUsers',
    method: 'GET',
    path: '/api/operator/users',
    summary: 'List all users of the installation, newest first, or find one by e-mail address',
    credentials: sessionOnly,
    access: operator,
    limit: perMinute(60, 'caller'),
    query: OperatorUserQuery,
    answers: { 200: items(OperatorUser) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listOperatorUsers', access.caller.credential_id, query.email ?? null];
      const rows = await listUsers(db, access, query, cursors.open(query.cursor, binding, now));
      return cursors.page(rows, query.limit, binding, now, presentOperatorUser, (row) => [row.id]);
    },
  }),
  route({
    name: 'deactivateUser',
    method: 'POST',
    path: '/api/operator/users/{user_id}/deactivate',
    parameterTexts: { user_id: userText },
    summary: 'Deactivate an account: its sessions, tokens and personal keys end, and nobody can sign in to it',
    description:
      'Takes effect with the next request in every process. Memberships, apps and workspace keys stay, except for keys that were created with a token of the user.',
    credentials: sessionOnly,
    access: userGuard,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['user.deactivated'],
    answers: { 200: OperatorUser },
    refusals: [{ status: 409, code: 'last_operator' }],
    handle: ({ db, access, now }) => deactivate(db, access, now),
  }),
  route({
    name: 'reactivateUser',
    method: 'POST',
    path: '/api/operator/users/{user_id}/reactivate',
    parameterTexts: { user_id: userText },
    summary: 'Reactivate an account; its sessions, tokens and keys stay ended',
    credentials: sessionOnly,
    access: userGuard,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['user.reactivated'],
    answers: { 200: OperatorUser },
    handle: ({ db, access, now }) => reactivate(db, access, now),
  }),
];
