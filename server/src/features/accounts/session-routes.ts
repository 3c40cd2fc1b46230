// The routes for people's browser sessions.
import { z } from 'zod';
import { sessionOnly } from '../../core/auth/credentials.ts';
import { nestedResource } from '../../core/auth/guards/row.ts';
import { self } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { SessionDeps } from '../../core/identity/accounts.ts';
import { Success } from '../../kit/http/shapes.ts';
import { BrowserSession, EndedSessions } from './contract.ts';
import { describeSessions, endOneSession, endOtherSessions } from './sessions.ts';
import { findSession } from './store.ts';

export const sessionRoutes = (deps: Pick<SessionDeps, 'secureCookie'>): Route[] => [
  route({
    name: 'listBrowserSessions',
    headers: ['X-Truncated'],
    method: 'GET',
    path: '/api/auth/sessions',
    summary: "List the caller's browser sessions",
    description: 'Returns at most the 100 newest sessions. If there are more, the response has `X-Truncated: true`.',
    credentials: sessionOnly,
    access: self,
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(BrowserSession) },
    handle: ({ db, access, now }) => describeSessions(db, access, now),
  }),
  route({
    name: 'endBrowserSession',
    headers: ['Set-Cookie'],
    method: 'DELETE',
    path: '/api/auth/sessions/{session_id}',
    summary: "End one of the caller's browser sessions",
    description:
      'Takes effect with the next request in every process. Ending the session of the request signs the caller out.',
    credentials: sessionOnly,
    access: nestedResource(self, 'session', findSession),
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['auth.session_ended', 'auth.sign_out'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => endOneSession(db, deps, access, now),
  }),
  route({
    name: 'endOtherBrowserSessions',
    method: 'DELETE',
    path: '/api/auth/sessions',
    summary: "Sign out everywhere else: end the caller's browser sessions, except for the one of the request",
    credentials: sessionOnly,
    access: self,
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['auth.session_ended'],
    answers: { 200: EndedSessions },
    handle: ({ db, access, now }) => endOtherSessions(db, access, now),
  }),
];
