// Owns the description of app users in an archive.
import { type ArchiveTable, newRowId, refersTo, time } from '../../kit/archive/columns.ts';
import { email, text } from '../../kit/http/shapes.ts';
import { AppUserData, appUserRole } from './contract.ts';

export const appUserArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  app_users: {
    columns: {
      id: newRowId,
      app_id: refersTo('apps'),
      email,
      full_name: text(0, 200),
      role: appUserRole,
      data: AppUserData,
      created_date: time,
      updated_date: time,
    },
  },
};
