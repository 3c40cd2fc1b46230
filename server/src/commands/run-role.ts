// Owns what the run role may do: the PostgreSQL role of DATABASE_URL, if `plinth migrate` connects with another one
// (MIGRATE_DATABASE_URL). It may read and change rows, but no table, function or sealed audit entry.
import pg from 'pg';
import { ConfigError } from '../config.ts';
import { withMigrationLock } from '../kit/db/migrate.ts';

const rowPrivileges = 'select, insert, update, delete';

// Tables on which the run role has fewer privileges than on the others.
const limitedTables = {
  'public.migrations': 'select',
  'public.audit_entries': 'select, insert',
  // Where a chain starts is changed by remove_expired_audit_entries() only.
  'public.audit_chains': 'select, insert, update (last_sequence, last_hash)',
  // A snapshot of an app's files is never changed.
  'public.deployments': 'select, insert, delete',
  // What was sent to the ad platform.
  'public.ads_journal': 'select, insert',
  // The catalogue is replaced by commands, which run as the owner.
  'public.locations': 'select',
  'public.location_names': 'select',
  'public.location_catalogue': 'select',
};

/** Grants what the role of `runUrl` needs on all tables. Does nothing if it is the role that migrates. */
export async function grantRunRole(migrateUrl: string, runUrl: string): Promise<void> {
  if (migrateUrl === runUrl) return;
  const role = new pg.Client(runUrl).user ?? '';
  await withMigrationLock(migrateUrl, async (client) => {
    const { rows } = await client.query<{ session_user: string }>('select session_user');
    if (rows[0]?.session_user === role) return;
    // Databases made before PostgreSQL 15 let every role create tables here.
    await client.query('revoke create on schema public from public');
    await refuseUnsuitableRole(client, role);
    // One transaction: running processes never see a moment without a privilege, or with one too many.
    await client.query(['begin', ...listGrants(pg.escapeIdentifier(role)), 'commit'].join(';\n'));
  });
}

const listGrants = (role: string): string[] => [
  `grant usage on schema public to ${role}`,
  `grant ${rowPrivileges} on all tables in schema public to ${role}`,
  `grant usage, select, update on all sequences in schema public to ${role}`,
  `grant execute on all functions in schema public to ${role}`,
  // For what is created later, in case its migration is the last thing that runs.
  `alter default privileges in schema public grant ${rowPrivileges} on tables to ${role}`,
  `alter default privileges in schema public grant usage, select, update on sequences to ${role}`,
  `alter default privileges in schema public grant execute on functions to ${role}`,
  ...Object.entries(limitedTables).flatMap(([table, privileges]) => [
    `revoke all on ${table} from ${role}`,
    `grant ${privileges} on ${table} to ${role}`,
  ]),
];

/** Throws a ConfigError if there is no such role, or if it has rights that can't be taken from it here. */
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
      : "can't be limited: it is a superuser, owns the database, may create tables, or is a member of the owner's role";
  if (found === undefined || found.is_unlimited)
    throw new ConfigError(
      `The role "${role}" of DATABASE_URL ${fault}. Create a role of its own as docs/operate/install.md#two-database-roles says.`,
    );
}
