// The routes of previews.
import { writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedAppRow } from '../../../core/auth/guards/row.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { Success } from '../../../kit/http/shapes.ts';
import { CreatedPreview, NewPreview } from './contract.ts';
import { deletePreview, type PreviewDeps, startPreview } from './preview.ts';
import type { Preview } from './store.ts';

const editorGuard = appAs('editor');
const previewGuard = nestedAppRow(editorGuard, {
  noun: 'preview',
  table: 'app_previews',
  fromJson: ({ id, app_id, revision, credential_id }): Preview => ({ id, app_id, revision, credential_id }),
});
const limit = perMinute(30, 'caller+app');

export const previewRoutes = (deps: PreviewDeps): Route[] => [
  route({
    name: 'createPreview',
    secretFields: ['url'],
    method: 'POST',
    path: '/api/apps/{app_id}/previews',
    summary: 'Show a revision of an app on a host of its own, for a day',
    description:
      "For a look at an app before it is published. The pages read and change the app's live data. The newest 20 previews of an app are kept.",
    credentials: writeCredentials,
    access: editorGuard,
    limit,
    stores: 1_500,
    body: NewPreview,
    idempotency: 'optional',
    audits: ['app.preview_created'],
    answers: { 200: CreatedPreview },
    refusals: [
      { status: 404, code: 'revision_not_found' },
      { status: 404, code: 'app_user_not_found' },
      { status: 409, code: 'apps_domain_missing' },
      { status: 409, code: 'limit_reached' },
    ],
    handle: ({ db, access, body, now }) => startPreview(db, deps, access, body, now),
  }),
  route({
    name: 'deletePreview',
    method: 'DELETE',
    path: '/api/apps/{app_id}/previews/{preview_id}',
    summary: 'End a preview; its address and its token stop working at once',
    credentials: writeCredentials,
    access: previewGuard,
    limit,
    repeat: 'safe',
    audits: ['app.preview_deleted'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => deletePreview(db, access, now),
  }),
];
