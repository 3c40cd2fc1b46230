// The routes for apps, their shares, files and secrets.
import { z } from 'zod';
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs, trashedAppAs } from '../../core/auth/guards/app.ts';
import { unlimitedToken, workspaceAs } from '../../core/auth/guards/workspace.ts';
import { fileBytes, perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { getListPosition } from '../../core/identity/app-list.ts';
import { App, presentApp } from '../../core/identity/app-shapes.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import type { Shares } from '../../kit/db/shares.ts';
import { accepts } from '../../kit/http/answer.ts';
import { type Cursors, cursorRefusal } from '../../kit/http/cursor.ts';
import { parse } from '../../kit/http/faults.ts';
import { media } from '../../kit/http/operation.ts';
import { email, items, Success } from '../../kit/http/shapes.ts';
import type { Secrets } from '../../kit/secrets.ts';
import { changeApp, createApp, deleteApp, restoreApp, type StartChat, type TrashDeps } from './app.ts';
import {
  AppChange,
  AppFileContent,
  AppQuery,
  ArchiveQuery,
  FileEntry,
  FileInput,
  FileOfRevision,
  FilePath,
  FileQuery,
  FileSaved,
  FileSyncInput,
  FileSyncResult,
  NewApp,
  NewFilePath,
  Secret,
  SecretName,
  SecretQuery,
  SecretValue,
  Share,
  ShareRole,
} from './contract.ts';
import { archiveTypes, createDownloadPlaces, downloadAppFiles } from './download.ts';
import { deleteAppFile, getAppFile, listAppFiles, putAppFile, syncAppFiles } from './files.ts';
import type { RestoreDeps } from './revisions/restore.ts';
import { revisionRoutes } from './revisions/routes.ts';
import { deleteAppSecret, putAppSecret } from './secrets.ts';
import { deleteAppShare, type GuestInvitations, listAppShares, putAppShare } from './shares.ts';
import { listApps, listSecrets } from './store.ts';

export interface AppDeps extends TrashDeps, RestoreDeps {
  readonly startChat: StartChat;
  readonly cursors: Cursors;
  readonly storage: StorageQuota;
  readonly shares: Shares;
  readonly secrets: Secrets;
  readonly guests: GuestInvitations;
  readonly addresses: AppAddresses;
}

const shareText = {
  text: 'The e-mail address of the person with whom the app is shared, percent-encoded.',
  example: 'grace@example.com',
};

export const appRoutes = (deps: AppDeps): Route[] => [
  ...crudRoutes(deps),
  ...shareRoutes(deps.guests),
  ...fileRoutes(deps),
  ...revisionRoutes(deps),
  ...secretRoutes(deps),
];

const crudRoutes = ({ cursors, addresses, startChat, ...deps }: AppDeps): Route[] => [
  route({
    name: 'listApps',
    method: 'GET',
    path: '/api/apps',
    summary: 'List the apps that the caller can see',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: workspaceAs('guest'),
    limit: perMinute(300, 'workspace'),
    work: 'slow',
    query: AppQuery,
    answers: { 200: items(App) },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const { limit, cursor, ...filters } = query;
      const binding = ['listApps', access.workspace_id, access.caller.credential_id, filters];
      const rows = await listApps(db, access, query, cursors.open(cursor, binding, now));
      const present = ({ sort_key: _, ...app }: (typeof rows)[number]) => presentApp(app, addresses);
      return cursors.page(rows, limit, binding, now, present, getListPosition);
    },
  }),
  route({
    name: 'createApp',
    method: 'POST',
    path: '/api/apps',
    summary: 'Create an app',
    description:
      "`initial_message` is sent to the builder chat in the background: the app is returned at once, with `status.state` `processing`. A workspace key can't send one.",
    credentials: { ...writeCredentials, workspaceKey: 'apps:write' },
    access: unlimitedToken(workspaceAs('editor')),
    limit: perMinute(5, 'workspace', { group: 'create' }),
    stores: 6_000,
    idempotency: 'optional',
    body: NewApp,
    audits: ['app.created'],
    answers: { 200: App },
    refusals: [
      { status: 400, code: 'app_kind_mismatch' },
      { status: 403, code: 'workspace_key_not_allowed' },
    ],
    handle: ({ db, access, body, now }) => createApp(db, access, body, { addresses, startChat }, now),
  }),
  route({
    name: 'getApp',
    method: 'GET',
    path: '/api/apps/{app_id}',
    summary: 'Read one app',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(300, 'workspace'),
    answers: { 200: App },
    handle: ({ access }) => presentApp(access.app, addresses),
  }),
  route({
    name: 'updateApp',
    method: 'PUT',
    path: '/api/apps/{app_id}',
    summary: 'Change an app; fields that are not sent keep their value',
    description: '`owner_email` transfers the app to another member and requires the role owner.',
    credentials: { ...writeCredentials, workspaceKey: 'apps:write' },
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    body: AppChange,
    repeat: 'safe',
    audits: { sometimes: ['app.updated'] },
    answers: { 200: App },
    refusals: [
      { status: 400, code: 'role_not_assignable' },
      { status: 404, code: 'member_not_found' },
      { status: 409, code: 'slug_taken' },
    ],
    handle: ({ db, access, body, now }) => changeApp(db, access, body, addresses, now),
  }),
  route({
    name: 'deleteApp',
    method: 'DELETE',
    path: '/api/apps/{app_id}',
    summary: 'Move an app to the trash; it can be restored for 30 days',
    description:
      'The campaigns of the app are paused first, and stay paused if it is restored. If the ad platform does not confirm this, the request fails with 409 `ad_platform_timeout`, and the app is kept.',
    credentials: writeCredentials,
    access: appAs('owner'),
    limit: perMinute(30, 'caller'),
    work: 'outside',
    needsWorker: true,
    heldSeconds: 60,
    repeat: 'safe',
    audits: ['app.deleted', 'automation.disabled', 'workflow.turned_off', 'ads.campaign.pause_requested'],
    answers: { 200: Success },
    refusals: [{ status: 409, code: 'ad_platform_timeout' }],
    handle: ({ db, access, now }) => deleteApp(db, deps, access, now),
  }),
  route({
    name: 'restoreApp',
    method: 'POST',
    path: '/api/apps/{app_id}/restore',
    summary: 'Restore a deleted app from the trash',
    credentials: writeCredentials,
    access: trashedAppAs('owner'),
    limit: perMinute(30, 'caller'),
    repeat: 'safe',
    audits: ['app.restored'],
    answers: { 200: App },
    handle: ({ db, access, now }) => restoreApp(db, access, addresses, now),
  }),
];

const parseEmail = (text: string): string => parse(email, ['path', 'email'], text);

const shareRoutes = (guests: GuestInvitations): Route[] => [
  route({
    name: 'listAppShares',
    method: 'GET',
    path: '/api/apps/{app_id}/shares',
    summary: 'List the people an app is shared with',
    credentials: readCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    answers: { 200: z.array(Share) },
    handle: ({ db, access }) => listAppShares(db, access),
  }),
  route({
    name: 'putAppShare',
    headers: ['X-Warning'],
    method: 'PUT',
    path: '/api/apps/{app_id}/shares/{email}',
    parameterTexts: { email: shareText },
    summary: 'Share an app with a person; someone outside the workspace is invited as a guest',
    description:
      'The response has `X-Warning` if the mail of a new invitation was not sent. Resend the invitation to get its link.',
    credentials: writeCredentials,
    access: appAs('owner'),
    limit: perMinute(30, 'caller'),
    stores: 400,
    body: ShareRole,
    repeat: 'safe',
    audits: ['app.shared'],
    answers: { 200: Share },
    refusals: [{ status: 400, code: 'role_not_assignable' }],
    handle: ({ db, access, params, body, now }) =>
      putAppShare(db, guests, access, { email: parseEmail(params.email), role: body.role }, now),
  }),
  route({
    name: 'deleteAppShare',
    method: 'DELETE',
    path: '/api/apps/{app_id}/shares/{email}',
    parameterTexts: { email: shareText },
    summary: 'Stop sharing an app with a person; a guest without other shares leaves the workspace',
    credentials: writeCredentials,
    access: appAs('owner'),
    limit: perMinute(30, 'caller'),
    repeat: 'safe',
    audits: ['app.unshared'],
    answers: { 200: Success },
    refusals: [{ status: 404, code: 'share_not_found' }],
    handle: ({ db, access, params, now }) => deleteAppShare(db, guests, access, params.email.toLowerCase(), now),
  }),
];

const mebibyte = 1024 * 1024;
const fileWriteLimit = perMinute(120, 'caller', { group: 'files' });
const fileWriteCredentials = { ...writeCredentials, workspaceKey: 'apps:write' } as const;
const quotaExceeded = { status: 402, code: 'storage_quota_exceeded' } as const;
const noRevision = { status: 404, code: 'revision_not_found' } as const;
const tooManyFiles = { status: 409, code: 'limit_reached' } as const;
const conflict = { status: 409, code: 'revision_conflict' } as const;

const archive = (type: string, text: string) => media(type, text, { type: 'string', format: 'binary' });

const fileRoutes = ({ cursors, storage, shares }: AppDeps, takePlace = createDownloadPlaces()): Route[] => [
  route({
    name: 'listAppFiles',
    method: 'GET',
    path: '/api/apps/{app_id}/files',
    summary: 'List the files of an app, ordered by path',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(300, 'caller'),
    query: FileQuery,
    answers: { 200: items(FileEntry, 'The files of this page, ordered by path.') },
    refusals: [cursorRefusal, noRevision],
    handle: ({ db, access, query, now }) => listAppFiles(db, { cursors }, access, query, now),
  }),
  route({
    name: 'getAppFile',
    method: 'GET',
    path: '/api/apps/{app_id}/files/content',
    summary: 'Read a file',
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(600, 'caller'),
    query: FileOfRevision,
    answers: { 200: AppFileContent },
    refusals: [{ status: 404, code: 'file_not_found' }, noRevision],
    handle: ({ db, access, query }) => getAppFile(db, access, query),
  }),
  route({
    name: 'downloadAppFiles',
    headers: ['X-App-Revision', 'Content-Disposition'],
    method: 'GET',
    path: '/api/apps/{app_id}/files/archive',
    summary: 'Download all files of an app as one archive',
    description: `A gzipped tar file, or with \`Accept: ${archiveTypes.zip}\` a zip file. All files are those of one revision, which \`X-App-Revision\` names.`,
    credentials: { ...readCredentials, workspaceKey: 'apps:read' },
    access: appAs('viewer'),
    limit: perMinute(30, 'caller'),
    work: 'slow',
    bytes: fileBytes,
    query: ArchiveQuery,
    answers: { 200: archive(archiveTypes.tar, 'The files in a gzipped tar file') },
    alsoAnswers: [archive(archiveTypes.zip, 'The files in a zip file')],
    refusals: [noRevision, { status: 429, code: 'too_many_streams' }],
    handle: ({ db, access, query, headers, countBytes, held }) => {
      const format = accepts(headers, archiveTypes.zip) ? 'zip' : 'tar';
      return downloadAppFiles(db, { shares, takePlace, countBytes }, access, { format, held, ...query });
    },
  }),
  route({
    name: 'putAppFile',
    method: 'PUT',
    path: '/api/apps/{app_id}/files/content',
    summary: 'Write a file',
    credentials: fileWriteCredentials,
    access: appAs('editor'),
    limit: fileWriteLimit,
    stores: 'measured',
    work: 'slow',
    query: NewFilePath,
    body: FileInput,
    bodyLimitBytes: 8 * mebibyte, // fits a 5 MiB file as base64 in JSON
    bytes: fileBytes,
    repeat: 'safe',
    audits: ['app.files_changed'],
    answers: { 200: FileSaved },
    refusals: [conflict, tooManyFiles, quotaExceeded],
    handle: ({ db, access, query, body, now }) =>
      putAppFile(db, storage, access, { path: query.path, input: body }, now),
  }),
  route({
    name: 'deleteAppFile',
    method: 'DELETE',
    path: '/api/apps/{app_id}/files/content',
    summary: 'Delete a file',
    credentials: fileWriteCredentials,
    access: appAs('editor'),
    limit: fileWriteLimit,
    query: FilePath,
    repeat: 'safe',
    audits: ['app.files_changed'],
    answers: { 200: Success },
    refusals: [{ status: 404, code: 'file_not_found' }],
    handle: ({ db, access, query, now }) => deleteAppFile(db, access, query.path, now),
  }),
  route({
    name: 'syncAppFiles',
    method: 'PUT',
    path: '/api/apps/{app_id}/files',
    summary: 'Upload many files of an app in one revision, all or nothing',
    credentials: fileWriteCredentials,
    access: appAs('editor'),
    limit: fileWriteLimit,
    stores: 'measured',
    work: 'slow',
    body: FileSyncInput,
    bodyLimitBytes: 10 * mebibyte,
    bytes: fileBytes,
    repeat: 'safe',
    audits: ['app.files_changed'],
    answers: { 200: FileSyncResult },
    refusals: [conflict, tooManyFiles, quotaExceeded],
    handle: ({ db, access, body, now }) => syncAppFiles(db, storage, access, body, now),
  }),
];

const secretRoutes = ({ cursors, secrets }: AppDeps): Route[] => [
  route({
    name: 'listAppSecrets',
    method: 'GET',
    path: '/api/apps/{app_id}/secrets',
    summary: "List the names of an app's secrets",
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    query: SecretQuery,
    answers: { 200: items(Secret, 'The secrets of this page, without their values.') },
    refusals: [cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listAppSecrets', access.app.id, access.caller.credential_id];
      const rows = await listSecrets(db, access, query.limit, cursors.open(query.cursor, binding, now));
      const present = (row: (typeof rows)[number]) => ({ ...row, updated_date: row.updated_date.toISOString() });
      return cursors.page(rows, query.limit, binding, now, present, (row) => [row.name]);
    },
  }),
  route({
    name: 'putAppSecret',
    method: 'PUT',
    path: '/api/apps/{app_id}/secrets/{secret_name}',
    summary: "Store a secret of an app, such as an API key; its value can't be read back",
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    stores: 700,
    body: SecretValue,
    repeat: 'safe',
    audits: { sometimes: ['app_secret.created', 'app_secret.updated'] },
    answers: { 200: Secret },
    refusals: [{ status: 409, code: 'limit_reached' }],
    handle: ({ db, access, params, body, now }) =>
      putAppSecret(
        db,
        secrets,
        access,
        { name: parse(SecretName, ['path', 'secret_name'], params.secret_name), value: body.value },
        now,
      ),
  }),
  route({
    name: 'deleteAppSecret',
    method: 'DELETE',
    path: '/api/apps/{app_id}/secrets/{secret_name}',
    summary: 'Delete a secret',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(60, 'caller'),
    repeat: 'safe',
    audits: ['app_secret.deleted'],
    answers: { 200: Success },
    refusals: [{ status: 404, code: 'secret_not_found' }],
    handle: ({ db, access, params, now }) => deleteAppSecret(db, access, params.secret_name, now),
  }),
];
