// Owns the rules of the code base that imports do not show: who reads the environment, how a file opens, which module
// owns a migration.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

// What each file may mention of the environment; every other file nothing.
const environment: Record<string, string[]> = {
  'config.ts': ['process.env'],
  'commands/env-file.ts': ['process.loadEnvFile'],
};

const server = fileURLToPath(new URL('..', import.meta.url));
const sources = readAll('src', '.ts');
const migrations = readAll('migrations', '.sql');

describe('every source file', () => {
  it.each(sources)('$path leaves the environment to config', ({ path, text }) => {
    const mentioned = text.match(/process\.(env|loadEnvFile)\b|node:process/g) ?? [];
    expect(mentioned.filter((mention) => !environment[path]?.includes(mention))).toEqual([]);
  });

  it.each(sources.filter(({ path }) => path !== 'tables.ts'))('$path begins with what it owns', ({ text }) => {
    expect(text).toMatch(/^\/\/ \S/);
  });
});

// Migrations never change, because their checksums are stored. Those written before the modules had their names of today
// say `-- room:`; this is what that name means now.
const formerOwners: Record<string, string> = {
  access: 'core',
  kit: 'kit/background',
};

describe('every migration', () => {
  it.each(migrations)('$path names the module that owns its tables', ({ text }) => {
    const [, key, name = 'none'] = /^-- (room|module): (\S+)\n/.exec(text) ?? [];
    const module = key === 'room' ? (formerOwners[name] ?? name) : name;
    const folders = [join(server, 'src', module), join(server, 'src/features', module)];
    expect(folders.some(existsSync), `there is no module '${module}'`).toBe(true);
  });
});

function readAll(folder: string, ending: string) {
  const paths = readdirSync(join(server, folder), { recursive: true, encoding: 'utf8' });
  const found = paths.filter((path) => path.endsWith(ending));
  if (found.length === 0) throw new Error(`no files in ${folder}`);
  return found.map((path) => ({ path, text: readFileSync(join(server, folder, path), 'utf8') }));
}
