// The settings for the installation's keys, and for its initial setup token.
import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Pepper } from '../core/auth/tokens.ts';
import type { MasterKey } from '../kit/secrets.ts';
import { optional, required, text } from './setting.ts';

function key(value: string): Buffer {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length < 32) throw new Error('must be at least 32 bytes in base64');
  return bytes;
}

/** A list of at least one key. The first key is the current one. */
type KeyList<Key> = readonly [Key, ...Key[]];

/** Parses `20260101:BASE64,20250101:BASE64` into keys with their ids. */
function keyList<Key>(toKey: (id: string, key: Buffer) => Key) {
  return (value: string): KeyList<Key> => {
    const parseEntry = (entry: string): Key => {
      const [id, encoded] = entry.trim().split(':', 2);
      if (!id || !encoded || id.includes('.')) throw new Error('must be a comma-separated list of id:base64');
      return toKey(id, key(encoded));
    };
    const [first = '', ...others] = value.split(',');
    return [parseEntry(first), ...others.map(parseEntry)];
  };
}

/** Uses a key object, because computing an HMAC with it is much faster than with the key's bytes. */
const signingKey = (value: string): KeyObject => createSecretKey(key(value));

const peppers = keyList((id, key): Pepper => ({ id, key: createSecretKey(key) }));

const masterKeys = keyList((id, key): MasterKey => {
  if (key.length !== 32) throw new Error('must contain only keys of exactly 32 bytes');
  return { id, key };
});

export const keySettings = {
  TOKEN_PEPPERS: required(
    'Keys for hashing credentials: a comma-separated list of `id:base64`, at least 32 bytes each. New credentials use the first key; the others still verify. To rotate keys, see docs/operate/configure.md#rotate-keys.',
    peppers,
  ),
  SIGNING_KEY: required('Key that signs list cursors: base64, at least 32 bytes.', signingKey),
  MASTER_KEYS: required(
    'Keys for encrypting secrets at rest: a comma-separated list of `id:base64`, exactly 32 bytes each. New secrets use the first key; workers re-encrypt the others with it. To rotate keys, see docs/operate/configure.md#rotate-keys.',
    masterKeys,
  ),
  PLINTH_KEYS_PASSPHRASE: optional(
    'Passphrase that encrypts the copy of the keys which `plinth backup --keys` writes. If unset, the command asks for it. Use `PLINTH_KEYS_PASSPHRASE_FILE`, and keep it apart from the copy: docs/operate/backup.md#keys.',
    text,
  ),
  PLINTH_SETUP_TOKEN: optional(
    'Token for the first setup. If unset, the API prints one to its log until the first user exists.',
    text,
  ),
};
