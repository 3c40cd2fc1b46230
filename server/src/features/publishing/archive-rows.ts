// Defines how apps' security settings are stored in an archive.
import { z } from 'zod';
import { type ArchiveTable, refersTo, sinceRevision } from '../../kit/archive/columns.ts';
import { headerSettings } from './contract.ts';

export const publishingArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  app_security_settings: {
    columns: {
      app_id: refersTo('apps'),
      static_code_enabled: z.boolean().nullable(),
      csp: headerSettings.csp.nullable(),
      hsts: headerSettings.hsts.nullable(),
      frame_options: headerSettings.frame_options.nullable(),
      content_type_options: headerSettings.content_type_options.nullable(),
      referrer_policy: headerSettings.referrer_policy.nullable(),
      permissions_policy: headerSettings.permissions_policy.nullable(),
      since_revision: sinceRevision,
    },
    atMost: { per: 'app_id', rows: 1 },
  },
};
