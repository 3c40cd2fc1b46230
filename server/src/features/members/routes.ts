// The route for the members list.
import { writeCredentials } from '../../core/auth/credentials.ts';
import { workspaceAs } from '../../core/auth/guards/workspace.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { MemberList, MemberQuery } from './contract.ts';
import { listMembers, type MembersDeps } from './list.ts';

export const memberRoutes = (deps: MembersDeps): Route[] => [
  route({
    name: 'listMembers',
    effect: 'read',
    headers: ['X-Cursor', 'X-Data-As-Of'],
    method: 'POST',
    path: '/api/workspace/members/list',
    summary: 'List one page of members and pending invitations',
    description:
      'Returns members that match every filter. `credits_used`, `last_active` and `last_seen` may be up to a minute old; `X-Data-As-Of` says how old. A cursor that was not issued for the same query starts again at the first page (`X-Cursor: reset`).',
    credentials: writeCredentials,
    access: workspaceAs('guest'),
    limit: perMinute(30, 'workspace', { scaledBy: 'override' }),
    work: 'slow',
    body: MemberQuery,
    audits: 'nothing',
    answers: { 200: MemberList },
    handle: ({ db, access, body, now }) => listMembers(db, deps, access, body, now),
  }),
];
