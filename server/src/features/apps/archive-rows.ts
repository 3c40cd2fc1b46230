// Describes how apps, their shares and their files are stored in an archive.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { publicSettings } from '../../core/identity/app-shapes.ts';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, counter, newRowId, owner, refersTo, time } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { httpsUrl, list, name, oneOf, origin, pattern, text } from '../../kit/http/shapes.ts';
import { filePath, slugPattern } from './contract.ts';
import { maxAppBytes, maxFileBytes, maxFiles } from './files.ts';

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
    },
    binary: ['content'],
    atMost: { per: 'app_id', rows: maxFiles, sumOf: 'size', sum: maxAppBytes },
    complete: checkFile,
  },
};

function checkFile(row: Row): Row {
  const content = Buffer.from(String(row.content), 'base64');
  const sha256 = createHash('sha256').update(content).digest('hex');
  if (content.toString('base64') !== row.content || content.length !== row.size || sha256 !== row.sha256)
    throw new ArchiveError('content, size and sha256 do not match');
  if (row.encoding === 'utf-8' && !isUtf8(content)) throw new ArchiveError('content is not UTF-8');
  return row;
}
