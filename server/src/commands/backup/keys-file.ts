// A copy of the keys in a file that is encrypted with a passphrase.
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ConfigError, keyNames, settingText } from '../../config.ts';

export type KeyTexts = Readonly<Record<(typeof keyNames)[number], string>>;

const kind = 'plinth keys';
const algorithm = 'aes-256-gcm';
const minLength = 12;
// One attempt to guess takes about half a second and 128 MiB.
const cost = { N: 2 ** 17, r: 8, p: 1 };
const maxCost = { N: 2 ** 20, r: 16, p: 4 };

interface KeysFile {
  readonly kind: typeof kind;
  readonly format: 1;
  readonly written_at: string;
  readonly scrypt: typeof cost;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
  readonly tag: string;
}

/** Encrypts the configured keys. Replaces a file only if it is one of these. */
export async function writeKeysFile(path: string, passphrase: string, now: Date): Promise<void> {
  if (passphrase.length < minLength)
    throw new ConfigError(`The passphrase must have at least ${minLength} characters. No keys were written.`);
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv(algorithm, await deriveKey(passphrase, salt, cost), nonce);
  const plain = JSON.stringify(Object.fromEntries(keyNames.map((name) => [name, settingText(name)])));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  const encode = (bytes: Buffer) => bytes.toString('base64');
  const content: KeysFile = {
    kind,
    format: 1,
    written_at: now.toISOString(),
    scrypt: cost,
    salt: encode(salt),
    nonce: encode(nonce),
    sealed: encode(sealed),
    tag: encode(cipher.getAuthTag()),
  };
  const temporary = `${path}.${process.pid}`;
  try {
    await refuseOther(path);
    await writeFile(temporary, `${JSON.stringify(content, null, 1)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`The keys can't be written to ${path} (${(error as NodeJS.ErrnoException).code}).`);
  }
}

async function refuseOther(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text !== undefined && parse(text) === undefined)
    throw new ConfigError(`${path} exists and is no copy of keys, so it was not replaced. Name another file.`);
}

/** Throws a ConfigError if the file is none, or the passphrase is not the one that it was encrypted with. */
export async function openKeysFile(path: string, passphrase: string): Promise<KeyTexts> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`${path} can't be read (${error.code}).`);
  });
  const found = parse(text);
  if (found === undefined) throw new ConfigError(`${path} is no copy of keys, or was damaged.`);
  const decode = (field: 'salt' | 'nonce' | 'sealed' | 'tag') => Buffer.from(found[field], 'base64');
  try {
    const key = await deriveKey(passphrase, decode('salt'), found.scrypt);
    const decipher = createDecipheriv(algorithm, key, decode('nonce'), { authTagLength: 16 });
    decipher.setAuthTag(decode('tag'));
    const plain = Buffer.concat([decipher.update(decode('sealed')), decipher.final()]);
    return JSON.parse(plain.toString('utf8')) as KeyTexts;
  } catch {
    throw new ConfigError(`${path} can't be decrypted: the passphrase is wrong, or the file was damaged.`);
  }
}

function parse(text: string): KeysFile | undefined {
  try {
    const found = JSON.parse(text) as KeysFile;
    const isAffordable = (['N', 'r', 'p'] as const).every((name) => found.scrypt[name] <= maxCost[name]);
    return found.kind === kind && found.format === 1 && isAffordable ? found : undefined;
  } catch {
    return undefined;
  }
}

const derive = promisify(
  (passphrase: string, salt: Buffer, options: object, done: (error: Error | null, key: Buffer) => void) =>
    scrypt(passphrase.normalize('NFC'), salt, 32, options, done),
);

const deriveKey = (passphrase: string, salt: Buffer, { N, r, p }: typeof cost): Promise<Buffer> =>
  derive(passphrase, salt, { N, r, p, maxmem: 256 * N * r });
