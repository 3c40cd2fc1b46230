// The run role's rights. The run role is the PostgreSQL role in DATABASE_URL, if MIGRATE_DATABASE_URL contains a
// different one. It may read and change rows, but may not change tables, functions or sealed audit entries.
import pg from 'pg';
import { ConfigError } from '../config.ts';
import { withMigrationLock } from '../kit/db/migrate.ts';

const rowPrivileges = 'select, insert, update, delete';

// The tables on which the run role has fewer privileges than usual.
const limitedTables = {
  'public.migrations': 'select',
  'public.audit_entries': 'select, insert',
  // Only remove_expired_audit_entries() changes the start of a chain.
  'public.audit_chains': 'select, insert, update (last_sequence, last_hash)',
  // Only commands, which run as the owner, make back-ups.
  'public.backup_state': 'select',
  // What may be removed, and when.
  'public.partitioned_tables': 'select',
  // A snapshot of an app's files is never changed.
  'public.deployments': 'select, insert, delete',
  // The journal of calls to the ad platform is never changed.
  'public.ads_journal': 'select, insert',
  // Only commands, which run as the owner, replace the catalogue.
  'public.locations': 'select',
  'public.location_names': 'select',
  'public.location_catalogue': 'select',
};

/** Grants the role in `runUrl` the rights it needs. Does nothing if that role also runs the migrations. */
export async function grantRunRole(migrateUrl: string, runUrl: string): Promise<void> {
  if (migrateUrl === runUrl) return;
  const role = new pg.Client(runUrl).user ?? '';
  await withMigrationLock(migrateUrl, async (client) => {
    const { rows } = await client.query<{ session_user: string }>('select session_user');
    if (rows[0]?.session_user === role) return;
    // Databases created before PostgreSQL 15 let every role create tables here.
    await client.query('revoke create on schema public from public');
    await refuseUnsuitableRole(client, role);
    // Uses one transaction, so running processes never have too few or too many privileges.
    await client.query(['begin', ...listGrants(pg.escapeIdentifier(role)), 'commit'].join(';\n'));
  });
}

const listGrants = (role: string): string[] => [
  `grant usage on schema public to ${role}`,
  `grant ${rowPrivileges} on all tables in schema public to ${role}`,
  `grant usage, select, update on all sequences in schema public to ${role}`,
  `grant execute on all functions in schema public to ${role}`,
  // Covers objects that later migrations create, in case the grants are not run again afterwards.
  `alter default privileges in schema public grant ${rowPrivileges} on tables to ${role}`,
  `alter default privileges in schema public grant usage, select, update on sequences to ${role}`,
  `alter default privileges in schema public grant execute on functions to ${role}`,
  ...Object.entries(limitedTables).flatMap(([table, privileges]) => [
    `revoke all on ${table} from ${role}`,
    `grant ${privileges} on ${table} to ${role}`,
  ]),
];

export interface RoleState {
  readonly role: string;
  /** Whether the role owns the tables or is a superuser, so nothing limits it. */
  readonly isUnlimited: boolean;
  /** Privileges that the run role should have but lacks, and the other way round. Empty if the role is unlimited. */
  readonly missing: readonly string[];
  readonly excess: readonly string[];
}

/** Compares the rights of the connection's role with those that `plinth migrate` grants the run role. */
export async function readRoleState(client: pg.ClientBase | pg.Pool): Promise<RoleState> {
  const { rows } = await client.query<{ role: string; is_unlimited: boolean; may_create: boolean }>(
    `select current_user as role, has_schema_privilege('public', 'create') as may_create,
       r.rolsuper or exists (select from pg_class c where c.relname = 'migrations'
         and c.relnamespace = 'public'::regnamespace and pg_has_role(c.relowner, 'member')) as is_unlimited
     from pg_roles r where r.rolname = current_user`,
  );
  const { role = '', is_unlimited: isUnlimited = false, may_create = false } = rows[0] ?? {};
  if (isUnlimited) return { role, isUnlimited, missing: [], excess: [] };
  const { rows: held } = await client.query<{ name: string; privilege: string; is_held: boolean }>(
    `select 'public.' || c.relname as name, p as privilege, has_table_privilege(c.oid, p) as is_held
     from pg_class c, unnest($1::text[]) p
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by 1, 2`,
    [rowPrivileges.split(', ')],
  );
  const isGranted = ({ name, privilege }: { name: string; privilege: string }) =>
    toPrivileges(name).some((each) => each === privilege);
  const format = ({ name, privilege }: { name: string; privilege: string }) => `${privilege} on ${name}`;
  return {
    role,
    isUnlimited,
    missing: held.filter((each) => !each.is_held && isGranted(each)).map(format),
    excess: [
      ...held.filter((each) => each.is_held && !isGranted(each)).map(format),
      ...(may_create ? ['create in schema public'] : []),
    ],
  };
}

/** The privileges on the whole table. A privilege on columns is none on the table. */
function toPrivileges(table: string): string[] {
  const limited: Readonly<Record<string, string>> = limitedTables;
  return (limited[table] ?? rowPrivileges).replaceAll(/\w+ \([^)]*\)/g, '').split(/, */);
}

/** Throws a ConfigError if the role does not exist or has rights that can't be revoked here. */
async function refuseUnsuitableRole(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ is_unlimited: boolean }>(
    `select r.rolsuper or pg_has_role(r.oid, d.datdba, 'member') or pg_has_role(r.oid, current_user, 'member')
       or has_schema_privilege(r.oid, 'public', 'create') as is_unlimited
     from pg_roles r, pg_database d where r.rolname = $1 and d.datname = current_database()`,
    [role],
  );
  const [found] = rows;
  const fault =
    found === undefined
      ? 'does not exist'
      : "can't be limited: it is a superuser, owns the database, can create tables, or is a member of the owner's role";
  if (found === undefined || found.is_unlimited)
    throw new ConfigError(
      `The role "${role}" in DATABASE_URL ${fault}. Create a separate role as described in docs/operate/install.md#two-database-roles.`,
    );
}
