// The schemas of requests about apps, and of apps' shares, files and secrets (docs/api/apps.md). The schema of an
// app itself, which several features share, is in core/identity/app-shapes.ts.
import { z } from 'zod';
import { appList, publicSettings } from '../../core/identity/app-shapes.ts';
import { isGitFolder } from '../../kit/git/paths.ts';
import {
  answer,
  body,
  clearable,
  count,
  described,
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
  parameter,
  pattern,
  query,
  queryInteger,
  queryWords,
  text,
  updatedDate,
} from '../../kit/http/shapes.ts';
import { maxRevision } from './revisions/contract.ts';

export const NewApp = body({
  name: described(optional(name(1, 100)), 'The name of the app; `Untitled app` by default.', 'Order book'),
  user_description: described(
    optional(text(0, 4000)),
    'What the app is for, in the words of its builders; empty by default.',
    'Takes the orders of a bakery',
  ),
  app_type: described(
    optional(oneOf('user_app', 'imported_app')),
    "The kind of app, `user_app` by default; it can't be changed later.",
  ),
  visibility: described(
    optional(oneOf('workspace', 'private')),
    'Who in the workspace can see the app: all members but guests, or only the owner, admins and people it is shared with.',
  ),
  public_settings: described(
    optional(publicSettings),
    'Who can use the app; only `public_without_login` allows access to its data without a credential.',
  ),
  initial_message: described(
    optional(
      body({ content: described(text(1, 100_000), 'What the assistant should build.', 'A task list with owners') }),
    ),
    'A first message to the assistant, which builds the app in the background.',
  ),
});
export type NewApp = z.output<typeof NewApp>;

/**
 * A slug is the first label of a host name. Labels that start with `xn--` encode non-ASCII letters, which browsers
 * would display instead of the slug. Those that start with `preview--` are of previews.
 */
export const slugPattern = /^(?!xn--|preview--)[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/;

export const AppChange = body({
  name: described(optional(name(1, 100)), 'The name of the app; white space at the ends is removed.', 'Order book'),
  slug: described(
    optional(pattern(slugPattern, 63)),
    'A name for URLs in lowercase letters, digits and hyphens, unique in the installation. Other apps can use an abandoned slug after 31 days.',
    'order-book',
  ),
  user_description: described(
    optional(text(0, 4000)),
    'What the app is for, in the words of its builders.',
    'Takes the orders of a bakery',
  ),
  logo_url: described(
    clearable(httpsUrl),
    'The https URL of the logo; null removes it.',
    'https://static.example.com/order-book.png',
  ),
  visibility: described(
    optional(oneOf('workspace', 'private')),
    'Who in the workspace can see the app: all members but guests, or only the owner, admins and people it is shared with.',
  ),
  public_settings: described(
    optional(publicSettings),
    'Who can use the app; only `public_without_login` allows access to its data without a credential.',
  ),
  public_origins: described(
    optional(list(origin, 0, 10)),
    'The origins whose web pages can access the data of the app, at most 10.',
    ['https://orders.example.com'],
  ),
  hide_authorship: described(optional(z.boolean()), 'Whether records of the app leave out `created_by`.'),
  owner_email: described(
    optional(email),
    "Transfers the app to the member with this e-mail address, who must not be a viewer or guest. Only the app's owner can do this.",
    'grace@example.com',
  ),
});
export type AppChange = z.output<typeof AppChange>;

export const Share = answer('AppShare', {
  email: described(z.string(), 'The e-mail address of the person, compared in lower case.', 'grace@example.com'),
  role: described(oneOf('editor', 'viewer'), 'The role of the person in the app.'),
  status: described(
    oneOf('joined', 'invited'),
    'Whether the person is a member, or was invited to the workspace as a guest.',
  ),
});
export const ShareRole = body({ role: described(oneOf('editor', 'viewer'), 'The role of the person in the app.') });

// A relative path such as `src/App.tsx`, with no empty, `.` or `..` segments, no control characters, and not under
// `.git/`.
const pathPattern = /^(?!\.git(?:\/|$))(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]+)*$/u;
export const filePath = pattern(pathPattern, 400);

/**
 * Whoever unpacks the files of an app in a clone must not get another `.git/config`, also where file systems take `.GIT`
 * for the same folder, and git refuses such a name at any depth. Files that were written with such a path before can still be read and deleted.
 */
export const newFilePath = filePath
  .refine(
    (path) => !path.split('/').some(isGitFolder),
    'must not contain a name that a file system may take for `.git`',
  )
  .meta(filePath.meta() ?? {});
const encoding = optional(oneOf('utf-8', 'base64'));

const describePath = (path: typeof filePath) =>
  parameter(path, 'The path of the file in the app, relative and without `.` and `..` segments.', 'src/App.tsx');

export const FilePath = query({ path: describePath(filePath) });
export const NewFilePath = query({ path: describePath(newFilePath) });
const ofRevision = {
  revision: parameter(
    optional(queryInteger(1, maxRevision)),
    'A kept revision whose files are read; by default the current one.',
    7,
  ),
};
export const FileOfRevision = FilePath.extend(ofRevision);
export const ArchiveQuery = query(ofRevision);
export const SecretQuery = query(pageQuery);
export const FileQuery = query({
  ...pageQuery,
  prefix: parameter(text(0, 400).optional(), 'Only files whose path begins with this text.', 'src/'),
  ...ofRevision,
});
export type FileQuery = z.output<typeof FileQuery>;

const pathText = [
  'The path of the file in the app, relative and without `.` and `..` segments.',
  'src/App.tsx',
] as const;
const sha256Field = described(
  z.string(),
  'The SHA-256 of the content of the file, as 64 hexadecimal digits.',
  '96909e1dce85ca534fd8881f6c8369a8a87e06df5a4bf81ef44a72db195b0704',
);

export const FileEntry = answer('AppFile', {
  path: described(z.string(), ...pathText),
  size: described(count, 'The size of the content in bytes, decoded.', 18),
  sha256: sha256Field,
  updated_date: updatedDate,
});

const contentField = described(
  z.string(),
  'The content of the file, as text or as base64 according to `encoding`; at most 5 MiB.',
  'export default 1;\n',
);
const revisionField = described(
  count,
  'The revision of the app, which increases with each change of files or schemas.',
  7,
);

export const AppFileContent = answer('AppFileContent', {
  path: described(z.string(), ...pathText),
  content: contentField,
  encoding: described(
    oneOf('utf-8', 'base64'),
    'How `content` is written: as text or as base64, as the file was written.',
  ),
  sha256: sha256Field,
  revision: revisionField,
});
export const FileInput = body({
  content: contentField,
  encoding: described(encoding, 'How `content` is written: as text (`utf-8`, the default) or as base64.'),
  expected_sha256: described(
    clearable(z.string()),
    'The `sha256` that you last read; null if the file must not exist yet.',
    '96909e1dce85ca534fd8881f6c8369a8a87e06df5a4bf81ef44a72db195b0704',
  ),
});
export type FileInput = z.output<typeof FileInput>;
export interface StoredFile {
  path: string;
  content: Buffer;
  sha256: string;
  size: number;
  encoding: 'utf-8' | 'base64';
}

export const FileSaved = answer('AppFileSaved', {
  path: described(z.string(), ...pathText),
  sha256: sha256Field,
  revision: revisionField,
});
export const FileSyncInput = body({
  files: described(
    distinct(
      list(
        z.object({
          path: described(newFilePath, ...pathText),
          content: contentField,
          encoding: described(encoding, 'How `content` is written: as text (`utf-8`, the default) or as base64.'),
        }),
        0,
        5000,
      ),
      (file) => file.path,
    ),
    'The files to write; a path must not be repeated.',
    [{ path: 'src/App.tsx', content: 'export default 1;\n' }],
  ),
  delete: described(
    optional(distinct(list(filePath, 0, 5000), (path) => path)),
    'The paths of the files to delete; those that do not exist are left out.',
    ['src/Old.tsx'],
  ),
  delete_missing: described(
    optional(z.boolean()),
    'Whether to delete every file of the app that was not sent; false by default.',
  ),
  expected_revision: described(
    optional(integer(0, Number.MAX_SAFE_INTEGER)),
    'The revision of the app that you last read. If it is no longer the current one, the request fails with 409.',
    7,
  ),
});
export type FileSyncInput = z.output<typeof FileSyncInput>;
export const FileSyncResult = answer('AppFilesSynced', {
  created: described(z.array(z.string()), 'The paths of the files that did not exist before.', ['src/App.tsx']),
  updated: described(z.array(z.string()), 'The paths of the files whose content changed.', ['src/index.css']),
  deleted: described(z.array(z.string()), 'The paths of the files that were deleted.', ['src/Old.tsx']),
  revision: revisionField,
});

export const SecretName = pattern(/^[A-Z][A-Z0-9_]{0,63}$/, 64);
export const SecretValue = body({
  value: described(
    text(1, 8192),
    'The value of the secret, which no operation returns; it is encrypted at rest.',
    'EXAMPLE-payment-key-a91c',
  ),
});
export const Secret = answer('AppSecret', {
  name: described(z.string(), 'The name of the secret, in capital letters, digits and underscores.', 'PAYMENT_API_KEY'),
  updated_date: updatedDate,
  last4: described(
    z.string().nullable(),
    'The last 4 characters of the value, to recognise it; null for values shorter than 16 characters.',
    'a91c',
  ),
});

export const AppQuery = query({
  ...appList,
  app_type: described(
    queryWords('user_app', 'user_agent', 'imported_app').optional(),
    'The types of apps to list, separated by commas: `user_app`, `user_agent`, `imported_app`.',
    'user_app,imported_app',
  ),
});
export type AppQuery = z.output<typeof AppQuery>;
