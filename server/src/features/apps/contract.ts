// Owns the shapes of apps as a caller sees them (docs/contract.md §3.1).
import { z } from 'zod';
import type { AppRow } from '../../access/proofs.ts';
import {
  answer,
  body,
  clearable,
  count,
  distinct,
  email,
  httpsUrl,
  integer,
  list,
  name,
  oneOf,
  optional,
  origin,
  pageQuery,
  pattern,
  query,
  queryFlag,
  queryWords,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';

export const App = answer('App', {
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  app_type: oneOf('user_app', 'user_agent', 'imported_app'),
  workspace_id: z.string(),
  owner_id: z.string(),
  owner_email: z.string(),
  user_description: z.string(),
  logo_url: z.string().nullable(),
  visibility: oneOf('workspace', 'private'),
  public_settings: oneOf('private_with_login', 'workspace_with_login', 'public_with_login', 'public_without_login'),
  public_origins: z.array(z.string()),
  hide_authorship: z.boolean(),
  status: answer('AppStatus', {
    state: oneOf('ready', 'processing', 'error'),
    message: z.string(),
    error_source: oneOf('builder', 'paywall', 'model').nullable(),
  }),
  revision: count,
  published: answer('Published', {
    revision: count,
    url: z.string(),
    published_at: timestamp,
    published_by: z.string(),
  }).nullable(),
  created_date: timestamp,
  updated_date: timestamp,
  deleted_date: timestamp.nullable(),
});

const publicSettings = oneOf('private_with_login', 'workspace_with_login', 'public_with_login', 'public_without_login');

export const NewApp = body({
  name: optional(name(1, 100)),
  user_description: optional(text(0, 4000)),
  app_type: optional(oneOf('user_app', 'imported_app')),
  visibility: optional(oneOf('workspace', 'private')),
  public_settings: optional(
    oneOf('private_with_login', 'workspace_with_login', 'public_with_login', 'public_without_login'),
  ),
});

const slugForm = /^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/;

export const AppChange = body({
  name: optional(name(1, 100)),
  slug: optional(pattern(slugForm, 63)),
  user_description: optional(text(0, 4000)),
  logo_url: clearable(httpsUrl),
  visibility: optional(oneOf('workspace', 'private')),
  public_settings: optional(publicSettings),
  public_origins: optional(list(origin, 0, 10)),
  hide_authorship: optional(z.boolean()),
  owner_email: optional(email),
});
export type AppChange = z.output<typeof AppChange>;

export const Share = answer('AppShare', {
  email: z.string(),
  role: oneOf('editor', 'viewer'),
  status: oneOf('joined', 'invited'),
});
export const ShareRole = body({ role: oneOf('editor', 'viewer') });

// Relative, no empty, `.` or `..` segment, no control character, nothing under `.git/`.
const pathForm = /^(?!\.git(?:\/|$))(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+)*$/u;
const filePath = pattern(pathForm, 400);
const encoding = optional(oneOf('utf-8', 'base64'));

export const FilePath = query({ path: filePath });
export const FileQuery = query({ ...pageQuery, prefix: text(0, 400).optional() });
export const FileEntry = answer('AppFile', {
  path: z.string(),
  size: count,
  sha256: z.string(),
  updated_date: timestamp,
});
export const FileRead = answer('AppFileContent', {
  path: z.string(),
  content: z.string(),
  encoding: oneOf('utf-8', 'base64'),
  sha256: z.string(),
  revision: count,
});
export const FileContent = body({
  content: z.string(),
  encoding,
  expected_sha256: clearable(z.string()).meta({ description: 'the hash you read; null: the file must not exist yet' }),
});
export type FileContent = z.output<typeof FileContent>;
export interface StoredFile {
  path: string;
  content: Buffer;
  sha256: string;
  size: number;
  encoding: 'utf-8' | 'base64';
}

export const FileSaved = answer('AppFileSaved', { path: z.string(), sha256: z.string(), revision: count });
export const FileSync = body({
  files: distinct(list(z.object({ path: filePath, content: z.string(), encoding }), 0, 5000), (file) => file.path),
  delete_missing: optional(z.boolean()),
  expected_revision: optional(integer(0, Number.MAX_SAFE_INTEGER)),
});
export type FileSync = z.output<typeof FileSync>;
export const FilesSynced = answer('AppFilesSynced', {
  created: z.array(z.string()),
  updated: z.array(z.string()),
  deleted: z.array(z.string()),
  revision: count,
});

export const SecretName = pattern(/^[A-Z][A-Z0-9_]{0,63}$/, 64);
export const SecretValue = body({ value: text(1, 8192) });
export const Secret = answer('AppSecret', { name: z.string(), updated_date: timestamp, last4: z.string().nullable() });

const appSorts = ['updated_date', '-updated_date', 'created_date', '-created_date', 'name', '-name'] as const;

export const AppQuery = query({
  ...pageQuery,
  sort: z.enum(appSorts).default('-updated_date'),
  folder_id: z.string().optional(),
  app_type: queryWords('user_app', 'user_agent', 'imported_app').optional(),
  search: text(0, 256).optional(),
  deleted: queryFlag.optional(),
});
export type AppQuery = z.output<typeof AppQuery>;

// Until the builder chat and publishing exist an app has one state, and nothing is published.
const idle = { state: 'ready', message: '', error_source: null } as const;

export const presentApp = (app: AppRow): z.input<typeof App> => ({
  ...app,
  status: idle,
  published: null,
  created_date: app.created_date.toISOString(),
  updated_date: app.updated_date.toISOString(),
  deleted_date: app.deleted_date?.toISOString() ?? null,
});
