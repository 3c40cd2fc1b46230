// Describes how apps, their shares, their files and their revisions are stored in an archive.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { publicSettings } from '../../core/identity/app-shapes.ts';
import { revisionCauses } from '../../core/identity/revisions.ts';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import {
  type ArchiveTable,
  counter,
  newRowId,
  owner,
  refersTo,
  sinceRevision,
  time,
} from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { httpsUrl, list, name, oneOf, origin, pattern, text } from '../../kit/http/shapes.ts';
import { filePath, slugPattern } from './contract.ts';
import { maxAppBytes, maxFileBytes, maxFiles } from './files.ts';

/** The body limit of a request that saves schemas. */
const maxContentBytes = 10 * 1024 * 1024;

export const appArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  apps: {
    columns: {
      id: newRowId,
      workspace_id: owner,
      app_type: oneOf('user_app', 'user_agent', 'imported_app'),
      owner_id: refersTo('people'),
      name: name(1, 100),
      slug: pattern(slugPattern, 63),
      user_description: text(0, 4000),
      logo_url: httpsUrl.nullable(),
      visibility: oneOf('workspace', 'private'),
      public_settings: publicSettings,
      public_origins: list(origin, 0, 10),
      hide_authorship: z.boolean(),
      revision: counter,
      created_date: time,
      updated_date: time,
      deleted_date: time.nullable(),
    },
  },
  app_shares: {
    columns: {
      app_id: refersTo('apps'),
      user_id: refersTo('people'),
      workspace_id: owner,
      role: oneOf('editor', 'viewer'),
      created_date: time,
    },
  },
  app_files: {
    columns: {
      app_id: refersTo('apps'),
      path: filePath,
      content: z.string(),
      sha256: z.string(),
      size: z.int().min(0).max(maxFileBytes),
      encoding: oneOf('utf-8', 'base64'),
      updated_date: time,
      since_revision: sinceRevision,
    },
    binary: ['content'],
    atMost: { per: 'app_id', rows: maxFiles, sumOf: 'size', sum: maxAppBytes },
    complete: checkFile,
  },
  app_past_contents: {
    columns: {
      app_id: refersTo('apps'),
      sha256: z.string(),
      content: z.string(),
      size: z.int().min(0).max(maxContentBytes),
    },
    binary: ['content'],
    complete: checkContent,
  },
  app_past_versions: {
    columns: {
      app_id: refersTo('apps'),
      kind: oneOf('file', 'entity', 'headers'),
      name: text(0, 400),
      since_revision: counter,
      until_revision: counter,
      sha256: z.string(),
      size: z.int().min(0).max(maxContentBytes),
      encoding: oneOf('utf-8', 'base64'),
      updated_date: time,
    },
    complete: checkVersion,
  },
  app_revisions: {
    columns: {
      app_id: refersTo('apps'),
      revision: counter,
      cause: oneOf(...revisionCauses),
      actor: text(0, 400).nullable(),
      summary: text(0, 400).nullable(),
      restored_revision: counter.nullable(),
      files_added: counter,
      files_changed: counter,
      files_removed: counter,
      entities: list(text(0, 400), 0, 1_000),
      headers_changed: z.boolean(),
      is_kept: z.boolean(),
      created_date: time,
    },
    atMost: { per: 'app_id', rows: 5_000 },
  },
};

function checkVersion(row: Row): Row {
  if (row.kind === 'file' && !filePath.safeParse(row.name).success) throw new ArchiveError('name is not a path');
  return row;
}

function checkContent(row: Row): Row {
  readContent(row);
  return row;
}

function checkFile(row: Row): Row {
  const content = readContent(row);
  if (row.encoding === 'utf-8' && !isUtf8(content)) throw new ArchiveError('content is not UTF-8');
  return row;
}

function readContent(row: Row): Buffer {
  const content = Buffer.from(String(row.content), 'base64');
  const sha256 = createHash('sha256').update(content).digest('hex');
  if (content.toString('base64') !== row.content || content.length !== row.size || sha256 !== row.sha256)
    throw new ArchiveError('content, size and sha256 do not match');
  return content;
}
