// The routes for an app's revisions.
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { fileBytes, perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { cursorRefusal } from '../../../kit/http/cursor.ts';
import {
  CompareQuery,
  maxRevision,
  Restored,
  RestoreInput,
  Revision,
  RevisionList,
  RevisionQuery,
} from './contract.ts';
import { type RestoreDeps, restoreRevision } from './restore.ts';
import { findKeptRevision, getRevision, listAppRevisions, type RevisionDeps } from './revision.ts';

export const revisionRoutes = (deps: RevisionDeps & RestoreDeps): Route[] => [
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
  route({
    name: 'restoreRevision',
    method: 'POST',
    path: '/api/apps/{app_id}/revisions/{revision}/restore',
    summary: 'Restore the files, schemas and headers of an earlier revision as a new one',
    description:
      'Nothing of the history is removed. Rules that would open data are restored only if `opens` names them; `dry_run` lists them. `X-Changed: false` means that nothing was changed. The published app stays as it is.',
    credentials: writeCredentials,
    access: keptRevision('editor'),
    limit: perMinute(20, 'caller+app'),
    stores: 'measured',
    work: 'slow',
    bytes: fileBytes,
    body: RestoreInput,
    repeat: 'safe',
    audits: {
      sometimes: [
        'app.revision_restored',
        'app.files_changed',
        'app.updated',
        'entity_schema.created',
        'entity_schema.updated',
        'entity_schema.deleted',
      ],
    },
    answers: { 200: Restored },
    refusals: [
      { status: 402, code: 'storage_quota_exceeded' },
      { status: 409, code: 'limit_reached' },
      { status: 409, code: 'restore_opens_rules' },
      { status: 409, code: 'revision_conflict' },
    ],
    handle: ({ db, access, body, countBytes, now }) => restoreRevision(db, { ...deps, countBytes }, access, body, now),
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
