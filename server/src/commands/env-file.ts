// Loads the `.env` file and adds keys to it. Only the file's owner may read it, because it contains keys.
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { settingsFile } from '../config.ts';
import { formatKeys, newKeys } from './keys.ts';

const ownerOnly = 0o600;

/**
 * Loads `.env`, or the file that is named instead, if there is one. Warns if other users of the machine can read or change
 * `.env`, which contains keys; other files name them.
 */
export function loadEnvFile(): void {
  const path = settingsFile();
  if (!existsSync(path)) return;
  // Windows does not have these file modes.
  const isOpenToOthers = path === '.env' && process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  if (isOpenToOthers)
    console.error(`${path} contains keys, and other users on this machine can read it. Run: chmod 600 ${path}`);
  process.loadEnvFile(path);
}

/** Lists the names in `.env`, if there is such a file. */
export const listEnvFileNames = (path = settingsFile()): string[] =>
  existsSync(path) ? Object.keys(parseEnv(readFileSync(path, 'utf8'))) : [];

/**
 * Adds the keys that are missing from `.env`, so a file from an older release still works. Returns the names of the
 * added keys.
 */
export function addMissingKeys(path = '.env'): string[] {
  const present = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const missing = Object.entries(newKeys()).filter(([name]) => !new RegExp(`^${name}(_FILE)?=`, 'm').test(present));
  if (missing.length === 0) return [];
  const heading = present === '' ? '# Created by `npm run dev`. All settings: .env.example\n' : '';
  // writeFileSync applies its mode only to new files.
  if (existsSync(path)) chmodSync(path, ownerOnly);
  writeFileSync(path, heading + present + formatKeys(Object.fromEntries(missing)), { mode: ownerOnly });
  return missing.map(([name]) => name);
}
