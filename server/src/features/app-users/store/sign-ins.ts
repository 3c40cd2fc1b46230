// The queries on app users' sign-ins: passwords, sign-in tokens, and the addresses from which users signed in.
import { type Selectable, sql } from 'kysely';
import type { AppUserSelfAccess } from '../../../core/auth/proofs.ts';
import type { Peppers } from '../../../core/auth/tokens.ts';
import { hashAddress, hashAddresses, keptSince, maxPlacesPerPerson } from '../../../core/identity/sign-in-addresses.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { AppUserRow } from '../contract.ts';

// ---- users

export const findUserByEmail = (db: Db, app_id: string, email: string): Promise<AppUserRow | undefined> =>
  db.selectFrom('app_users').where('app_id', '=', app_id).where('email', '=', email).selectAll().executeTakeFirst();

/** Locks the row until the transaction ends. */
export const lockUserByEmail = (db: Db, app_id: string, email: string): Promise<AppUserRow | undefined> =>
  db
    .selectFrom('app_users')
    .where('app_id', '=', app_id)
    .where('email', '=', email)
    .selectAll()
    .forUpdate()
    .executeTakeFirst();

export const findSelf = (db: Db, { app, caller }: AppUserSelfAccess): Promise<AppUserRow | undefined> =>
  db
    .selectFrom('app_users')
    .where('app_id', '=', app.id)
    .where('id', '=', caller.app_user_id)
    .selectAll()
    .executeTakeFirst();

// ---- passwords

export const findPassword = (db: Db, app_id: string, email: string) =>
  db
    .selectFrom('app_users')
    .innerJoin('app_user_passwords', (join) =>
      join
        .onRef('app_user_passwords.app_id', '=', 'app_users.app_id')
        .onRef('app_user_passwords.app_user_id', '=', 'app_users.id'),
    )
    .where('app_users.app_id', '=', app_id)
    .where('app_users.email', '=', email)
    .select(['app_users.id as app_user_id', 'app_user_passwords.hash'])
    .executeTakeFirst();

export const hasPassword = async (db: Db, { app_id, id }: AppUserRow): Promise<boolean> =>
  (await db
    .selectFrom('app_user_passwords')
    .where('app_id', '=', app_id)
    .where('app_user_id', '=', id)
    .select('app_user_id')
    .executeTakeFirst()) !== undefined;

/** Whether the user has a password, or a stored address from which they signed in. */
export const hasSignedIn = async (db: Db, user: AppUserRow): Promise<boolean> =>
  (await hasPassword(db, user)) ||
  (await db
    .selectFrom('app_user_addresses')
    .where('app_id', '=', user.app_id)
    .where('app_user_id', '=', user.id)
    .select('app_user_id')
    .limit(1)
    .executeTakeFirst()) !== undefined;

/** Finds the user if their password hash is unchanged. Locks both the user and the hash until the transaction ends. */
export const lockUserWithPassword = (db: Db, app_id: string, app_user_id: string, hash: string) =>
  db
    .selectFrom('app_users')
    .innerJoin('app_user_passwords', (join) =>
      join
        .onRef('app_user_passwords.app_id', '=', 'app_users.app_id')
        .onRef('app_user_passwords.app_user_id', '=', 'app_users.id'),
    )
    .where('app_users.app_id', '=', app_id)
    .where('app_users.id', '=', app_user_id)
    .where('app_user_passwords.hash', '=', hash)
    .selectAll('app_users')
    .forShare()
    .executeTakeFirst();

export async function savePassword(db: Db, { app_id, id }: AppUserRow, hash: string, now: Date): Promise<void> {
  await db
    .insertInto('app_user_passwords')
    .values({ app_user_id: id, app_id, hash, updated_date: now })
    .onConflict((conflict) => conflict.column('app_user_id').doUpdateSet({ hash, updated_date: now }))
    .execute();
}

export async function removePassword(db: Db, { app_id, id }: AppUserRow): Promise<void> {
  await db.deleteFrom('app_user_passwords').where('app_id', '=', app_id).where('app_user_id', '=', id).execute();
}

// ---- tokens

type TokenTimes = Pick<
  Selectable<Tables['credentials']>,
  'created_date' | 'expires_at' | 'sign_in_ends_at' | 'created_by'
>;

/**
 * Ends the user's sign-ins. Tokens requested by the app's own server stay valid, because the server decides who is
 * signed in with them.
 */
export async function endSignIns(db: Db, workspace_id: string, { id }: AppUserRow): Promise<void> {
  await db
    .deleteFrom('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('app_user_id', '=', id)
    .where('sign_in_ends_at', 'is not', null)
    .execute();
}

/** Ends the caller's token and returns it, or undefined if it has already ended. */
export const endOwnToken = (db: Db, { caller, workspace_id }: AppUserSelfAccess): Promise<TokenTimes | undefined> =>
  db
    .deleteFrom('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', caller.credential_id)
    .returning(['created_date', 'expires_at', 'sign_in_ends_at', 'created_by'])
    .executeTakeFirst();

/**
 * Makes the caller's token expire at `until`, unless it expires earlier, and returns it. Undefined if the token does
 * not come from a sign-in. `created_date` is moved along with `expires_at`, so a second renewal can still derive the
 * token's intended lifetime.
 */
export async function retireOwnToken(
  db: Db,
  { caller, workspace_id }: AppUserSelfAccess,
  until: Date,
): Promise<TokenTimes | undefined> {
  const { rows } = await sql<TokenTimes>`update credentials
    set expires_at = least(expires_at, ${until}), created_date = created_date - (expires_at - least(expires_at, ${until}))
    where workspace_id = ${workspace_id} and id = ${caller.credential_id} and sign_in_ends_at is not null
    returning created_date, expires_at, sign_in_ends_at, created_by`.execute(db);
  return rows[0];
}

/**
 * Ends all tokens from the same sign-in as the caller's token. If the app's server requested the token, only that token
 * ends.
 */
export async function endOwnSignIn(db: Db, { caller, workspace_id }: AppUserSelfAccess): Promise<void> {
  await sql`delete from credentials
    where workspace_id = ${workspace_id} and app_user_id = ${caller.app_user_id} and (id = ${caller.credential_id}
      or sign_in_ends_at = (select sign_in_ends_at from credentials
        where workspace_id = ${workspace_id} and id = ${caller.credential_id}))`.execute(db);
}

// ---- addresses

/**
 * Whether a user of the app has recently signed in from this address. From a known address, all of the app's accounts
 * are treated alike.
 */
export async function isKnownAddress(
  db: Db,
  app_id: string,
  ip: string,
  peppers: Peppers,
  now: Date,
): Promise<boolean> {
  const found = await db
    .selectFrom('app_user_addresses')
    .where('app_id', '=', app_id)
    .where('address_hash', 'in', hashAddresses(ip, peppers))
    .where('used_at', '>', keptSince(now))
    .select('app_user_id')
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Stores this address, and keeps only the user's most recent addresses. */
export async function rememberAddress(
  db: Db,
  { app_id, id }: AppUserRow,
  ip: string,
  peppers: Peppers,
  now: Date,
): Promise<void> {
  await db
    .insertInto('app_user_addresses')
    .values({ app_user_id: id, app_id, address_hash: hashAddress(ip, peppers[0]), used_at: now })
    .onConflict((conflict) => conflict.columns(['app_user_id', 'address_hash']).doUpdateSet({ used_at: now }))
    .execute();
  await sql`delete from app_user_addresses where app_id = ${app_id} and app_user_id = ${id} and address_hash not in (
    select address_hash from app_user_addresses where app_id = ${app_id} and app_user_id = ${id}
    order by used_at desc limit ${maxPlacesPerPerson})`.execute(db);
}

/** Returns the number of addresses removed. */
export async function removeOldAddresses(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } =
    await sql`/* service */ delete from app_user_addresses where used_at <= ${keptSince(now)}`.execute(db);
  return Number(numAffectedRows ?? 0);
}
