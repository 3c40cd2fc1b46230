// Owns the house rules that imports do not show: who reads the environment, how a file opens, whose a migration is.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

// What each file may mention of the environment; every other file nothing.
const environment: Record<string, string[]> = {
  'config.ts': ['process.env'],
  'main.ts': ['process.env', 'process.loadEnvFile'],
  // It writes the .env it then runs under.
  'commands/dev.ts': ['process.loadEnvFile'],
};

const server = fileURLToPath(new URL('..', import.meta.url));
const sources = readAll('src', '.ts');
const migrations = readAll('migrations', '.sql');

describe('every source file', () => {
  it.each(sources)('$path leaves the environment to config', ({ path, text }) => {
    const mentioned = text.match(/process\.(env|loadEnvFile)\b|node:process/g) ?? [];
    expect(mentioned.filter((mention) => !environment[path]?.includes(mention))).toEqual([]);
  });

  it.each(sources.filter(({ path }) => path !== 'tables.ts'))('$path opens by saying what it owns', ({ text }) => {
    expect(text).toMatch(/^\/\/ \S/);
  });
});

describe('every migration', () => {
  it.each(migrations)('$path names the room that owns its tables', ({ text }) => {
    const room = /^-- room: (\S+)\n/.exec(text)?.[1] ?? 'none';
    const folders = [join(server, 'src', room), join(server, 'src/features', room)];
    expect(folders.some(existsSync), `there is no room '${room}'`).toBe(true);
  });
});

function readAll(folder: string, ending: string) {
  const paths = readdirSync(join(server, folder), { recursive: true, encoding: 'utf8' });
  const found = paths.filter((path) => path.endsWith(ending));
  if (found.length === 0) throw new Error(`nothing to look at in ${folder}`);
  return found.map((path) => ({ path, text: readFileSync(join(server, folder, path), 'utf8') }));
}
