// The archive format for ignored findings.
import { z } from 'zod';
import { type ArchiveTable, owner, refersTo, time } from '../../kit/archive/columns.ts';
import { oneOf, text } from '../../kit/http/shapes.ts';
import { fingerprintText } from './contract.ts';
import { findingTypes } from './groups.ts';
import { maxIgnores } from './ignore.ts';

export const securityArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  security_ignores: {
    columns: {
      app_id: refersTo('apps'),
      workspace_id: owner,
      fingerprint: fingerprintText,
      finding_type: oneOf(...findingTypes).nullable(),
      file_path: text(0, 1_024).nullable(),
      title: text(0, 500).nullable(),
      reason: text(0, 500).nullable(),
      secondary: text(0, 128).nullable(),
      covered_rules: z.object({ entity_name: text(1, 200), rules: z.record(z.string(), z.unknown()) }).nullable(),
      absent_since: time.nullable(),
      created_by: text(0, 320),
      created_date: time,
    },
    atMost: { per: 'app_id', rows: maxIgnores },
  },
};
