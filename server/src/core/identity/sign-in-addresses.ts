// The places where people have signed in: IP addresses, and the browsers used there. A known address is trusted
// for every account, not only for the accounts that were used there, so no one at the address can find out who has an
// account.
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { nameClient } from '../../kit/http/connection/client-address.ts';
import type { Db } from '../../tables.ts';
import type { Pepper, Peppers } from '../auth/tokens.ts';

const keepDays = 90;
/** Prevents one account from making many addresses known. */
export const maxPlacesPerPerson = 10;

export interface Place {
  readonly ip: string;
  readonly browser: string;
}

/** Uses a keyed hash, so the tables do not reveal where a person has been. */
export const hashAddress = (ip: string, pepper: Pepper): Buffer =>
  createHmac('sha256', pepper.key)
    .update(`address:${nameClient(ip)}`)
    .digest();

/** Hashes the address with all peppers, because stored hashes may be older than the current pepper. */
export const hashAddresses = (ip: string, peppers: Peppers): Buffer[] =>
  peppers.map((pepper) => hashAddress(ip, pepper));

/** Places last used before this time are no longer considered. */
export const keptSince = (now: Date): Date => new Date(now.getTime() - keepDays * 24 * 60 * 60 * 1000);

export async function isKnownAddress(db: Db, ip: string, peppers: Peppers, now: Date): Promise<boolean> {
  const found = await db
    .selectFrom('sign_in_addresses')
    .where('address_hash', 'in', hashAddresses(ip, peppers))
    .where('used_at', '>', keptSince(now))
    .select('user_id')
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/**
 * Whether the person has signed in before, but, among the places still kept, not with this browser at this address.
 * Rows from before browsers were recorded match any browser.
 */
export async function isNewPlace(
  db: Db,
  user: { readonly id: string; readonly first_sign_in_at: Date | null },
  { ip, browser }: Place,
  peppers: Peppers,
  now: Date,
): Promise<boolean> {
  if (user.first_sign_in_at === null) return false;
  const known = await db
    .selectFrom('sign_in_addresses')
    .where('user_id', '=', user.id)
    .where('address_hash', 'in', hashAddresses(ip, peppers))
    .where('browser', 'in', [browser, ''])
    .where('used_at', '>', keptSince(now))
    .select('user_id')
    .limit(1)
    .executeTakeFirst();
  return known === undefined;
}

/** Stores this place, and keeps only the person's most recent places. */
export async function rememberPlace(
  db: Db,
  user_id: string,
  { ip, browser }: Place,
  peppers: Peppers,
  now: Date,
): Promise<void> {
  await db
    .insertInto('sign_in_addresses')
    .values({ user_id, address_hash: hashAddress(ip, peppers[0]), browser, used_at: now })
    .onConflict((conflict) => conflict.columns(['user_id', 'address_hash', 'browser']).doUpdateSet({ used_at: now }))
    .execute();
  await sql`delete from sign_in_addresses where user_id = ${user_id} and (address_hash, browser) not in (
    select address_hash, browser from sign_in_addresses where user_id = ${user_id}
    order by used_at desc limit ${maxPlacesPerPerson})`.execute(db);
  await db
    .updateTable('users')
    .set({ first_sign_in_at: now })
    .where('id', '=', user_id)
    .where('first_sign_in_at', 'is', null)
    .execute();
}

/** Returns the number of removed rows. */
export async function removeOldAddresses(db: Db, now: Date): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('sign_in_addresses')
    .where('used_at', '<=', keptSince(now))
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
