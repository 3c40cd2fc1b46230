// plinth keys new: fresh keys, in the form the environment takes them.
import { randomBytes } from 'node:crypto';

const newKey = (): string => randomBytes(32).toString('base64');

export function newKeys(): string {
  const id = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  return `TOKEN_PEPPERS=${id}:${newKey()}\nSIGNING_KEY=${newKey()}\n`;
}

export async function keys([what]: string[]): Promise<void> {
  if (what !== 'new') throw new Error('usage: plinth keys new');
  process.stdout.write(newKeys());
}
