// Owns the one read per request that answers who is asking, where, and as what. Nothing of it is cached, so a revoke,
// a block or a role change is seen by every process on its next request.
import type { Kysely } from 'kysely';
import { prepared } from '../../kit/db/database.ts';
import type { Plan } from './plans.ts';
import type { AnyCaller, AppRow } from './proofs.ts';
import type { WorkspaceRole } from './roles.ts';

export interface LookupResult {
  credential_id: string;
  kind: AnyCaller['kind'];
  user_id: string | null;
  app_user_id: string | null;
  credential_workspace_id: string | null;
  permission: 'read_only' | 'full_access';
  app_ids: string[] | null;
  scopes: string[] | null;
  expires_at: string | null;
  last_used_at: string | null;
  email: string | null;
  is_operator: boolean | null;
  workspace_id: string | null;
  plan: Plan | null;
  rate_multiplier: number | null;
  role: WorkspaceRole | null;
  access_state: 'active' | 'blocked' | null;
}

const callerColumns = `
  c.id as credential_id, c.kind, c.user_id, c.app_user_id, c.workspace_id as credential_workspace_id, c.permission,
  c.app_ids, c.scopes, c.expires_at, c.last_used_at, u.email, u.is_operator,
  w.id as workspace_id, w.plan, w.rate_multiplier, m.role, m.access_state`;

// A token or workspace key is good in its own workspace only, and counts and is limited there, wherever it points.
const ownWorkspace =
  "case when c.kind in ('personal_token', 'workspace_key', 'app_user_token') then c.workspace_id end";

const lastUsedOrFirst = `(
    select f.workspace_id from memberships f join workspaces fw on fw.id = f.workspace_id and fw.deleted_date is null
    where f.user_id = c.user_id order by (f.workspace_id = c.workspace_id) desc nulls last, f.created_date limit 1)`;

/**
 * `$1` is the credential's hash. `place` joins what `$2` names; `workspace` says where that is.
 * The row travels as one JSON value: the driver reads that in a fraction of the time that some 35 columns take it.
 */
const statement = (columns: string, place: string, workspace: string) => `/* reach */
  select to_json(x) as found from (select ${callerColumns}${columns}
  from credentials c
  left join users u on u.id = c.user_id
  ${place}
  left join workspaces w on w.id = coalesce(${workspace}) and w.deleted_date is null
  left join memberships m on m.workspace_id = w.id and m.user_id = c.user_id
  where c.hash = $1 and c.revoked_at is null) x`;

const lookUp = <Row extends LookupResult>(name: string, text: string) => {
  const read = prepared<{ found: Row }, Values>(name, text);
  // biome-ignore lint/suspicious/noExplicitAny: the look-up runs on any database that has this room's tables.
  return async (db: Kysely<any>, hash: Buffer, id: string | null): Promise<Row | undefined> =>
    (await read(db, hash, id))[0]?.found;
};

type Values = readonly [hash: Buffer, id: string | null];

/** In a workspace: the credential's own, else the one asked for (`$2`), else the last used, else the first joined. */
export const lookUpWorkspace = lookUp<LookupResult>(
  'access_in_workspace',
  statement('', '', `${ownWorkspace}, $2::uuid, ${lastUsedOrFirst}`),
);

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
  'revision',
  'created_date',
  'updated_date',
  'deleted_date',
] as const;

export type AppLookup = LookupResult & { share_role: 'editor' | 'viewer' | null; app_owner_email: string | null } & {
  [C in (typeof appColumns)[number] as `app_${C}`]: (AppRow[C] extends Date ? string : AppRow[C]) | null;
};

const wholeApp = `o.email as app_owner_email, ${appColumns.map((column) => `a.${column} as app_${column}`).join(', ')}`;

const atAppText = (isDeleted: 'null' | 'not null', columns: string, joins: string) =>
  statement(
    `, s.role as share_role, ${wholeApp}${columns}`,
    `left join apps a on a.id = $2::uuid and a.deleted_date is ${isDeleted}
     left join users o on o.id = a.owner_id
     left join app_shares s on s.app_id = a.id and s.user_id = c.user_id
     ${joins}`,
    `${ownWorkspace}, a.workspace_id`,
  );

const atApp = <Row extends AppLookup>(name: string, isDeleted: 'null' | 'not null', columns = '', joins = '') =>
  lookUp<Row>(name, atAppText(isDeleted, columns, joins));

/** At an app (`$2`): the app comes along, so that reading one app is this one statement. */
export const lookUpApp = atApp('access_at_app', 'null');
export const lookUpTrashedApp = atApp('access_at_trashed_app', 'not null');

export type AppDataLookup = AppLookup & {
  full_name: string | null;
  /** Whose token it is; of a person, the app's user with their e-mail address. */
  app_user: { email: string; full_name: string; role: string; data: Record<string, unknown> } | null;
};

const dataColumns = ', u.full_name, coalesce(own, alike) as app_user';
const dataJoins = `left join app_users own on own.app_id = a.id and own.id = c.app_user_id
     left join app_users alike on alike.app_id = a.id and alike.email = u.email`;

/** At an app's data (`$2`): whom the rules see comes along too. */
export const lookUpAppData = atApp<AppDataLookup>('access_at_data', 'null', dataColumns, dataJoins);

const readOpenApp = prepared<{ found: AppDataLookup }, [id: string | null]>(
  'access_at_open_app',
  `/* reach */
  select to_json(x) as found from (select 'anonymous' as kind, null as credential_id, null as user_id,
    null as app_user_id, null as email, w.id as workspace_id, w.plan, ${wholeApp}
  from apps a
  join users o on o.id = a.owner_id
  join workspaces w on w.id = a.workspace_id and w.deleted_date is null
  where a.id = $1::uuid and a.deleted_date is null and a.public_settings = 'public_without_login') x`,
);

/** At an app that is open without login. Any other is not found, so that it cannot be told from one that never was. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export const lookUpOpenApp = async (db: Kysely<any>, id: string | null): Promise<AppDataLookup | undefined> =>
  (await readOpenApp(db, id))[0]?.found;

export type AppDataResourceLookup<Row> = AppDataLookup & { thing: Row | null };

/** At an app's data, with a row of a feature's own table in it (`$3`), which must have the columns `app_id` and `id`. */
export function lookUpAppDataResource<Row>(table: string) {
  const text = atAppText(
    'null',
    `${dataColumns}, r as thing`,
    `${dataJoins} left join ${table} r on r.app_id = a.id and r.id = $3::uuid`,
  );
  const read = prepared<
    { found: AppDataResourceLookup<Row> },
    readonly [hash: Buffer, id: string | null, thing: string | null]
  >(`access_within_data_${table}`, text);
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  return async (db: Kysely<any>, hash: Buffer, id: string | null, thing: string | null) =>
    (await read(db, hash, id, thing))[0]?.found;
}

export type ResourceLookup<Row> = LookupResult & { thing: Row | null };

/** At a thing of a feature's own table (`$2`), which must have the columns `id` and `workspace_id`. */
export const lookUpResource = <Row>(table: string) =>
  lookUp<ResourceLookup<Row>>(
    `access_at_${table}`,
    statement(', r as thing', `left join ${table} r on r.id = $2::uuid`, `${ownWorkspace}, r.workspace_id`),
  );

export function appOf(found: AppLookup): AppRow | undefined {
  if (found.app_id === null) return undefined;
  return {
    id: found.app_id,
    workspace_id: found.app_workspace_id,
    app_type: found.app_app_type,
    owner_id: found.app_owner_id,
    owner_email: found.app_owner_email,
    name: found.app_name,
    slug: found.app_slug,
    user_description: found.app_user_description,
    logo_url: found.app_logo_url,
    visibility: found.app_visibility,
    public_settings: found.app_public_settings,
    public_origins: found.app_public_origins,
    hide_authorship: found.app_hide_authorship,
    revision: found.app_revision,
    created_date: new Date(found.app_created_date as string),
    updated_date: new Date(found.app_updated_date as string),
    deleted_date: found.app_deleted_date === null ? null : new Date(found.app_deleted_date),
  } as AppRow;
}
