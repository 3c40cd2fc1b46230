// The single query per request that finds the caller, the workspace and the role. The result is never cached, so a
// revoked credential, a block or a role change takes effect in every process on the next request.

import type { AnyDb } from '../../../kit/db/database.ts';
import { prepared, preparedLookup } from '../../../kit/db/database.ts';
import type { Plan } from '../plans.ts';
import type { AppRow } from '../proofs.ts';
import type { WorkspaceRole } from '../roles.ts';
import type { CredentialKind } from '../tokens.ts';

export interface LookupResult {
  credential_id: string;
  kind: CredentialKind;
  user_id: string | null;
  app_user_id: string | null;
  /** The workspace that the credential is bound to, or a session's last workspace. */
  credential_workspace_id: string | null;
  permission: 'read_only' | 'full_access';
  app_ids: string[] | null;
  scopes: string[] | null;
  expires_at: string | null;
  last_used_at: string | null;
  /** Whether a session must come in the cookie that only this host can set. */
  host_cookie: boolean;
  email: string | null;
  is_operator: boolean | null;
  /** The request's workspace. */
  workspace_id: string | null;
  plan: Plan | null;
  rate_multiplier: number | null;
  role: WorkspaceRole | null;
  access_state: 'active' | 'blocked' | null;
}

/** A row as `to_json` writes it, with times as text. */
export type JsonRow<Row> = { [Column in keyof Row]: JsonValue<Row[Column]> };
type JsonValue<Value> = Value extends Date ? string : Value;

const callerColumns = `
  c.id as credential_id, c.kind, c.user_id, c.app_user_id, c.workspace_id as credential_workspace_id, c.permission,
  c.app_ids, c.scopes, c.expires_at, c.last_used_at, c.host_cookie, u.email, u.is_operator,
  w.id as workspace_id, w.plan, w.rate_multiplier, m.role, m.access_state`;

// These credentials are valid only in their own workspace, and are counted there regardless of the path.
const boundWorkspace =
  "case when c.kind in ('personal_token', 'workspace_key', 'app_user_token') then c.workspace_id end";

const lastUsedOrFirstJoined = `(
    select f.workspace_id from memberships f join workspaces fw on fw.id = f.workspace_id and fw.deleted_date is null
    where f.user_id = c.user_id order by (f.workspace_id = c.workspace_id) desc nulls last, f.created_date limit 1)`;

/**
 * Tests whether a time is unset, in a form that does not match any partial index. On empty tables the planner would
 * prefer a small partial index to the primary key, and would then read the whole index for each lookup once the table
 * has grown.
 */
const isUnset = (column: string) => `coalesce(${column}, 'infinity') = 'infinity'`;

/**
 * Builds the SQL for a lookup. `$1` is the credential's hash or id. `joins` adds the resource with the id `$2`.
 * `workspace` is a list of SQL expressions, the first non-null of which is the request's workspace. A credential that
 * was revoked, or whose person was deactivated, is not found. The row is returned as one JSON value, because the driver
 * parses it much faster than about 35 columns.
 */
const buildStatement = (columns: string, joins: string, workspace: string, by: 'hash' | 'id' = 'hash') => `/* lookup */
  select to_json(x) as found from (select ${callerColumns}${columns}
  from credentials c
  left join users u on u.id = c.user_id
  ${joins}
  left join workspaces w on w.id = coalesce(${workspace}) and w.deleted_date is null
  left join memberships m on m.workspace_id = w.id and m.user_id = c.user_id
  where c.${by} = $1 and ${isUnset('c.revoked_at')} and u.deactivated_at is null) x`;

type LookupValues = readonly [hash: Buffer, id: string | null];

const prepareLookup = <Row extends LookupResult>(name: string, text: string) =>
  preparedLookup<Row, LookupValues>(name, text, ['bytea', 'uuid']);

/**
 * The workspace that the credential is bound to, or else the requested one (`$2`), the last used or the first joined.
 */
const chosenWorkspace = `${boundWorkspace}, $2::uuid, ${lastUsedOrFirstJoined}`;

/** Looks up a caller in a workspace. */
export const lookUpWorkspace = prepareLookup<LookupResult>(
  'look up workspace',
  buildStatement('', '', chosenWorkspace),
);

const readWorkspaceByCredentialId = prepared<{ found: LookupResult }, [credentialId: string, workspaceId: string]>(
  'look up workspace by credential id',
  buildStatement('', '', chosenWorkspace, 'id'),
);

/** For what continues after the request that began it. Undefined if the credential was revoked or removed. */
export const lookUpWorkspaceByCredentialId = async (db: AnyDb, credentialId: string, workspaceId: string) =>
  (await readWorkspaceByCredentialId(db, credentialId, workspaceId))[0]?.found;

export type PersonLookup = LookupResult & { person: 'member' | 'invitation' | null };

/**
 * Like `lookUpWorkspace`, and also reads whether the e-mail address `$3` belongs to a member or an open invitation of
 * the workspace.
 */
export const lookUpPerson = preparedLookup<PersonLookup, readonly [...LookupValues, email: string]>(
  'look up person',
  buildStatement(
    `, case
      when exists (select from users pu join memberships pm on pm.user_id = pu.id
        where pu.email = $3 and pm.workspace_id = w.id) then 'member'
      when exists (select from invitations i
        where i.workspace_id = w.id and i.email = $3 and i.accepted_at is null) then 'invitation' end as person`,
    '',
    chosenWorkspace,
  ),
  ['bytea', 'uuid', 'text'],
);

// ---- an app in the path

const appColumns = [
  'id',
  'workspace_id',
  'app_type',
  'owner_id',
  'name',
  'slug',
  'user_description',
  'logo_url',
  'visibility',
  'public_settings',
  'public_origins',
  'hide_authorship',
  'status_state',
  'status_message',
  'status_error_source',
  'revision',
  'live_deployment_id',
  'published_revision',
  'published_at',
  'published_by',
  'created_date',
  'updated_date',
  'deleted_date',
] as const;

type AppColumns = { app_owner_email: string } & {
  [Column in (typeof appColumns)[number] as `app_${Column}`]: JsonValue<AppRow[Column]>;
};
type NoAppColumns = { [Column in keyof AppColumns]: null };

export type AppLookup = LookupResult & { share_role: 'editor' | 'viewer' | null } & (AppColumns | NoAppColumns);

/** Returns the app that a lookup found, if any. */
export function toAppRow(lookup: AppColumns | NoAppColumns): AppRow | undefined {
  if (lookup.app_id === null) return undefined;
  return {
    id: lookup.app_id,
    workspace_id: lookup.app_workspace_id,
    app_type: lookup.app_app_type,
    owner_id: lookup.app_owner_id,
    owner_email: lookup.app_owner_email,
    name: lookup.app_name,
    slug: lookup.app_slug,
    user_description: lookup.app_user_description,
    logo_url: lookup.app_logo_url,
    visibility: lookup.app_visibility,
    public_settings: lookup.app_public_settings,
    public_origins: lookup.app_public_origins,
    hide_authorship: lookup.app_hide_authorship,
    status_state: lookup.app_status_state,
    status_message: lookup.app_status_message,
    status_error_source: lookup.app_status_error_source,
    revision: lookup.app_revision,
    live_deployment_id: lookup.app_live_deployment_id,
    published_revision: lookup.app_published_revision,
    published_at: lookup.app_published_at === null ? null : new Date(lookup.app_published_at),
    published_by: lookup.app_published_by,
    created_date: new Date(lookup.app_created_date),
    updated_date: new Date(lookup.app_updated_date),
    deleted_date: lookup.app_deleted_date === null ? null : new Date(lookup.app_deleted_date),
  };
}

const allAppColumns = `o.email as app_owner_email, ${appColumns.map((column) => `a.${column} as app_${column}`).join(', ')}`;

const buildAppStatement = (place: 'live' | 'in trash', columns: string, joins: string, by: 'hash' | 'id' = 'hash') =>
  buildStatement(
    `, s.role as share_role, ${allAppColumns}${columns}`,
    `left join apps a on a.id = $2::uuid and ${place === 'live' ? '' : 'not '}(${isUnset('a.deleted_date')})
     left join users o on o.id = a.owner_id
     left join app_shares s on s.app_id = a.id and s.user_id = c.user_id
     ${joins}`,
    `${boundWorkspace}, a.workspace_id`,
    by,
  );

/** Looks up a caller with an app (`$2`). The result includes the app's row, so reading an app needs no second query. */
export const lookUpApp = prepareLookup<AppLookup>('look up app', buildAppStatement('live', '', ''));
export const lookUpTrashedApp = prepareLookup<AppLookup>('look up app in trash', buildAppStatement('in trash', '', ''));

const readAppByCredentialId = prepared<{ found: AppLookup }, [credentialId: string, appId: string]>(
  'look up app by credential id',
  buildAppStatement('live', '', '', 'id'),
);

/** For work that continues after the request that started it. Undefined if the credential was revoked or removed. */
export const lookUpAppByCredentialId = async (db: AnyDb, credentialId: string, appId: string) =>
  (await readAppByCredentialId(db, credentialId, appId))[0]?.found;

// ---- an app's data

export type AppDataLookup = AppLookup & {
  full_name: string | null;
  /** The app user whose token was sent. For a member with a verified e-mail address, the app user with that address. */
  app_user: { email: string; full_name: string; role: string; data: Record<string, unknown> } | null;
};

const dataColumns = ', u.full_name, coalesce(own, alike) as app_user';
const dataJoins = `left join app_users own on own.app_id = a.id and own.id = c.app_user_id
     left join app_users alike on alike.app_id = a.id and alike.email = u.email and u.email_verified_at is not null`;

/** Looks up a caller with an app (`$2`), and the facts about the caller that the app's rules use. */
export const lookUpAppData = prepareLookup<AppDataLookup>(
  'look up app data',
  buildAppStatement('live', dataColumns, dataJoins),
);

/** A caller without credentials, and an app that admits them. */
export type AnonymousLookup = AppColumns & {
  kind: 'anonymous';
  credential_id: null;
  user_id: null;
  app_user_id: null;
  email: null;
  workspace_id: string;
  plan: Plan;
};

const anonymousColumns = `select 'anonymous' as kind, null as credential_id, null as user_id,
      null as app_user_id, null as email, w.id as workspace_id, w.plan, ${allAppColumns}`;
const anonymousJoins = `join users o on o.id = a.owner_id
    join workspaces w on w.id = a.workspace_id and w.deleted_date is null`;

function prepareAnonymousLookup(name: string, condition: string) {
  const lookUp = preparedLookup<AnonymousLookup, [id: string]>(
    name,
    `/* lookup */
    select to_json(x) as found from (${anonymousColumns}
    from apps a
    ${anonymousJoins}
    where a.id = $1::uuid and ${isUnset('a.deleted_date')} and ${condition}) x`,
    ['uuid'],
  );
  return async (db: AnyDb, id: string | null): Promise<AnonymousLookup | undefined> =>
    id === null ? undefined : lookUp(db, id);
}

/** Finds only open apps, so a caller can't distinguish a closed app from an unknown one. */
export const lookUpOpenApp = prepareAnonymousLookup('look up open app', "a.public_settings = 'public_without_login'");

/** Finds any app, because anyone may try to sign in to it. */
export const lookUpAnyApp = prepareAnonymousLookup('look up any app', 'true');

/** A caller who knows a hook's token, and the row that the hook belongs to. */
export type HookLookup = AnonymousLookup & { hook_id: string; rate_multiplier: number | null };

/** Finds the hook whose token has the hash `$1`. The table must have the columns `workspace_id`, `app_id` and `id`. */
export function prepareHookLookup(table: string) {
  const lookUp = preparedLookup<HookLookup, [hash: string]>(
    `look up hook of ${table}`,
    `/* lookup */
    select to_json(x) as found from (${anonymousColumns}, w.rate_multiplier, r.id as hook_id
    from ${table} r
    join apps a on a.workspace_id = r.workspace_id and a.id = r.app_id and ${isUnset('a.deleted_date')}
    ${anonymousJoins}
    where r.hook_token_hash = $1) x`,
    ['text'],
  );
  return async (db: AnyDb, hash: string | undefined): Promise<HookLookup | undefined> =>
    hash === undefined ? undefined : lookUp(db, hash);
}

export type AppDataRowLookup<Row> = AppDataLookup & { resource: Row | null };

/** Like `lookUpAppData`, and also returns row `$3` of a table that has the columns `app_id` and `id`. */
export const prepareAppDataRowLookup = <Row>(table: string) =>
  prepareRowLookup<AppDataRowLookup<Row>>(`look up app data with ${table}`, table, dataColumns, dataJoins);

function prepareRowLookup<Row extends LookupResult>(name: string, table: string, columns: string, joins: string) {
  const joinRow = `left join ${table} r on r.app_id = a.id and r.id = $3::uuid`;
  const text = buildAppStatement('live', `${columns}, r as resource`, `${joins} ${joinRow}`);
  return preparedLookup<Row, readonly [...LookupValues, rowId: string | null]>(name, text, ['bytea', 'uuid', 'uuid']);
}

// ---- a row of a feature's table

export type AppRowLookup<Row> = AppLookup & { resource: JsonRow<Row> | null };

/** Like `lookUpApp`, and also returns row `$3` of a table that has the columns `app_id` and `id`. */
export const prepareAppRowLookup = <Row>(table: string) =>
  prepareRowLookup<AppRowLookup<Row>>(`look up app with ${table}`, table, '', '');

export type ResourceLookup<Row> = LookupResult & { resource: JsonRow<Row> | null };

/** Looks up a caller with row `$2` of a table that has the columns `id` and `workspace_id`. */
export const prepareResourceLookup = <Row>(table: string) =>
  prepareLookup<ResourceLookup<Row>>(
    `look up ${table}`,
    buildStatement(', r as resource', `left join ${table} r on r.id = $2::uuid`, `${boundWorkspace}, r.workspace_id`),
  );
