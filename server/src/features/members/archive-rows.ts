// Defines how memberships are stored in an archive.
import { z } from 'zod';
import { workspaceRoles } from '../../core/auth/roles.ts';
import { type ArchiveTable, owner, refersTo, time } from '../../kit/archive/columns.ts';
import { oneOf } from '../../kit/http/shapes.ts';

export const memberArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  memberships: {
    columns: {
      workspace_id: owner,
      user_id: refersTo('people'),
      role: z.enum(workspaceRoles),
      access_state: oneOf('active', 'blocked'),
      created_date: time,
      updated_date: time,
      credit_limit: z.number().min(0).max(1e12).nullable(),
      assigned_via: oneOf('direct', 'app_share'),
    },
  },
};
