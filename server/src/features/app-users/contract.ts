// Owns the schemas of app users, their tokens and their sign-in as a caller sees them (docs/api/app-users.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { NewPassword } from '../../core/identity/passwords.ts';
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
  strictBody,
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

export const defaultTokenSeconds = 3_600;
const expires_in_seconds = optional(integer(60, 86_400)).meta({ description: 'Default: 3600.' });

export const NewAppUserToken = body({ expires_in_seconds });

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

// ---- signing in

/** What a user sees of themselves. Not their `data`: it is for the app's rules, and may contain notes about them. */
export const AppUserSelf = answer('AppUserSelf', {
  id,
  email: z.string(),
  full_name: z.string(),
  role: appUserRole,
  has_password: z.boolean().meta({ description: 'Whether the user has set a password.' }),
  created_date: timestamp,
});

export const AppUserSignedIn = answer('AppUserSignedIn', {
  token: z.string().meta({ description: 'The token of the user. Only this response contains it.' }),
  expires_at: timestamp,
  user: AppUserSelf,
});

export const SignIn = body({ email: text(1, 320), password: text(1, 1024), expires_in_seconds });
export type SignIn = z.output<typeof SignIn>;

export const SignUp = body({ email, full_name: optional(name(0, 200)), password: NewPassword });
export type SignUp = z.output<typeof SignUp>;

export const LinkRequest = body({ email });

export const LinkUse = body({ link_token: text(1, 256), password: optional(NewPassword), expires_in_seconds });
export type LinkUse = z.output<typeof LinkUse>;

export const signUpModes = oneOf('closed', 'invited', 'open');

export const AppAuthSettings = answer('AppAuthSettings', {
  sign_up: signUpModes,
  sign_up_in_effect: signUpModes,
  methods: answer('AppAuthMethods', { password: z.boolean(), link: z.boolean() }),
  link_origin: z.string().nullable(),
});

export const AppAuthSettingsChange = strictBody({
  sign_up: optional(signUpModes),
  methods: optional(
    strictBody({ password: optional(z.boolean()), link: optional(z.boolean()) }).meta({ id: 'AppAuthMethodsChange' }),
  ),
});
export type AppAuthSettingsChange = z.output<typeof AppAuthSettingsChange>;

export const presentSelf = (row: AppUserRow, has_password: boolean): z.input<typeof AppUserSelf> => ({
  id: row.id,
  email: row.email,
  full_name: row.full_name,
  role: row.role,
  has_password,
  created_date: row.created_date.toISOString(),
});
