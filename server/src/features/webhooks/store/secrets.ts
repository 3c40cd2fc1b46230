// The queries that maintain stored signing secrets: expiry after a rotation, and rewrapping after the master key
// changes.
import { type Selectable, sql } from 'kysely';
import type { Db, Tables } from '../../../tables.ts';

/** Removes previous secrets whose 24-hour overlap has ended. Returns how many were removed. */
export async function removeExpiredSecrets(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } =
    await sql`/* service */ update webhooks set previous_secret = null, previous_secret_expires_at = null
    where previous_secret_expires_at <= ${now}`.execute(db);
  return Number(numAffectedRows ?? 0);
}

export type SealedSecrets = Pick<Selectable<Tables['webhooks']>, 'workspace_id' | 'id' | 'secret' | 'previous_secret'>;

/**
 * Lists webhooks that have a secret sealed under a master key other than `keyId`. The order is random, so secrets that
 * can't be opened don't block the others.
 */
export async function listSecretsUnderOldKeys(db: Db, keyId: string, limit: number): Promise<SealedSecrets[]> {
  const current = `v1.${keyId}.`;
  const { rows } = await sql<SealedSecrets>`/* service */ select workspace_id, id, secret, previous_secret from webhooks
    where (secret is not null and not starts_with(secret, ${current}))
      or (previous_secret is not null and not starts_with(previous_secret, ${current}))
    order by random() limit ${limit}`.execute(db);
  return rows;
}

/** Changes nothing if the secrets have changed since `before` was read. */
export async function saveRewrapped(
  db: Db,
  before: SealedSecrets,
  secret: string | null,
  previous: string | null,
): Promise<void> {
  await sql`update webhooks set secret = ${secret}, previous_secret = ${previous}
    where workspace_id = ${before.workspace_id} and id = ${before.id}
      and secret is not distinct from ${before.secret} and previous_secret is not distinct from ${before.previous_secret}`.execute(
    db,
  );
}
