// An app's secrets, which the app's editors write. They are encrypted at rest and never returned
// (docs/api/apps.md#files-and-secrets).
import { audit, redacted } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { unchanged, withNotes } from '../../kit/http/answer.ts';
import { limitReached, notFound } from '../../kit/problem.ts';
import { rewrapEach, type Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import {
  countSecrets,
  findSecret,
  listSealedSecrets,
  listSecretsUnderOldKeys,
  removeSecret,
  saveRewrapped,
  saveSecret,
} from './store.ts';

const maxSecrets = 100;
const minLengthForLast4 = 16; // the last four characters of a shorter value would reveal too much

const secretLocation = (app_id: string, name: string) => ['app_secrets', `${app_id}/${name}`, 'sealed'] as const;

export async function putAppSecret(
  db: Db,
  secrets: Secrets,
  access: AppAccess,
  { name, value }: { readonly name: string; readonly value: string },
  now: Date,
) {
  const { app } = access;
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, `secrets of ${app.id}`);
    const stored = await findSecret(db, access, name);
    if (stored !== undefined && isStored(secrets, stored.sealed, secretLocation(app.id, name), value))
      return unchanged({ name, updated_date: stored.updated_date.toISOString(), last4: stored.last4 });
    if (stored === undefined && (await countSecrets(db, access)) >= maxSecrets) {
      throw limitReached(maxSecrets, 'secrets', `An app can have at most ${maxSecrets} secrets. Delete one first.`);
    }
    const last4 = value.length < minLengthForLast4 ? null : value.slice(-4);
    await saveSecret(db, access, { name, sealed: secrets.seal(value, secretLocation(app.id, name)), last4 }, now);
    const type = stored === undefined ? 'app_secret.created' : 'app_secret.updated';
    const target = { kind: 'app_secret', id: name };
    const before = stored === undefined ? null : redacted;
    await audit(db, access, { type, target, app_id: app.id, before, after: redacted }, now);
    return withNotes({ name, updated_date: now.toISOString(), last4 }, {});
  });
}

/** A value that can't be decrypted, for example because its master key was lost, is replaced. */
function isStored(secrets: Secrets, sealed: string, location: ReturnType<typeof secretLocation>, value: string) {
  try {
    return secrets.open(sealed, location) === value;
  } catch {
    return false;
  }
}

export async function deleteAppSecret(db: Db, access: AppAccess, name: string, now: Date) {
  return transaction(db, async (db) => {
    if (!(await removeSecret(db, access, name))) throw notFound('secret_not_found');
    await audit(
      db,
      access,
      {
        type: 'app_secret.deleted',
        target: { kind: 'app_secret', id: name },
        app_id: access.app.id,
        before: redacted,
      },
      now,
    );
    return { success: true } as const;
  });
}

/**
 * Returns the values of these secrets by name, leaving out missing secrets. Automations and workflows use the values in
 * requests.
 */
export async function readSecrets(
  db: Db,
  secrets: Secrets,
  app: { readonly id: string },
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await listSealedSecrets(db, app, names);
  return new Map(rows.map(({ name, sealed }) => [name, secrets.open(sealed, secretLocation(app.id, name))]));
}

/** Re-encrypts a batch of secrets from an older master key to the current one. Returns the number re-encrypted. */
export const rewrapSecrets = async (db: Db, secrets: Secrets, currentKeyId: string): Promise<number> =>
  rewrapEach('app secrets', await listSecretsUnderOldKeys(db, currentKeyId, 500), async (row) => {
    const rewrapped = secrets.rewrap(row.sealed, secretLocation(row.app_id, row.name));
    if (rewrapped !== undefined) await saveRewrapped(db, row, rewrapped);
  });
