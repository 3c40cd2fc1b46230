// `plinth keys new`, which prints new keys as lines for `.env`, `plinth keys forget`, after which processes start without
// a key that is lost, and `plinth keys unlock`, which prints the keys of a copy.
import { randomBytes } from 'node:crypto';
import { ConfigError, readConfig } from '../config.ts';
import type { Tables } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { keysUsage } from './usages.ts';

const newKey = (): string => randomBytes(32).toString('base64');

export function newKeys(): Record<string, string> {
  const id = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  return { TOKEN_PEPPERS: `${id}:${newKey()}`, SIGNING_KEY: newKey(), MASTER_KEYS: `${id}:${newKey()}` };
}

export const formatKeys = (keys: Readonly<Record<string, string>>): string =>
  Object.entries(keys)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

export async function keys(args: string[]): Promise<void> {
  const [action, ...words] = parseArguments(args, { usage: keysUsage, maxWords: 3 }).words;
  if (action === 'new' && words.length === 0) process.stdout.write(formatKeys(newKeys()));
  else if (action === 'forget' && words.length === 2) await forget(words);
  else if (action === 'unlock' && words.length === 1) await unlock(words[0] ?? '');
  else throw new UsageError(keysUsage);
}

/** Prints the keys of a copy that `plinth backup --keys` has written. */
async function unlock(file: string): Promise<void> {
  const [{ openKeysFile }, { readPassphrase }] = await Promise.all([
    import('./backup/keys-file.ts'),
    import('./backup/passphrase.ts'),
  ]);
  process.stdout.write(formatKeys(await openKeysFile(file, await readPassphrase({ isNew: false }))));
}

async function forget([setting = '', id = '']: string[]): Promise<void> {
  if (setting !== 'MASTER_KEYS' && setting !== 'TOKEN_PEPPERS') throw new UsageError(keysUsage);
  // Imported only here, because most commands with keys need no database.
  const [{ openDatabase }, { forgetKey }] = await Promise.all([
    import('../kit/db/database.ts'),
    import('./known-keys.ts'),
  ]);
  const { db, close } = openDatabase<Tables>({ url: readConfig().DATABASE_URL, poolSize: 1 });
  try {
    if (!(await forgetKey(db, setting, id, new Date())))
      throw new ConfigError(`This database was not used with a key "${id}" of ${setting}.`);
    console.log(
      `Forgot the key "${id}" of ${setting}. Processes now start without it. What it protects can't be read.`,
    );
  } finally {
    await close();
  }
}
