// Owns the file `.env`: loading it, and adding keys to it. It contains keys, so only its owner may read it.
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { formatKeys, newKeys } from './keys.ts';

const ownerOnly = 0o600;

/** Loads `.env` if there is one, and warns if other users of the machine can read or change it. */
export function loadEnvFile(): void {
  const path = '.env';
  if (!existsSync(path)) return;
  // Windows has no such modes.
  const isOpenToOthers = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  if (isOpenToOthers)
    console.error(`${path} contains keys, and other users of this machine can read it. Run: chmod 600 ${path}`);
  process.loadEnvFile(path);
}

/** Adds keys that `.env` lacks, so that a file of an older release keeps working. Returns the names of the new keys. */
export function addMissingKeys(path = '.env'): string[] {
  const present = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const missing = Object.entries(newKeys()).filter(([name]) => !new RegExp(`^${name}=`, 'm').test(present));
  if (missing.length === 0) return [];
  const heading = present === '' ? '# Created by `npm run dev`. All settings: .env.example\n' : '';
  // The mode of writeFileSync applies to a new file only.
  if (existsSync(path)) chmodSync(path, ownerOnly);
  writeFileSync(path, heading + present + formatKeys(Object.fromEntries(missing)), { mode: ownerOnly });
  return missing.map(([name]) => name);
}
