// Recognizes keys: the database remembers which ones it was used with. A process that is started with others would refuse
// every credential, and could read none of the secrets. Most often, settings were lost and new keys were made for them.
import { createHmac } from 'node:crypto';
import type { Config } from '../config.ts';
import { takeAdvisoryLock, transaction } from '../kit/db/database.ts';
import { isLockOrStatementTimeout } from '../kit/db/failures.ts';
import { countSecretsByKey, type KeyUse } from '../kit/secret-use.ts';
import type { Db, Tables } from '../tables.ts';
import { refuseFaults } from './failures.ts';

const guide = 'docs/operate/backup.md#keys';

export type KeySetting = Tables['known_keys']['setting'];
type Keys = Pick<Config, KeySetting>;

/** Throws a ConfigError if the keys are not those that the database was used with. Changes nothing. */
export async function requireKnownKeys(db: Db, keys: Keys): Promise<void> {
  refuseFaults(await listKeyFaults(db, keys));
}

/** Lists what is wrong with the configured keys, and changes nothing. */
export const listKeyFaults = async (db: Db, keys: Keys): Promise<string[]> =>
  compareKeys(db, keys, await countIfNeeded(db, keys));

/** Lists what is wrong with the configured keys. Remembers those that are new, and forgets those that nothing needs. */
export async function recognizeKeys(db: Db, keys: Keys, now: Date): Promise<string[]> {
  // Before the transaction, which a statement that takes too long would end.
  const uses = await countIfNeeded(db, keys);
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, 'known keys'); // of two processes that start with different keys, the second is refused
    const faults = await compareKeys(db, keys, uses);
    if (faults.length > 0) return faults;
    const configured = listProbes(keys);
    await db
      .insertInto('known_keys')
      .values(configured.map((each) => ({ ...each, first_used_at: now })))
      .onConflict((conflict) =>
        conflict
          .columns(['setting', 'key_id'])
          .doUpdateSet(({ ref }) => ({ probe: ref('excluded.probe'), first_used_at: now, forgotten_at: null }))
          .where('known_keys.forgotten_at', 'is not', null),
      )
      .execute();
    if (uses !== undefined)
      await db
        .deleteFrom('known_keys')
        .where('forgotten_at', 'is', null)
        .where(({ and, eb, not, or }) =>
          not(or(configured.map((each) => and([eb('setting', '=', each.setting), eb('key_id', '=', each.key_id)])))),
        )
        .execute();
    return [];
  });
}

/**
 * A key that nothing needs any more may be removed. The secrets are counted only if one is absent, or if the database is
 * from a release that did not remember keys. Undefined otherwise, and if it takes too long: a process must be able to start
 * beside any number of secrets.
 */
async function countIfNeeded(db: Db, keys: Keys): Promise<readonly KeyUse[] | undefined> {
  const rows = await readKnownKeys(db);
  const isAbsent = ({ key_id }: KnownKey) => !keys.MASTER_KEYS.some(({ id }) => id === key_id);
  if (rows.some(isMaster) && !rows.some((row) => isMaster(row) && !row.is_forgotten && isAbsent(row))) return undefined;
  try {
    return await countSecretsByKey(db);
  } catch (error) {
    if (isLockOrStatementTimeout(error)) return undefined;
    throw error;
  }
}

async function compareKeys(db: Db, keys: Keys, uses: readonly KeyUse[] | undefined): Promise<string[]> {
  const rows = await readKnownKeys(db);
  return listFaultsOf(rows, keys, uses);
}

export type RememberedKey = Pick<Tables['known_keys'], 'setting' | 'key_id' | 'probe'> & {
  readonly is_forgotten: boolean;
};

/** Compares the configured keys with those that a database remembers, and with those that its secrets need. */
export function listFaultsOf(
  rows: readonly RememberedKey[],
  keys: Keys,
  uses: readonly Pick<KeyUse, 'key_id' | 'count'>[] | undefined,
): string[] {
  const known = rows.filter(({ is_forgotten }) => !is_forgotten);
  const configured = listProbes(keys);
  const find = ({ setting, key_id }: KnownKey) =>
    configured.find((each) => each.setting === setting && each.key_id === key_id);
  const changed = known.filter((row) => (find(row)?.probe ?? row.probe) !== row.probe);
  const absent = known.filter((row) => find(row) === undefined);
  const expected = [...configured, ...rows.filter((row) => !absent.includes(row))].filter(isMaster);
  return [
    ...changed.map(
      ({ setting, key_id }) =>
        `${setting} has another key with the id "${key_id}" than the one that this database was used with.${howTo(setting, key_id)}`,
    ),
    ...listNeededKeys(uses ?? [], expected),
    ...listLostPeppers(known, absent),
  ];
}

export const readKnownKeys = (db: Db): Promise<RememberedKey[]> =>
  db
    .selectFrom('known_keys')
    .select(['setting', 'key_id', 'probe'])
    .select(({ eb }) => eb('forgotten_at', 'is not', null).$castTo<boolean>().as('is_forgotten'))
    .orderBy('setting')
    .orderBy('key_id')
    .execute();

const isMaster = ({ setting }: KnownKey): boolean => setting === 'MASTER_KEYS';

const howTo = (setting: KeySetting, id: string): string =>
  ` Restore it from your copy of the keys: ${guide}. If it is lost for good, run "npm run plinth -- keys forget ${setting} ${id}".`;

type KnownKey = Pick<Tables['known_keys'], 'setting' | 'key_id'>;

function listNeededKeys(uses: readonly Pick<KeyUse, 'key_id' | 'count'>[], expected: readonly KnownKey[]): string[] {
  const lacking = uses.filter((use) => !expected.some(({ key_id }) => key_id === use.key_id));
  return [...Map.groupBy(lacking, ({ key_id }) => key_id)].map(([id, found]) => {
    const count = found.reduce((sum, use) => sum + use.count, 0);
    return `MASTER_KEYS lacks the key "${id}", which ${count} encrypted secrets need.${howTo('MASTER_KEYS', id)}`;
  });
}

/** One of several may be removed: credentials that were not used since its rotation become invalid, as documented. */
function listLostPeppers(known: readonly KnownKey[], absent: readonly KnownKey[]): string[] {
  const isPepper = ({ setting }: KnownKey) => setting === 'TOKEN_PEPPERS';
  const lost = absent.filter(isPepper);
  if (lost.length < known.filter(isPepper).length) return [];
  return lost.map(
    ({ key_id }) =>
      `TOKEN_PEPPERS lacks the key "${key_id}", without which no credential is valid.${howTo('TOKEN_PEPPERS', key_id)}`,
  );
}

/** Returns whether there was anything to forget. */
export async function forgetKey(db: Db, setting: KeySetting, key_id: string, now: Date): Promise<boolean> {
  const forgotten = await db
    .updateTable('known_keys')
    .set({ forgotten_at: now })
    .where('setting', '=', setting)
    .where('key_id', '=', key_id)
    .where('forgotten_at', 'is', null)
    .executeTakeFirst();
  if (forgotten.numUpdatedRows > 0n) return true;
  if (setting !== 'MASTER_KEYS' || !(await countSecretsByKey(db)).some((use) => use.key_id === key_id)) return false;
  // A release that did not remember keys used it.
  const row = { setting, key_id, probe: '', first_used_at: now, forgotten_at: now };
  const added = await db
    .insertInto('known_keys')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (added.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

function listProbes({ MASTER_KEYS, TOKEN_PEPPERS }: Keys) {
  const entries = { MASTER_KEYS, TOKEN_PEPPERS };
  return (['MASTER_KEYS', 'TOKEN_PEPPERS'] as const).flatMap((setting) =>
    entries[setting].map(({ id, key }) => ({
      setting,
      key_id: id,
      probe: createHmac('sha256', key).update(`plinth probe of ${setting} ${id}`).digest('base64url'),
    })),
  );
}
