// Owns the schemas of requests about apps, and of their shares, files and secrets (docs/api/apps.md). The schema of an app
// itself is shared by all features: core/identity/app-shapes.ts.
import { z } from 'zod';
import { appList, publicSettings } from '../../core/identity/app-shapes.ts';
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
  queryWords,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';

export const NewApp = body({
  name: optional(name(1, 100)),
  user_description: optional(text(0, 4000)),
  app_type: optional(oneOf('user_app', 'imported_app')),
  visibility: optional(oneOf('workspace', 'private')),
  public_settings: optional(publicSettings),
  initial_message: optional(body({ content: text(1, 100_000) })),
});
export type NewApp = z.output<typeof NewApp>;

/** A slug is the first label of a host name. Labels with `xn--` stand for other letters, and would be shown as these. */
export const slugPattern = /^(?!xn--)[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/;

export const AppChange = body({
  name: optional(name(1, 100)),
  slug: optional(pattern(slugPattern, 63)),
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

// A relative path without empty, `.` or `..` segments and control characters, not under `.git/`: `src/App.tsx`.
const pathPattern = /^(?!\.git(?:\/|$))(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+)*$/u;
export const filePath = pattern(pathPattern, 400);
const encoding = optional(oneOf('utf-8', 'base64'));

export const FilePath = query({ path: filePath });
export const FileQuery = query({ ...pageQuery, prefix: text(0, 400).optional() });
export const FileEntry = answer('AppFile', {
  path: z.string(),
  size: count,
  sha256: z.string(),
  updated_date: timestamp,
});
export const AppFileContent = answer('AppFileContent', {
  path: z.string(),
  content: z.string(),
  encoding: oneOf('utf-8', 'base64'),
  sha256: z.string(),
  revision: count,
});
export const FileInput = body({
  content: z.string(),
  encoding,
  expected_sha256: clearable(z.string()).meta({
    description: 'The `sha256` you last read; null if the file must not exist yet.',
  }),
});
export type FileInput = z.output<typeof FileInput>;
export interface StoredFile {
  path: string;
  content: Buffer;
  sha256: string;
  size: number;
  encoding: 'utf-8' | 'base64';
}

export const FileSaved = answer('AppFileSaved', { path: z.string(), sha256: z.string(), revision: count });
export const FileSyncInput = body({
  files: distinct(list(z.object({ path: filePath, content: z.string(), encoding }), 0, 5000), (file) => file.path),
  delete_missing: optional(z.boolean()),
  expected_revision: optional(integer(0, Number.MAX_SAFE_INTEGER)),
});
export type FileSyncInput = z.output<typeof FileSyncInput>;
export const FileSyncResult = answer('AppFilesSynced', {
  created: z.array(z.string()),
  updated: z.array(z.string()),
  deleted: z.array(z.string()),
  revision: count,
});

export const SecretName = pattern(/^[A-Z][A-Z0-9_]{0,63}$/, 64);
export const SecretValue = body({ value: text(1, 8192) });
export const Secret = answer('AppSecret', { name: z.string(), updated_date: timestamp, last4: z.string().nullable() });

export const AppQuery = query({
  ...appList,
  app_type: queryWords('user_app', 'user_agent', 'imported_app').optional(),
});
export type AppQuery = z.output<typeof AppQuery>;
