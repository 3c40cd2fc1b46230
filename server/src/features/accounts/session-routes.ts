// Owns the routes of a person's browser sessions.
import { z } from 'zod';
import { sessionOnly } from '../../core/auth/credentials.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { nestedResource, self } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { Success } from '../../kit/http/shapes.ts';
import { BrowserSession, EndedSessions } from './contract.ts';
import { describeSessions, endOneSession, endOtherSessions } from './sessions.ts';
import { findSession } from './store.ts';

export const sessionRoutes: Route[] = [
  route({
    name: 'listBrowserSessions',
    headers: ['X-Truncated'],
    method: 'GET',
    path: '/api/auth/sessions',
    summary: "List the caller's browser sessions",
    description: 'At most the 100 newest. If there are more, the response has `X-Truncated: true`.',
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
    description: 'Takes effect with the next request in every process. Ending the session of the request signs out.',
    credentials: sessionOnly,
    access: nestedResource(self, 'session', findSession),
    limit: perMinute(60, 'caller'),
    audits: ['auth.session_ended', 'auth.sign_out'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => endOneSession(db, access, now),
  }),
  route({
    name: 'endOtherBrowserSessions',
    method: 'DELETE',
    path: '/api/auth/sessions',
    summary: "Sign out everywhere else: end the caller's browser sessions, except for the one of the request",
    credentials: sessionOnly,
    access: self,
    limit: perMinute(60, 'caller'),
    audits: ['auth.session_ended'],
    answers: { 200: EndedSessions },
    handle: ({ db, access, now }) => endOtherSessions(db, access, now),
  }),
];
