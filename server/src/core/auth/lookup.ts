// Owns the one query per request that answers who calls, in which workspace and with which role. Its result is never
// cached, so every process sees a revoked credential, a block or a role change on its next request.

import type { AnyDb } from '../../kit/db/database.ts';
import { prepared, preparedRead } from '../../kit/db/database.ts';
import type { Plan } from './plans.ts';
import type { AppRow } from './proofs.ts';
import type { WorkspaceRole } from './roles.ts';
import type { CredentialKind } from './tokens.ts';

export interface LookupResult {
  credential_id: string;
  kind: CredentialKind;
  user_id: string | null;
  app_user_id: string | null;
  /** The workspace that the credential is bound to; for a session, the one it used last. */
  credential_workspace_id: string | null;
  permission: 'read_only' | 'full_access';
  app_ids: string[] | null;
  scopes: string[] | null;
  expires_at: string | null;
  last_used_at: string | null;
  email: string | null;
  is_operator: boolean | null;
  /** The workspace of this request. */
  workspace_id: string | null;
  plan: Plan | null;
  rate_multiplier: number | null;
  role: WorkspaceRole | null;
  access_state: 'active' | 'blocked' | null;
}

/** A row as `to_json` writes it: times are text. */
export type JsonRow<Row> = { [Column in keyof Row]: JsonValue<Row[Column]> };
type JsonValue<Value> = Value extends Date ? string : Value;

const callerColumns = `
  c.id as credential_id, c.kind, c.user_id, c.app_user_id, c.workspace_id as credential_workspace_id, c.permission,
  c.app_ids, c.scopes, c.expires_at, c.last_used_at, u.email, u.is_operator,
  w.id as workspace_id, w.plan, w.rate_multiplier, m.role, m.access_state`;

// These credentials are valid in their own workspace only. They are counted there, whatever the path names.
const boundWorkspace =
  "case when c.kind in ('personal_token', 'workspace_key', 'app_user_token') then c.workspace_id end";

const lastUsedOrFirstJoined = `(
    select f.workspace_id from memberships f join workspaces fw on fw.id = f.workspace_id and fw.deleted_date is null
    where f.user_id = c.user_id order by (f.workspace_id = c.workspace_id) desc nulls last, f.created_date limit 1)`;

/**
 * The text of a lookup. `$1` is the credential's hash, or its id. `joins` adds what `$2` names. `workspace` is a list of SQL
 * expressions; the first that is not null is the workspace of the request. A credential that was revoked, or whose person
 * was deactivated, is not found.
 * The row is returned as one JSON value: the driver parses it in a fraction of the time that some 35 columns take.
 */
const buildStatement = (columns: string, joins: string, workspace: string, by: 'hash' | 'id' = 'hash') => `/* lookup */
  select to_json(x) as found from (select ${callerColumns}${columns}
  from credentials c
  left join users u on u.id = c.user_id
  ${joins}
  left join workspaces w on w.id = coalesce(${workspace}) and w.deleted_date is null
  left join memberships m on m.workspace_id = w.id and m.user_id = c.user_id
  where c.${by} = $1 and c.revoked_at is null and u.deactivated_at is null) x`;

type LookupValues = readonly [hash: Buffer, id: string | null];

function prepareLookup<Row extends LookupResult, Values extends readonly unknown[] = LookupValues>(
  name: string,
  text: string,
) {
  const read = preparedRead<{ found: Row }, Values>(name, text);
  return async (db: AnyDb, ...values: Values): Promise<Row | undefined> => (await read(db, ...values))[0]?.found;
}

/** The workspace the credential is bound to, or the requested one (`$2`), the last used or the first joined. */
const chosenWorkspace = `${boundWorkspace}, $2::uuid, ${lastUsedOrFirstJoined}`;

/** In a workspace. */
export const lookUpWorkspace = prepareLookup<LookupResult>(
  'look up workspace',
  buildStatement('', '', chosenWorkspace),
);

export type PersonLookup = LookupResult & { person: 'member' | 'invitation' | null };

/** As `lookUpWorkspace`, and whether a member or an open invitation of the workspace has the e-mail address `$3`. */
export const lookUpPerson = prepareLookup<PersonLookup, readonly [...LookupValues, email: string]>(
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

/** The app that a lookup has found; undefined if there is none. */
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

const buildAppStatement = (
  isDeleted: 'null' | 'not null',
  columns: string,
  joins: string,
  by: 'hash' | 'id' = 'hash',
) =>
  buildStatement(
    `, s.role as share_role, ${allAppColumns}${columns}`,
    `left join apps a on a.id = $2::uuid and a.deleted_date is ${isDeleted}
     left join users o on o.id = a.owner_id
     left join app_shares s on s.app_id = a.id and s.user_id = c.user_id
     ${joins}`,
    `${boundWorkspace}, a.workspace_id`,
    by,
  );

/** With an app (`$2`). The app's row is part of the result, so reading one app takes no other query. */
export const lookUpApp = prepareLookup<AppLookup>('look up app', buildAppStatement('null', '', ''));
export const lookUpTrashedApp = prepareLookup<AppLookup>('look up app in trash', buildAppStatement('not null', '', ''));

const readAppByCredentialId = prepared<{ found: AppLookup }, [credentialId: string, appId: string]>(
  'look up app by credential id',
  buildAppStatement('null', '', '', 'id'),
);

/** For work that a request has begun and that goes on without it. Undefined if the credential was revoked or removed. */
export const lookUpAppByCredentialId = async (db: AnyDb, credentialId: string, appId: string) =>
  (await readAppByCredentialId(db, credentialId, appId))[0]?.found;

// ---- an app's data

export type AppDataLookup = AppLookup & {
  full_name: string | null;
  /** The app user whose token it is; for a member with a proven e-mail address, the app user who has it too. */
  app_user: { email: string; full_name: string; role: string; data: Record<string, unknown> } | null;
};

const dataColumns = ', u.full_name, coalesce(own, alike) as app_user';
const dataJoins = `left join app_users own on own.app_id = a.id and own.id = c.app_user_id
     left join app_users alike on alike.app_id = a.id and alike.email = u.email and u.email_verified_at is not null`;

/** With an app (`$2`) and the facts of the caller that the app's rules see. */
export const lookUpAppData = prepareLookup<AppDataLookup>(
  'look up app data',
  buildAppStatement('null', dataColumns, dataJoins),
);

/** A caller without credentials, at an app that lets them in. */
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
  const read = preparedRead<{ found: AnonymousLookup }, [id: string]>(
    name,
    `/* lookup */
    select to_json(x) as found from (${anonymousColumns}
    from apps a
    ${anonymousJoins}
    where a.id = $1::uuid and a.deleted_date is null and ${condition}) x`,
  );
  return async (db: AnyDb, id: string | null): Promise<AnonymousLookup | undefined> =>
    id === null ? undefined : (await read(db, id))[0]?.found;
}

/** Any other app reads as not found, so that a caller cannot distinguish a closed app from an unknown one. */
export const lookUpOpenApp = prepareAnonymousLookup('look up open app', "a.public_settings = 'public_without_login'");

/** An app, whoever may use its data: everybody may try to sign in to it. */
export const lookUpAnyApp = prepareAnonymousLookup('look up any app', 'true');

/** A caller who knows the token of a hook, with the row that the hook belongs to. */
export type HookLookup = AnonymousLookup & { hook_id: string; rate_multiplier: number | null };

/** The hook whose token has the hash `$1`: a row of a feature's table with the columns `workspace_id`, `app_id` and `id`. */
export function prepareHookLookup(table: string) {
  const read = preparedRead<{ found: HookLookup }, [hash: string]>(
    `look up hook of ${table}`,
    `/* lookup */
    select to_json(x) as found from (${anonymousColumns}, w.rate_multiplier, r.id as hook_id
    from ${table} r
    join apps a on a.workspace_id = r.workspace_id and a.id = r.app_id and a.deleted_date is null
    ${anonymousJoins}
    where r.hook_token_hash = $1) x`,
  );
  return async (db: AnyDb, hash: string | undefined): Promise<HookLookup | undefined> =>
    hash === undefined ? undefined : (await read(db, hash))[0]?.found;
}

export type AppDataRowLookup<Row> = AppDataLookup & { resource: Row | null };

/** As `lookUpAppData`, with the row `$3` of a feature's table, which must have the columns `app_id` and `id`. */
export const prepareAppDataRowLookup = <Row>(table: string) =>
  prepareRowLookup<AppDataRowLookup<Row>>(`look up app data with ${table}`, table, dataColumns, dataJoins);

function prepareRowLookup<Row extends LookupResult>(name: string, table: string, columns: string, joins: string) {
  const joinRow = `left join ${table} r on r.app_id = a.id and r.id = $3::uuid`;
  const text = buildAppStatement('null', `${columns}, r as resource`, `${joins} ${joinRow}`);
  return prepareLookup<Row, readonly [...LookupValues, rowId: string | null]>(name, text);
}

// ---- a row of a feature's table

export type AppRowLookup<Row> = AppLookup & { resource: JsonRow<Row> | null };

/** As `lookUpApp`, with the row `$3` of a feature's table, which must have the columns `app_id` and `id`. */
export const prepareAppRowLookup = <Row>(table: string) =>
  prepareRowLookup<AppRowLookup<Row>>(`look up app with ${table}`, table, '', '');

export type ResourceLookup<Row> = LookupResult & { resource: JsonRow<Row> | null };

/** With the row `$2` of a feature's table, which must have the columns `id` and `workspace_id`. */
export const prepareResourceLookup = <Row>(table: string) =>
  prepareLookup<ResourceLookup<Row>>(
    `look up ${table}`,
    buildStatement(', r as resource', `left join ${table} r on r.id = $2::uuid`, `${boundWorkspace}, r.workspace_id`),
  );
