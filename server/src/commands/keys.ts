// `plinth keys new`, which prints new keys as lines for `.env`.
import { randomBytes } from 'node:crypto';
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
  const [action] = parseArguments(args, { usage: keysUsage, maxWords: 1 }).words;
  if (action !== 'new') throw new UsageError(keysUsage);
  process.stdout.write(formatKeys(newKeys()));
}
