// The routes for an app's revisions.
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { cursorRefusal } from '../../../kit/http/cursor.ts';
import { CompareQuery, maxRevision, Revision, RevisionList, RevisionQuery } from './contract.ts';
import { findKeptRevision, getRevision, listAppRevisions, type RevisionDeps } from './revision.ts';

export const revisionRoutes = (deps: RevisionDeps): Route[] => [
  route({
    name: 'listRevisions',
    method: 'GET',
    path: '/api/apps/{app_id}/revisions',
    summary: 'List the revisions of an app, newest first',
    description:
      'The last 200 revisions and those of 30 days are kept, at most 2,000. If the storage quota is full, the oldest beyond the last 20 are given up.',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(120, 'caller'),
    query: RevisionQuery,
    answers: { 200: RevisionList },
    refusals: [cursorRefusal],
    handle: ({ db, access, query, now }) => listAppRevisions(db, deps, access, query, now),
  }),
  route({
    name: 'getRevision',
    headers: ['X-Truncated'],
    method: 'GET',
    path: '/api/apps/{app_id}/revisions/{revision}',
    summary: 'Read one revision, and how it differs from another one',
    description: 'At most 1,000 files are listed; `X-Truncated` says if more differ. Long differences are cut.',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: keptRevision('viewer'),
    limit: perMinute(60, 'caller'),
    work: 'slow',
    query: CompareQuery,
    answers: { 200: Revision },
    handle: ({ db, access, query }) => getRevision(db, access, query),
  }),
];

function keptRevision(role: 'viewer' | 'editor') {
  return nestedResource(
    appAs(role),
    'revision',
    async (db, access, number) => (isRevision(number) ? findKeptRevision(db, access, Number(number)) : undefined),
    'revision',
  );
}

const isRevision = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= maxRevision;
