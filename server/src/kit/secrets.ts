// Owns encryption at rest: what must be read back is sealed under a data key of its own, which is wrapped by a master
// key (contract §11.4). A sealed text names its master key, so keys rotate without a pause; where it belongs is bound
// in, so a sealed text copied to another row does not open there.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export interface MasterKey {
  readonly id: string;
  readonly key: Buffer;
}

/** The table, row and column a secret is stored in. */
export type SecretLocation = readonly [table: string, row: string, column: string];

export interface Secrets {
  seal(plain: string, place: SecretLocation): string;
  open(sealed: string, place: SecretLocation): string;
  /** The same secret with its data key wrapped by the current master key; undefined when it already is. */
  rewrap(sealed: string, place: SecretLocation): string | undefined;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export function createSecrets(masterKeys: readonly MasterKey[]): Secrets {
  const [current] = masterKeys;
  if (current === undefined) throw new Error('at least one master key is needed');
  const keyOf = (id: string): Buffer => {
    const found = masterKeys.find((master) => master.id === id);
    if (found === undefined) throw new Error(`a secret is sealed under the master key ${id}, which is not configured`);
    return found.key;
  };
  const unwrap = (sealed: string, place: SecretLocation) => {
    const [version, keyId = '', wrapped = '', body = ''] = sealed.split('.');
    if (version !== 'v1') throw new Error('not a sealed secret');
    return { keyId, body, dataKey: decrypt(keyOf(keyId), bytes(wrapped), bound(place, 'key')) };
  };
  const wrap = (dataKey: Buffer, place: SecretLocation): string =>
    text(encrypt(current.key, dataKey, bound(place, 'key')));
  return {
    seal(plain, place) {
      const dataKey = randomBytes(32);
      const body = encrypt(dataKey, Buffer.from(plain, 'utf8'), bound(place, 'value'));
      return `v1.${current.id}.${wrap(dataKey, place)}.${text(body)}`;
    },
    open(sealed, place) {
      const { dataKey, body } = unwrap(sealed, place);
      return decrypt(dataKey, bytes(body), bound(place, 'value')).toString('utf8');
    },
    rewrap(sealed, place) {
      const { keyId, dataKey, body } = unwrap(sealed, place);
      return keyId === current.id ? undefined : `v1.${current.id}.${wrap(dataKey, place)}.${body}`;
    },
  };
}

/** Rewraps each row by `rewrap`; one that cannot be opened is told, and does not keep the others. Gives how many. */
export async function rewrapEach<Row>(
  what: string,
  rows: readonly Row[],
  rewrap: (row: Row) => Promise<void>,
): Promise<number> {
  const failures: unknown[] = [];
  for (const row of rows) {
    try {
      await rewrap(row);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} ${what} could not be moved to the current master key`);
  return rows.length;
}

const bound = (place: SecretLocation, part: 'key' | 'value'): Buffer => Buffer.from(JSON.stringify([...place, part]));
const text = (value: Buffer): string => value.toString('base64url');
const bytes = (value: string): Buffer => Buffer.from(value, 'base64url');

function encrypt(key: Buffer, plain: Buffer, associated: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(associated);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, sealed: Buffer, associated: Buffer): Buffer {
  const cipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes));
  cipher.setAAD(associated).setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([cipher.update(sealed.subarray(nonceBytes, -tagBytes)), cipher.final()]);
}
