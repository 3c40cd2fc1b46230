// The schemas of accounts: users, sessions, tokens and keys as a caller sees them (docs/api/accounts.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { keyScopes } from '../../core/auth/credentials.ts';
import { NewPassword } from '../../core/identity/passwords.ts';
import { presentUser, User, WorkspaceOfUser } from '../../core/identity/shapes.ts';
import {
  answer,
  body,
  clearable,
  createdDate,
  described,
  email,
  id,
  integer,
  list,
  name,
  optional,
  pageQuery,
  query,
  strictBody,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { Tables } from '../../tables.ts';

export const SetupStatus = answer('Setup', {
  initialised: described(z.boolean(), 'Whether the installation has its first user and workspace.'),
});

const fullNameText = ['The name of the user.', 'Ada Lovelace'] as const;

export const SetupInput = body({
  setup_token: described(
    text(1, 256),
    'The token that the API prints to its log at startup, or the setting `PLINTH_SETUP_TOKEN`.',
    'EXAMPLE-setup-token',
  ),
  email: described(
    email,
    'The e-mail address of the first user, who becomes an operator; the address counts as verified.',
    'ada@example.com',
  ),
  full_name: described(name(1, 200), ...fullNameText),
  password: described(
    NewPassword,
    'The password: 12 to 256 characters, not one of the 10,000 most common.',
    'EXAMPLE passphrase',
  ),
  workspace_name: described(name(1, 100), 'The name of the workspace.', 'Corner Bakery'),
});
export type SetupInput = z.output<typeof SetupInput>;
export const SetupResult = answer('SetUpDone', {
  user: described(User, 'The first user, who is an operator.'),
  workspace: described(WorkspaceOfUser, 'The workspace, with the role of the user in it.'),
});

export const SignInInput = body({
  email: described(text(1, 320), 'The e-mail address of the account.', 'ada@example.com'),
  password: described(text(1, 1024), 'The password of the account.', 'EXAMPLE passphrase'),
});
export const SignInResult = answer('SignedIn', {
  user: described(User, 'The user who has signed in.'),
  workspaces: described(z.array(WorkspaceOfUser), 'The workspaces of the user.'),
});

export const TokenPermission = z.enum(['read_only', 'full_access']);
const permissionField = described(
  TokenPermission,
  'What the credential may do; `read_only` allows only operations that accept it.',
);
const appIdsField = described(
  z.array(id).nullable(),
  'The only apps and agents that the credential reaches; null means all, including later ones.',
  ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
);
const expiresAtField = described(
  timestamp.nullable(),
  'When the credential expires; null if never.',
  '2027-02-13T09:30:00.000Z',
);

export const Me = answer('Me', {
  user: described(User, 'The calling user.'),
  credential: described(
    answer('CredentialInUse', {
      kind: described(
        z.enum(['session', 'personal_token', 'personal_key', 'workspace_key']),
        'The kind of credential.',
      ),
      id: described(
        id,
        'The id of the credential, as in `credential_id` of the audit log.',
        '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
      ),
      permission: permissionField,
      app_ids: appIdsField,
      workspace_id: described(
        id.nullable(),
        'The only workspace in which the credential is valid; null for sessions and personal keys, which are valid in all workspaces of the user.',
        '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
      ),
      expires_at: expiresAtField,
    }),
    'The credential with which the request was made.',
  ),
  workspaces: described(
    z.array(WorkspaceOfUser),
    'The workspaces of the user; with a token, only the workspace of the token.',
  ),
});

export const BrowserSession = answer('BrowserSession', {
  id: described(id, 'The id of the browser session.', '0198c204-0d5e-7ad2-b861-08f4c7e93a5b'),
  current: described(z.boolean(), 'Whether this is the session of the request.'),
  address: described(
    z.string().nullable(),
    'The IP address (for IPv6, the /64 prefix) from which the person signed in; null for sessions that began before it was recorded.',
    '192.0.2.17',
  ),
  browser: described(
    z.string().nullable(),
    'The browser as it identified itself, such as `Firefox on Linux`.',
    'Firefox on Linux',
  ),
  created_date: createdDate,
  last_used_at: described(timestamp, 'When the session was last used.', '2026-11-15T09:30:00.000Z'),
  expires_at: described(timestamp, 'When the session ends if it is not used until then.', '2026-12-15T09:30:00.000Z'),
});
export const EndedSessions = answer('EndedSessions', {
  ended: described(z.int(), 'The number of sessions that were ended.', 2),
});

export const MeChange = body({ full_name: described(optional(name(1, 200)), ...fullNameText) });
export const PasswordChange = body({
  current_password: described(text(1, 1024), 'The current password of the user.', 'EXAMPLE old passphrase'),
  new_password: described(
    NewPassword,
    'The new password: 12 to 256 characters, not one of the 10,000 most common.',
    'EXAMPLE new passphrase',
  ),
});
export const PasswordResetRequest = body({
  email: described(
    email,
    'The e-mail address of the account; the response is the same whether or not an account has it.',
    'ada@example.com',
  ),
});
export const PasswordReset = body({
  reset_token: described(
    text(1, 256),
    'The token of the reset link, which is the part after `#`; it works once, for one hour.',
    'EXAMPLE-reset-token',
  ),
  new_password: described(
    NewPassword,
    'The new password: 12 to 256 characters, not one of the 10,000 most common.',
    'EXAMPLE new passphrase',
  ),
});

export const OperatorUser = answer('OperatedUser', {
  id: described(id, 'The id of the user.', '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605'),
  email: described(z.string(), 'The e-mail address with which the user signs in.', 'ada@example.com'),
  full_name: described(z.string(), ...fullNameText),
  is_operator: described(z.boolean(), 'Whether the user runs the installation and may call operator operations.'),
  email_verified: described(
    z.boolean(),
    'Whether the e-mail address is verified, usually by a link that was sent to it.',
  ),
  deactivated_at: described(
    timestamp.nullable(),
    'When an operator deactivated the account; null while the account is active.',
    null,
  ),
  created_date: createdDate,
});
export const OperatorUserQuery = query({
  ...pageQuery,
  email: described(text(1, 320).optional(), 'Only the user with this e-mail address.', 'grace@example.com'),
});

export type UserRow = Selectable<Tables['users']>;

export const presentOperatorUser = (user: UserRow): z.input<typeof OperatorUser> => ({
  ...presentUser(user),
  deactivated_at: iso(user.deactivated_at),
  created_date: user.created_date.toISOString(),
});

const tokenNameText = ['The name of the token, for people to recognise it.', 'CI'] as const;
const last4Field = described(z.string(), 'The last 4 characters of the credential, to recognise it.', 'GPdQ');
const lastUsedAtField = described(
  timestamp.nullable(),
  'When the credential was last used, updated at most once a minute; null if never.',
  '2026-11-15T09:30:00.000Z',
);

const tokenFields = {
  id: described(id, 'The id of the token, which is not the token itself.', '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40'),
  name: described(z.string(), ...tokenNameText),
  permission: permissionField,
  app_ids: appIdsField,
  workspace_id: described(
    id,
    'The only workspace in which the token is valid.',
    '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  ),
  last4: last4Field,
  created_date: createdDate,
  expires_at: expiresAtField,
  last_used_at: lastUsedAtField,
};
const secretText = 'The credential itself. Only this response contains it; in an idempotent replay it is null.';

export const Token = answer('Token', tokenFields);
export const CreatedToken = answer('CreatedToken', {
  ...tokenFields,
  token: described(z.string().nullable(), secretText, 'plp_EXAMPLE'),
});
export const WorkspaceToken = answer('WorkspaceToken', {
  ...tokenFields,
  owner_email: described(z.string(), 'The e-mail address of the member for whom the token acts.', 'ada@example.com'),
});

export const NewToken = strictBody({
  name: described(name(1, 100), ...tokenNameText),
  permission: described(optional(TokenPermission), 'What the token may do; `read_only` by default.'),
  app_ids: described(
    clearable(list(z.string(), 1, 100)),
    'Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, including later ones.',
    ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  ),
  expires_in_days: described(
    clearable(integer(1, 365)),
    'The number of days after which the token expires, 90 by default; null means never.',
    30,
  ),
});
export type NewToken = z.output<typeof NewToken>;
export const TokenChange = body({ name: described(name(1, 100), ...tokenNameText) });

export const ApiKey = answer('ApiKey', {
  id: described(id, 'The id of the key, which is not the key itself.', '0198c1f5-9d04-7b6c-8e21-3fa0d7c5b916'),
  name: described(z.string(), 'The name of the key.', 'Old importer'),
  permission: permissionField,
  last4: last4Field,
  created_date: createdDate,
  last_used_at: lastUsedAtField,
});

const keyNameText = ['The name of the key, for people to recognise it.', 'Nightly build'] as const;
const keyDescriptionText = [
  'What the key is for; empty if no description was given.',
  'Nightly build of the order book',
] as const;

const keyFields = {
  id: described(id, 'The id of the key, which is not the key itself.', '0198c1f5-2f6a-7198-a7c3-90d5e48b1f6e'),
  name: described(z.string(), ...keyNameText),
  description: described(z.string(), ...keyDescriptionText),
  scopes: described(
    z.array(z.enum(keyScopes)),
    'What the key may do; an operation that requires a scope refuses keys without it.',
    ['apps:read', 'apps:write'],
  ),
  app_ids: appIdsField,
  last4: last4Field,
  created_by: described(
    z.string().nullable(),
    'The e-mail address of the person who created the key; null if unknown.',
    'ada@example.com',
  ),
  parent_id: described(
    id.nullable(),
    'The id of the token that created the key, which ends with that token; null if it was created in a session.',
    '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  ),
  created_date: createdDate,
  expires_at: expiresAtField,
  last_used_at: lastUsedAtField,
};
export const WorkspaceKey = answer('WorkspaceKey', keyFields);
export const CreatedWorkspaceKey = answer('CreatedWorkspaceKey', {
  ...keyFields,
  token: described(z.string().nullable(), secretText, 'plw_EXAMPLE'),
});
export const NewWorkspaceKey = strictBody({
  name: described(name(1, 100), ...keyNameText),
  description: described(optional(text(0, 500)), ...keyDescriptionText),
  scopes: described(
    list(z.enum(keyScopes), 1, 8),
    'What the key may do; an operation that requires a scope refuses keys without it.',
    ['apps:read', 'apps:write'],
  ),
  app_ids: described(
    clearable(list(z.string(), 1, 100)),
    'Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, including later ones.',
    ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  ),
  expires_in_days: described(
    clearable(integer(1, 365)),
    'The number of days after which the key expires; null means never. By default, it expires with the token that creates it, if any.',
    365,
  ),
});
export type NewWorkspaceKey = z.output<typeof NewWorkspaceKey>;
export const WorkspaceKeyChange = body({
  name: described(optional(name(1, 100)), ...keyNameText),
  description: described(optional(text(0, 500)), ...keyDescriptionText),
});

export interface CredentialRow {
  id: string;
  name: string;
  description: string;
  permission: 'read_only' | 'full_access';
  app_ids: string[] | null;
  scopes: string[] | null;
  workspace_id: string | null;
  last4: string;
  created_by: string | null;
  parent_id: string | null;
  created_date: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
}

export interface SessionRow {
  id: string;
  address: string | null;
  browser: string | null;
  created_date: Date;
  last_used_at: Date | null;
  expires_at: Date | null;
}

/** A session always has these times. The columns are null only for other kinds of credential. */
export const presentSession = (row: SessionRow, currentId: string): z.input<typeof BrowserSession> => ({
  id: row.id,
  current: row.id === currentId,
  address: row.address,
  browser: row.browser,
  created_date: row.created_date.toISOString(),
  last_used_at: (row.last_used_at ?? row.created_date).toISOString(),
  expires_at: (row.expires_at ?? row.created_date).toISOString(),
});

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

export const presentToken = (row: CredentialRow): z.input<typeof Token> => ({
  id: row.id,
  name: row.name,
  permission: row.permission,
  app_ids: row.app_ids,
  workspace_id: row.workspace_id as string,
  last4: row.last4,
  created_date: row.created_date.toISOString(),
  expires_at: iso(row.expires_at),
  last_used_at: iso(row.last_used_at),
});

export const presentApiKey = (row: CredentialRow): z.input<typeof ApiKey> => ({
  id: row.id,
  name: row.name,
  permission: row.permission,
  last4: row.last4,
  created_date: row.created_date.toISOString(),
  last_used_at: iso(row.last_used_at),
});

export const presentWorkspaceKey = (row: CredentialRow): z.input<typeof WorkspaceKey> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  scopes: row.scopes as z.input<typeof WorkspaceKey>['scopes'],
  app_ids: row.app_ids,
  last4: row.last4,
  created_by: row.created_by,
  parent_id: row.parent_id,
  created_date: row.created_date.toISOString(),
  expires_at: iso(row.expires_at),
  last_used_at: iso(row.last_used_at),
});
