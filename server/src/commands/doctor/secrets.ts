// Says which master keys the secrets in the database need, so an operator knows which keys must stay.
import { countSecretsByKey, type KeyUse } from '../../kit/secret-use.ts';
import type { MasterKey } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { broken, type CheckResult, works } from './check.ts';

const rotationGuide = 'docs/operate/configure.md#rotate-keys';

export async function checkSecrets(db: Db, masterKeys: readonly MasterKey[]): Promise<CheckResult> {
  const uses = await countSecretsByKey(db);
  const [current, ...others] = masterKeys.map(({ id }) => id);
  const configured = new Set([current, ...others]);
  const absent = uses.filter(({ key_id }) => !configured.has(key_id));
  if (absent.length > 0)
    return broken(
      `MASTER_KEYS lacks a key that encrypted secrets need: ${describeUses(absent)}. Restore it from your copy of the keys: ${rotationGuide}.`,
    );
  const old = uses.filter(({ key_id }) => key_id !== current);
  if (old.length > 0)
    return works(
      `Encrypted secrets still need an old key of MASTER_KEYS: ${describeUses(old)}. Keep it until workers have re-encrypted them: ${rotationGuide}.`,
    );
  const count = uses.reduce((sum, use) => sum + use.count, 0);
  const unneeded =
    others.length === 0 ? '' : ` No secret needs ${others.map((id) => `"${id}"`).join(' or ')} any more.`;
  if (count === 0) return works(`There are none yet.${unneeded}`);
  return works(`All ${count} need the key "${current}" of MASTER_KEYS, the first one.${unneeded}`);
}

/** For example: `"2025-01-07" (webhooks.secret 3, app_secrets.sealed 1)`. */
function describeUses(uses: readonly KeyUse[]): string {
  const places = Map.groupBy(uses, ({ key_id }) => key_id);
  return [...places]
    .map(([id, found]) => `"${id}" (${found.map(({ place, count }) => `${place} ${count}`).join(', ')})`)
    .join(', ');
}
