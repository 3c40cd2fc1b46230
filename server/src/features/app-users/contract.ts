// Owns the schemas of app users and their tokens as a caller sees them (docs/api/app-users.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import {
  answer,
  body,
  email,
  freeObject,
  id,
  integer,
  items,
  name,
  oneOf,
  optional,
  pageQuery,
  query,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { Tables } from '../../tables.ts';

export type AppUserRow = Selectable<Tables['app_users']>;
export type UserData = Readonly<Record<string, unknown>>;

export const appUserRole = oneOf('admin', 'user');

export const AppUser = answer('AppUser', {
  id,
  email: z.string(),
  full_name: z.string(),
  role: appUserRole,
  data: z.record(z.string(), z.unknown()),
  created_date: timestamp,
  updated_date: timestamp,
});
export const AppUsers = items(AppUser);

export const AppUserData = freeObject(16 * 1024);

const fields = { full_name: optional(name(0, 200)), role: optional(appUserRole), data: optional(AppUserData) };

export const NewAppUser = body({ email, ...fields });
export type NewAppUser = z.output<typeof NewAppUser>;

export const AppUserChange = body({ email: optional(email), ...fields });
export type AppUserChange = z.output<typeof AppUserChange>;

export const AppUserQuery = query({
  ...pageQuery,
  search: text(0, 256).optional().meta({ description: 'Part of the e-mail address or the name.' }),
});
export type AppUserQuery = z.output<typeof AppUserQuery>;

export const NewAppUserToken = body({
  expires_in_seconds: optional(integer(60, 86_400)).meta({ description: 'Default: 3600.' }),
});

export const AppUserToken = answer('AppUserToken', {
  token: z.string().meta({ description: 'The token itself. Only this response contains it.' }),
  expires_at: timestamp,
});

export const presentAppUser = (row: AppUserRow): z.input<typeof AppUser> => ({
  id: row.id,
  email: row.email,
  full_name: row.full_name,
  role: row.role,
  data: row.data as Record<string, unknown>,
  created_date: row.created_date.toISOString(),
  updated_date: row.updated_date.toISOString(),
});
