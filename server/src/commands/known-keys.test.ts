// Tests that processes start only with the keys that the database was used with.
import { createSecretKey, randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { cloneTemplate } from '../../test/support/template.ts';
import { openDatabase } from '../kit/db/database.ts';
import { createSecrets } from '../kit/secrets.ts';
import type { Tables } from '../tables.ts';
import { forgetKey, listKeyFaults, recognizeKeys } from './known-keys.ts';

const database = await cloneTemplate();
const { db, close } = openDatabase<Tables>({ url: database.url, poolSize: 4 });
// Stores secrets without the apps that they belong to.
const owner = new pg.Client({ connectionString: database.ownerUrl, options: '-c session_replication_role=replica' });
await owner.connect();
afterAll(async () => {
  await close();
  await owner.end();
  await database.drop();
});

const master = (id: string, key = randomBytes(32)) => ({ id, key });
const pepper = (id: string) => ({ id, key: createSecretKey(randomBytes(32)) });
const [oldMaster, newMaster, oldPepper, newPepper] = [master('old'), master('new'), pepper('old'), pepper('new')];
const used = { MASTER_KEYS: [oldMaster], TOKEN_PEPPERS: [oldPepper] } as const;
const start = (keys: Parameters<typeof recognizeKeys>[1]) => recognizeKeys(db, keys, new Date());
const listKnown = async () =>
  (await db.selectFrom('known_keys').select(['setting', 'key_id']).orderBy('setting').orderBy('key_id').execute()).map(
    ({ setting, key_id }) => `${setting} ${key_id}`,
  );

beforeEach(async () => {
  await owner.query('truncate app_secrets, known_keys');
  expect(await start(used)).toEqual([]);
});

const storeSecret = (key: ReturnType<typeof master>) =>
  owner.query(
    `insert into app_secrets (app_id, name, sealed, created_date, updated_date)
     values (gen_random_uuid(), 'NAME', $1, now(), now())`,
    [createSecrets([key]).seal('a secret', ['app_secrets', 'x', 'sealed'])],
  );

describe('keys', () => {
  it('are remembered when they are first used, without anything that would give them away', async () => {
    expect(await listKnown()).toEqual(['MASTER_KEYS old', 'TOKEN_PEPPERS old']);
    const stored = JSON.stringify(await db.selectFrom('known_keys').selectAll().execute());
    expect(stored).not.toContain(oldMaster.key.toString('base64url').slice(0, 16));
    expect(await start(used)).toEqual([]);
  });

  it('are refused if another one has the id of one that was used, by the name of the setting and the id', async () => {
    const faults = await start({ ...used, MASTER_KEYS: [master('old')] });
    expect(faults).toEqual([
      expect.stringMatching(
        /^MASTER_KEYS has another key with the id "old" .* plinth -- keys forget MASTER_KEYS old"\.$/,
      ),
    ]);
    expect(await start({ ...used, TOKEN_PEPPERS: [pepper('old')] })).toEqual([
      expect.stringMatching(/^TOKEN_PEPPERS has another key with the id "old"/),
    ]);
    expect(await listKnown()).toEqual(['MASTER_KEYS old', 'TOKEN_PEPPERS old']);
  });

  it('are refused if new ones were made, as for a container without its settings', async () => {
    await storeSecret(oldMaster);
    expect(await start({ MASTER_KEYS: [newMaster], TOKEN_PEPPERS: [newPepper] })).toEqual([
      expect.stringMatching(/^MASTER_KEYS lacks the key "old", which 1 encrypted secrets need\./),
      expect.stringMatching(/^TOKEN_PEPPERS lacks the key "old", without which no credential is valid\./),
    ]);
    expect(await listKnown()).toEqual(['MASTER_KEYS old', 'TOKEN_PEPPERS old']);
  });

  it('can be rotated: the old one may be removed once nothing needs it', async () => {
    await storeSecret(oldMaster);
    const both = { MASTER_KEYS: [newMaster, oldMaster], TOKEN_PEPPERS: [newPepper, oldPepper] } as const;
    const onlyNew = { MASTER_KEYS: [newMaster], TOKEN_PEPPERS: [newPepper] } as const;
    expect(await start(both)).toEqual([]);
    expect(await start(onlyNew)).toHaveLength(1);
    await owner.query('truncate app_secrets');
    await storeSecret(newMaster);
    expect(await listKeyFaults(db, onlyNew)).toEqual([]);
    expect(await start(onlyNew)).toEqual([]);
    expect(await listKnown()).toEqual(['MASTER_KEYS new', 'TOKEN_PEPPERS new']);
  });

  it('that are lost for good can be forgotten', async () => {
    await storeSecret(oldMaster);
    const found = { MASTER_KEYS: [newMaster], TOKEN_PEPPERS: [oldPepper] } as const;
    expect(await start(found)).toHaveLength(1);
    expect(await forgetKey(db, 'MASTER_KEYS', 'old', new Date())).toBe(true);
    expect(await forgetKey(db, 'MASTER_KEYS', 'old', new Date())).toBe(false);
    expect(await start(found)).toEqual([]);
  });

  it('are compared with the secrets if the database is from a release that did not remember keys', async () => {
    await owner.query('truncate known_keys');
    await storeSecret(oldMaster);
    const wrong = { MASTER_KEYS: [newMaster], TOKEN_PEPPERS: [oldPepper] } as const;
    expect(await start(wrong)).toEqual([expect.stringMatching(/^MASTER_KEYS lacks the key "old", which 1 /)]);
    expect(await listKnown()).toEqual([]);
    expect(await forgetKey(db, 'MASTER_KEYS', 'other', new Date())).toBe(false);
    expect(await forgetKey(db, 'MASTER_KEYS', 'old', new Date())).toBe(true);
    expect(await start(wrong)).toEqual([]);
    expect(await start(wrong)).toEqual([]);
  });

  it('of one process are accepted, if several start at once with different ones', async () => {
    for (let round = 0; round < 10; round += 1) {
      await owner.query('truncate known_keys');
      const started = await Promise.all(
        Array.from({ length: 4 }, () => start({ MASTER_KEYS: [master('same')], TOKEN_PEPPERS: [pepper('same')] })),
      );
      expect(started.filter((faults) => faults.length === 0)).toHaveLength(1);
    }
  });

  it('can be forgotten and replaced by others with the same id', async () => {
    const replaced = { ...used, TOKEN_PEPPERS: [pepper('old')] } as const;
    expect(await start(replaced)).toHaveLength(1);
    await forgetKey(db, 'TOKEN_PEPPERS', 'old', new Date());
    expect(await start(replaced)).toEqual([]);
    expect(await start(used)).toHaveLength(1);
  });

  it('keep the time of their first use', async () => {
    const readTimes = async () =>
      (await db.selectFrom('known_keys').select('first_used_at').execute()).map(({ first_used_at }) =>
        first_used_at.getTime(),
      );
    const before = await readTimes();
    expect(await recognizeKeys(db, used, new Date(Date.now() + 86_400_000))).toEqual([]);
    expect(await readTimes()).toEqual(before);
  });

  it('are accepted, and none is forgotten, if counting the secrets takes too long', async () => {
    await owner.query('begin');
    await owner.query('lock table app_secrets in access exclusive mode');
    expect(await start({ MASTER_KEYS: [newMaster], TOKEN_PEPPERS: [newPepper, oldPepper] })).toEqual([]);
    await owner.query('rollback');
    expect(await listKnown()).toEqual(['MASTER_KEYS new', 'MASTER_KEYS old', 'TOKEN_PEPPERS new', 'TOKEN_PEPPERS old']);
  });
});
