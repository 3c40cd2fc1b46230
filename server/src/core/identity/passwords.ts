// Passwords: hashing with argon2id, the rules for new passwords, and a check that takes as long for an unknown
// person as for a known one.
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { createGroupedGate, GateClosed, type Leave } from '../../kit/fair-gate.ts';
import { nameClient } from '../../kit/http/connection/client-address.ts';
import { newPassword } from '../../kit/http/shapes.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';

const derive = promisify(argon2);
const cost = { memory: 19_456, passes: 2, parallelism: 1 };

// The most common passwords of at least 12 characters.
const commonPasswords = new Set(readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8').split('\n'));

export const NewPassword = newPassword(12, 256, (password) => commonPasswords.has(password.toLowerCase()));

/** The client that waits for hashing: an IP address, and the app if the client is one of its users. */
export interface HashingClient {
  readonly ip: string;
  readonly app_id?: string;
}

export async function hashPassword(password: string, client: HashingClient): Promise<string> {
  const salt = randomBytes(16);
  const tag = await deriveTag(password, salt, cost, client);
  return [
    'argon2id',
    cost.memory,
    cost.passes,
    cost.parallelism,
    salt.toString('base64url'),
    tag.toString('base64url'),
  ].join('$');
}

// Hashing occupies a CPU core. A process computes one hash at a time, so strangers who try passwords can't occupy more
// than one core. Each app's users form a group, and so do the installation's people. The groups take turns, and so do
// the addresses within a group, so no one has to wait for the queue of another address or app.
const hashing = createGroupedGate({ inAll: 1, perOwner: 1, maxWaitingOfOwner: 60, maxWaitMs: 15_000 });

async function deriveTag(
  password: string,
  nonce: Buffer,
  parameters: typeof cost,
  client: HashingClient,
): Promise<Buffer> {
  const message = password.normalize('NFKC');
  const leave = await enterHashing(client);
  try {
    return (await derive('argon2id', { message, nonce, ...parameters, tagLength: 32 })) as Buffer;
  } finally {
    leave();
  }
}

async function enterHashing({ ip, app_id = 'people' }: HashingClient): Promise<Leave> {
  try {
    return await hashing.enter(app_id, nameClient(ip));
  } catch (error) {
    if (!(error instanceof GateClosed)) throw error;
    const message = 'Too many people are signing in right now. Retry in a few seconds.';
    throw new Problem('unavailable', 'service_unavailable', message, { headers: { 'retry-after': '5' } });
  }
}

// Used if the person is unknown, so the check takes just as long. The hash is random, so no password matches it.
const dummyHash = 'argon2id$19456$2$1$yx4DhFnXzWB_dGvybc8nSA$GfoX8bE0mbS7rgfhW5SZX2oUBxfBQ7fyXwvLQP9UpeI';

export async function isMatchingPassword(
  password: string,
  stored: string | undefined,
  client: HashingClient,
): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', expected = ''] = (stored ?? dummyHash).split('$');
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const tag = await deriveTag(password, Buffer.from(salt, 'base64url'), parameters, client);
  return timingSafeEqual(tag, Buffer.from(expected, 'base64url')) && stored !== undefined;
}

/** Also returns undefined for a deactivated account, so it can't be distinguished from a missing account. */
export async function findPassword(db: Db, email: string): Promise<{ user_id: string; hash: string } | undefined> {
  return db
    .selectFrom('users')
    .innerJoin('passwords', 'passwords.user_id', 'users.id')
    .where('users.email', '=', email)
    .where('users.deactivated_at', 'is', null)
    .select(['users.id as user_id', 'passwords.hash'])
    .executeTakeFirst();
}

/**
 * Returns whether the stored hash is unchanged and the account is active. If so, neither can change until the
 * transaction ends.
 */
export async function lockPasswordIfUnchanged(db: Db, user_id: string, hash: string): Promise<boolean> {
  const row = await db
    .selectFrom('passwords')
    .innerJoin('users', 'users.id', 'passwords.user_id')
    .where('passwords.user_id', '=', user_id)
    .where('users.deactivated_at', 'is', null)
    .select('passwords.hash')
    .forShare()
    .executeTakeFirst();
  return row?.hash === hash;
}

/** Saves a new password and removes open reset links, unless the password has changed since it was read. */
export async function replacePassword(
  db: Db,
  user_id: string,
  { before, after }: { readonly before: string; readonly after: string },
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passwords')
    .set({ hash: after, updated_date: now })
    .where('user_id', '=', user_id)
    .where('hash', '=', before)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await db.deleteFrom('password_resets').where('user_id', '=', user_id).execute();
  return true;
}

/** Saves a new password and removes open reset links. */
export async function savePassword(db: Db, user_id: string, hash: string, now: Date): Promise<void> {
  await db
    .insertInto('passwords')
    .values({ user_id, hash, updated_date: now })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, updated_date: now }))
    .execute();
  await db.deleteFrom('password_resets').where('user_id', '=', user_id).execute();
}
