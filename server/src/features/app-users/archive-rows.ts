// Describes how app users and their sign-in settings are stored in an archive.
import { z } from 'zod';
import { type ArchiveTable, newRowId, refersTo, time } from '../../kit/archive/columns.ts';
import { email, text } from '../../kit/http/shapes.ts';
import { AppUserData, appUserRole, signUpModes } from './contract.ts';

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
  app_auth_settings: {
    columns: {
      app_id: refersTo('apps'),
      sign_up: signUpModes,
      password_enabled: z.boolean(),
      link_enabled: z.boolean(),
      updated_date: time,
    },
  },
};
