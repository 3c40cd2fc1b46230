// Owns the schemas of accounts: users, sessions, tokens and keys as a caller sees them (docs/api/accounts.md).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { keyScopes } from '../../core/auth/credentials.ts';
import { NewPassword } from '../../core/identity/passwords.ts';
import { presentUser, User, WorkspaceOfUser } from '../../core/identity/shapes.ts';
import {
  answer,
  body,
  clearable,
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

export const SetupStatus = answer('Setup', { initialised: z.boolean() });
export const SetupInput = body({
  setup_token: text(1, 256),
  email,
  full_name: name(1, 200),
  password: NewPassword,
  workspace_name: name(1, 100),
});
export type SetupInput = z.output<typeof SetupInput>;
export const SetupResult = answer('SetUpDone', { user: User, workspace: WorkspaceOfUser });

export const SignInInput = body({ email: text(1, 320), password: text(1, 1024) });
export const SignInResult = answer('SignedIn', { user: User, workspaces: z.array(WorkspaceOfUser) });

export const Me = answer('Me', {
  user: User,
  credential: answer('CredentialInUse', {
    kind: z.enum(['session', 'personal_token', 'personal_key', 'workspace_key']),
    id,
    permission: z.enum(['read_only', 'full_access']),
    app_ids: z.array(id).nullable(),
    workspace_id: id.nullable(),
    expires_at: timestamp.nullable(),
  }),
  workspaces: z.array(WorkspaceOfUser),
});

export const BrowserSession = answer('BrowserSession', {
  id,
  current: z.boolean().meta({ description: 'Whether this is the session of the request.' }),
  address: z.string().nullable().meta({
    description:
      'The IP address (IPv6: the /64) at which the person signed in. Null for sessions from before it was recorded.',
  }),
  browser: z.string().nullable().meta({ description: 'What the browser said that it is, such as `Firefox on Linux`.' }),
  created_date: timestamp,
  last_used_at: timestamp,
  expires_at: timestamp,
});
export const EndedSessions = answer('EndedSessions', { ended: z.int() });

export const MeChange = body({ full_name: optional(name(1, 200)) });
export const PasswordChange = body({ current_password: text(1, 1024), new_password: NewPassword });
export const PasswordResetRequest = body({ email });
export const PasswordReset = body({ reset_token: text(1, 256), new_password: NewPassword });

export const OperatorUser = answer('OperatedUser', {
  id,
  email: z.string(),
  full_name: z.string(),
  is_operator: z.boolean(),
  email_verified: z.boolean(),
  deactivated_at: timestamp.nullable(),
  created_date: timestamp,
});
export const OperatorUserQuery = query({ ...pageQuery, email: text(1, 320).optional() });

export type UserRow = Selectable<Tables['users']>;

export const presentOperatorUser = (user: UserRow): z.input<typeof OperatorUser> => ({
  ...presentUser(user),
  deactivated_at: iso(user.deactivated_at),
  created_date: user.created_date.toISOString(),
});

const tokenFields = {
  id,
  name: z.string(),
  permission: z.enum(['read_only', 'full_access']),
  app_ids: z.array(id).nullable(),
  workspace_id: id,
  last4: z.string(),
  created_date: timestamp,
  expires_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
};
const secretText = z
  .string()
  .nullable()
  .meta({ description: 'The credential itself. Only this response contains it; in an idempotent replay it is null.' });

export const Token = answer('Token', tokenFields);
export const CreatedToken = answer('CreatedToken', { ...tokenFields, token: secretText });
export const WorkspaceToken = answer('WorkspaceToken', { ...tokenFields, owner_email: z.string() });

export const NewToken = strictBody({
  name: name(1, 100),
  permission: optional(z.enum(['read_only', 'full_access'])),
  app_ids: clearable(list(z.string(), 1, 100)),
  expires_in_days: clearable(integer(1, 365)),
});
export type NewToken = z.output<typeof NewToken>;
export const TokenChange = body({ name: name(1, 100) });

export const ApiKey = answer('ApiKey', {
  id,
  name: z.string(),
  permission: z.enum(['read_only', 'full_access']),
  last4: z.string(),
  created_date: timestamp,
  last_used_at: timestamp.nullable(),
});

const keyFields = {
  id,
  name: z.string(),
  description: z.string(),
  scopes: z.array(z.enum(keyScopes)),
  app_ids: z.array(id).nullable(),
  last4: z.string(),
  created_by: z.string().nullable(),
  parent_id: id.nullable().meta({
    description: 'The token that created the key: the key ends with it. Null if it was created in a session.',
  }),
  created_date: timestamp,
  expires_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
};
export const WorkspaceKey = answer('WorkspaceKey', keyFields);
export const CreatedWorkspaceKey = answer('CreatedWorkspaceKey', { ...keyFields, token: secretText });
export const NewWorkspaceKey = strictBody({
  name: name(1, 100),
  description: optional(text(0, 500)),
  scopes: list(z.enum(keyScopes), 1, 8),
  app_ids: clearable(list(z.string(), 1, 100)),
  expires_in_days: clearable(integer(1, 365)),
});
export type NewWorkspaceKey = z.output<typeof NewWorkspaceKey>;
export const WorkspaceKeyChange = body({ name: optional(name(1, 100)), description: optional(text(0, 500)) });

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

/** A session always has these times; the column is null for other credentials. */
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
