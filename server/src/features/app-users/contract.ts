// The schemas of app users, their tokens and their sign-in as a caller sees them (docs/api/app-users.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { NewPassword } from '../../core/identity/passwords.ts';
import {
  answer,
  body,
  createdDate,
  described,
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
  updatedDate,
} from '../../kit/http/shapes.ts';
import type { Tables } from '../../tables.ts';

export type AppUserRow = Selectable<Tables['app_users']>;
export type UserData = Readonly<Record<string, unknown>>;

export const appUserRole = oneOf('admin', 'user');

const fullNameText = ['The name of the user; empty by default.', 'Grace Hopper'] as const;

export const AppUser = answer('AppUser', {
  id: described(
    id,
    'The id of the user, which rules compare with `created_by_id` of records.',
    '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8',
  ),
  email: described(
    z.string(),
    'The e-mail address of the user, unique in the app regardless of case.',
    'grace@example.com',
  ),
  full_name: described(z.string(), ...fullNameText),
  role: described(appUserRole, 'The role of the user, which matters only in the rules of the app.'),
  data: described(
    z.record(z.string(), z.unknown()),
    'Any attributes of the user, for use in the rules of the app; at most 16 KiB as JSON.',
    { tier: 'gold' },
  ),
  created_date: createdDate,
  updated_date: updatedDate,
});
export const AppUsers = items(AppUser);

export const AppUserData = freeObject(16 * 1024);

const fields = {
  full_name: described(optional(name(0, 200)), ...fullNameText),
  role: described(
    optional(appUserRole),
    'The role of the user, `user` by default, which matters only in the rules of the app.',
  ),
  data: described(
    optional(AppUserData),
    'Any attributes of the user, for use in the rules of the app; at most 16 KiB as JSON.',
    { tier: 'gold' },
  ),
};

export const NewAppUser = body({
  email: described(
    email,
    'The e-mail address of the user, which must be unique in the app regardless of case.',
    'grace@example.com',
  ),
  ...fields,
});
export type NewAppUser = z.output<typeof NewAppUser>;

export const AppUserChange = body({
  email: described(
    optional(email),
    'The e-mail address of the user, which must be unique in the app regardless of case.',
    'grace@example.com',
  ),
  ...fields,
  data: described(
    fields.data,
    'Attributes to merge into the stored ones, key by key; null removes a key, and the result has at most 16 KiB.',
    { tier: 'gold' },
  ),
});
export type AppUserChange = z.output<typeof AppUserChange>;

export const AppUserQuery = query({
  ...pageQuery,
  search: described(text(0, 256).optional(), 'Text that the e-mail address or the name must contain.', 'grace'),
});
export type AppUserQuery = z.output<typeof AppUserQuery>;

export const defaultTokenSeconds = 3_600;
const expires_in_seconds = described(
  optional(integer(60, 86_400)),
  'How many seconds the token is valid; 3600 by default.',
  3600,
);

export const NewAppUserToken = body({ expires_in_seconds });

export const AppUserToken = answer('AppUserToken', {
  token: described(z.string().nullable(), 'The token itself. Only the first response contains it.', 'plu_EXAMPLE'),
  expires_at: described(
    timestamp,
    'When the token expires, an hour after its creation unless requested otherwise.',
    '2026-11-15T10:30:00.000Z',
  ),
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

/**
 * A user's view of their own account, without `data`, which is meant for the app's rules and may contain notes about
 * the user.
 */
export const AppUserSelf = answer('AppUserSelf', {
  id: described(
    id,
    'The id of the user, which rules compare with `created_by_id` of records.',
    '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8',
  ),
  email: described(z.string(), 'The e-mail address of the user.', 'grace@example.com'),
  full_name: described(z.string(), ...fullNameText),
  role: described(appUserRole, 'The role of the user, which matters only in the rules of the app.'),
  has_password: described(z.boolean(), 'Whether the user has set a password.'),
  created_date: createdDate,
});

export const AppUserSignedIn = answer('AppUserSignedIn', {
  token: described(z.string(), 'The token of the user. Only this response contains it.', 'plu_EXAMPLE'),
  expires_at: described(
    timestamp,
    'When the token expires, an hour after its creation unless requested otherwise.',
    '2026-11-15T10:30:00.000Z',
  ),
  user: described(AppUserSelf, 'The user who has signed in.'),
});

export const SignIn = body({
  email: described(text(1, 320), 'The e-mail address of the user.', 'grace@example.com'),
  password: described(text(1, 1024), 'The password of the user.', 'EXAMPLE passphrase'),
  expires_in_seconds,
});
export type SignIn = z.output<typeof SignIn>;

export const SignUp = body({
  email: described(email, 'The e-mail address of the user, to which the link is sent.', 'grace@example.com'),
  full_name: described(optional(name(0, 200)), ...fullNameText),
  password: described(
    NewPassword,
    'The password with which the user will sign in; it is stored when the link is used.',
    'EXAMPLE passphrase',
  ),
});
export type SignUp = z.output<typeof SignUp>;

export const LinkRequest = body({
  email: described(email, 'The e-mail address of the user, to which the link is sent.', 'grace@example.com'),
});

export const LinkUse = body({
  link_token: described(text(1, 256), 'The token of the link: the part after `#plinth_link=`.', 'EXAMPLE-link-token'),
  password: described(
    optional(NewPassword),
    'A new password for the user; required if links do not sign users in.',
    'EXAMPLE passphrase',
  ),
  expires_in_seconds,
});
export type LinkUse = z.output<typeof LinkUse>;

export const signUpModes = oneOf('closed', 'invited', 'open');

export const AppAuthSettings = answer('AppAuthSettings', {
  sign_up: described(
    signUpModes,
    'Who can sign up: nobody (`closed`), people whom `createAppUser` has created (`invited`), or everybody (`open`).',
  ),
  sign_up_in_effect: described(
    signUpModes,
    'Who can sign up at present: as `sign_up` says, but `invited` instead of `open` unless `public_settings` of the app is `public_with_login` or `public_without_login`, and `closed` if this installation cannot send mail or both ways to sign in are off.',
  ),
  methods: described(
    answer('AppAuthMethods', {
      password: described(z.boolean(), 'Whether users can sign in with a password.'),
      link: described(
        z.boolean(),
        'Whether a link that is sent by mail signs the user in; if not, it only sets a password.',
      ),
    }),
    'The ways in which users can sign in.',
  ),
  link_origin: described(
    z.string().nullable(),
    'The address that links lead to: that of the app, or else its first public origin. If null, no mail is sent.',
    'https://orders.example.com',
  ),
});

export const AppAuthSettingsChange = strictBody({
  sign_up: described(
    optional(signUpModes),
    'Who can sign up: nobody, people whom `createAppUser` has created, or everybody.',
  ),
  methods: described(
    optional(
      strictBody({
        password: described(optional(z.boolean()), 'Whether users can sign in with a password.'),
        link: described(optional(z.boolean()), 'Whether a link that is sent by mail signs the user in.'),
      }).meta({ id: 'AppAuthMethodsChange' }),
    ),
    'The ways in which users can sign in; fields that are not sent keep their value.',
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
