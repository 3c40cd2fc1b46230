// Owns the addresses at which people have signed in. They are trusted as addresses, not for one account: at a known address
// every account is treated alike, so nobody there can find out who has one.
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { nameClient } from '../../kit/http/client-address.ts';
import type { Db } from '../../tables.ts';
import type { Pepper, Peppers } from '../auth/tokens.ts';

const keepDays = 90;
/** So that one account can't make many addresses known. */
const maxAddressesPerPerson = 10;

const hashAddress = (ip: string, pepper: Pepper): Buffer =>
  createHmac('sha256', pepper.key)
    .update(`address:${nameClient(ip)}`)
    .digest();

const keptSince = (now: Date): Date => new Date(now.getTime() - keepDays * 24 * 60 * 60 * 1000);

export async function isKnownAddress(db: Db, ip: string, peppers: Peppers, now: Date): Promise<boolean> {
  const found = await db
    .selectFrom('sign_in_addresses')
    .where(
      'address_hash',
      'in',
      peppers.map((pepper) => hashAddress(ip, pepper)),
    )
    .where('used_at', '>', keptSince(now))
    .select('user_id')
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Keeps the latest addresses of the person. */
export async function rememberAddress(db: Db, user_id: string, ip: string, peppers: Peppers, now: Date): Promise<void> {
  await db
    .insertInto('sign_in_addresses')
    .values({ user_id, address_hash: hashAddress(ip, peppers[0]), used_at: now })
    .onConflict((conflict) => conflict.columns(['user_id', 'address_hash']).doUpdateSet({ used_at: now }))
    .execute();
  await sql`delete from sign_in_addresses where user_id = ${user_id} and address_hash not in (
    select address_hash from sign_in_addresses where user_id = ${user_id}
    order by used_at desc limit ${maxAddressesPerPerson})`.execute(db);
}

/** Returns how many. */
export async function removeOldAddresses(db: Db, now: Date): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('sign_in_addresses')
    .where('used_at', '<=', keptSince(now))
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
