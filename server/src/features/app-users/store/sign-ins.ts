// Owns the queries over how app users sign in: passwords, tokens of sign-ins, and the addresses at which they signed in.
import { type Selectable, sql } from 'kysely';
import type { AppUserSelfAccess } from '../../../core/auth/proofs.ts';
import type { Peppers } from '../../../core/auth/tokens.ts';
import { hashAddress, hashAddresses, keptSince, maxPlacesPerPerson } from '../../../core/identity/sign-in-addresses.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { AppUserRow } from '../contract.ts';

// ---- users, by what a person who signs in knows

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

/** Whether the user has a password, or has signed in by themselves as far as addresses are kept. */
export const hasSignedIn = async (db: Db, user: AppUserRow): Promise<boolean> =>
  (await hasPassword(db, user)) ||
  (await db
    .selectFrom('app_user_addresses')
    .where('app_id', '=', user.app_id)
    .where('app_user_id', '=', user.id)
    .select('app_user_id')
    .limit(1)
    .executeTakeFirst()) !== undefined;

/** The user, if their stored hash is still this one. If so, neither can change until the transaction ends. */
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

/** Ends the user's sign-ins. Tokens that the app's own server asked for stay valid: it decides who is signed in there. */
export async function endSignIns(db: Db, workspace_id: string, { id }: AppUserRow): Promise<void> {
  await db
    .deleteFrom('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('app_user_id', '=', id)
    .where('sign_in_ends_at', 'is not', null)
    .execute();
}

/** Ends the caller's token and returns it; undefined if it has ended already. */
export const endOwnToken = (db: Db, { caller, workspace_id }: AppUserSelfAccess): Promise<TokenTimes | undefined> =>
  db
    .deleteFrom('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', caller.credential_id)
    .returning(['created_date', 'expires_at', 'sign_in_ends_at', 'created_by'])
    .executeTakeFirst();

/**
 * Ends the caller's token at `until`, if it would be valid for longer, and returns it; undefined if it is not one of a sign-in.
 * `created_date` moves with `expires_at`, so that a second renewal finds how long the token was meant to be valid.
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

/** Ends all tokens of the sign-in that the caller's token belongs to. One that the app's server asked for is by itself. */
export async function endOwnSignIn(db: Db, { caller, workspace_id }: AppUserSelfAccess): Promise<void> {
  await sql`delete from credentials
    where workspace_id = ${workspace_id} and app_user_id = ${caller.app_user_id} and (id = ${caller.credential_id}
      or sign_in_ends_at = (select sign_in_ends_at from credentials
        where workspace_id = ${workspace_id} and id = ${caller.credential_id}))`.execute(db);
}

// ---- addresses

/** Whether a user of the app has signed in at this address lately. There every account of the app is treated alike. */
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

/** Keeps the latest addresses of the user. */
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

/** Returns how many. */
export async function removeOldAddresses(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } =
    await sql`/* service */ delete from app_user_addresses where used_at <= ${keptSince(now)}`.execute(db);
  return Number(numAffectedRows ?? 0);
}
