// Encryption at rest (envelope encryption). Each secret has its own data key, which is encrypted with a master
// key. A sealed secret names its master key, so keys can be rotated without downtime. It is bound to its table, row and
// column, so a copy in a different row can't be decrypted.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export interface MasterKey {
  readonly id: string;
  readonly key: Buffer;
}

/**
 * Every column that stores secrets. Nothing can be sealed in another one, so `plinth doctor` sees all secrets that need
 * a master key.
 */
export const sealedColumns = [
  ['app_repositories', 'token_sealed'],
  ['app_secrets', 'sealed'],
  ['connection_attempts', 'code_verifier_sealed'],
  ['connections', 'access_token_sealed'],
  ['connections', 'credentials_sealed'],
  ['connections', 'refresh_token_sealed'],
  ['webhooks', 'previous_secret'],
  ['webhooks', 'secret'],
  ['workflow_runs', 'state_sealed'],
  ['workflows', 'hook_token_sealed'],
] as const;

type LocationIn<Column> = Column extends readonly [infer Table, infer Name]
  ? readonly [table: Table, row: string, column: Name]
  : never;

/** The table, row and column in which a secret is stored. */
export type SecretLocation = LocationIn<(typeof sealedColumns)[number]>;

export interface Secrets {
  seal(plain: string, location: SecretLocation): string;
  open(sealed: string, location: SecretLocation): string;
  /** Re-encrypts the secret with the current master key. Returns undefined if it already uses that key. */
  rewrap(sealed: string, location: SecretLocation): string | undefined;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export function createSecrets(masterKeys: readonly MasterKey[]): Secrets {
  const [current] = masterKeys;
  if (current === undefined) throw new Error('at least one master key is required');
  const keyOf = (id: string): Buffer => {
    const masterKey = masterKeys.find((master) => master.id === id);
    if (masterKey === undefined)
      throw new Error(`a secret was encrypted with the master key ${id}, which is not configured`);
    return masterKey.key;
  };
  const unwrap = (sealed: string, location: SecretLocation) => {
    const [version, keyId = '', wrapped = '', body = ''] = sealed.split('.');
    if (version !== 'v1') throw new Error('not a sealed secret');
    return { keyId, body, dataKey: decrypt(keyOf(keyId), bytes(wrapped), bindTo(location, 'key')) };
  };
  const wrap = (dataKey: Buffer, location: SecretLocation): string =>
    text(encrypt(current.key, dataKey, bindTo(location, 'key')));
  return {
    seal(plain, location) {
      const dataKey = randomBytes(32);
      const body = encrypt(dataKey, Buffer.from(plain, 'utf8'), bindTo(location, 'value'));
      return `v1.${current.id}.${wrap(dataKey, location)}.${text(body)}`;
    },
    open(sealed, location) {
      const { dataKey, body } = unwrap(sealed, location);
      return decrypt(dataKey, bytes(body), bindTo(location, 'value')).toString('utf8');
    },
    rewrap(sealed, location) {
      const { keyId, dataKey, body } = unwrap(sealed, location);
      return keyId === current.id ? undefined : `v1.${current.id}.${wrap(dataKey, location)}.${body}`;
    },
  };
}

/** Calls `rewrap` for each row. If one row fails, the others are still processed. Returns the number of rows. */
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
    throw new AggregateError(
      failures,
      `${failures.length} ${what} could not be re-encrypted with the current master key`,
    );
  return rows.length;
}

const bindTo = (location: SecretLocation, part: 'key' | 'value'): Buffer =>
  Buffer.from(JSON.stringify([...location, part]));
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
