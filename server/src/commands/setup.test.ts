// Tests what `plinth setup` writes: settings that processes accept, secrets that only they can read, and a compose file
// whose files are all there.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../config.ts';
import { setup } from './setup.ts';

const parent = mkdtempSync(join(tmpdir(), 'plinth-setup-'));
afterAll(() => rmSync(parent, { recursive: true }));
let count = 0;
const newFolder = () => join(parent, String(count++));
const address = ['--base-url', 'https://plinth.example.com', '--apps-domain', 'Apps.example.net'];
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

async function run(...args: string[]): Promise<string> {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  try {
    await setup(args);
    return log.mock.calls.join('\n');
  } finally {
    log.mockRestore();
  }
}

/** Reads what a process in a container would read. */
function readSettings(folder: string) {
  const text = readFileSync(join(folder, 'plinth.env'), 'utf8').replaceAll('/run/secrets/', `${folder}/secrets/`);
  return readConfig(parseEnv(text) as Record<string, string>);
}

interface Compose {
  readonly services: Readonly<Record<string, { readonly volumes?: readonly string[] }>>;
}

describe('for containers', () => {
  it('writes settings that processes accept, with keys and passwords of their own', async () => {
    const [first, second] = [newFolder(), newFolder()];
    const printed = await run(first, ...address);
    expect(printed).toContain(`cd ${first} && docker compose up -d\n`);
    await run(second, ...address);
    const settings = readSettings(first);
    expect(settings).toMatchObject({ BASE_URL: 'https://plinth.example.com', APPS_DOMAIN: 'apps.example.net' });
    const statements = readFileSync(join(first, 'secrets/database.sql'), 'utf8');
    expect(statements).toContain('create role plinth_owner login createdb password'); // `plinth backup --verify` needs it
    expect(settings.TRUSTED_PROXIES).toEqual(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16']);
    for (const name of readdirSync(join(first, 'secrets'))) {
      const [one, other] = [first, second].map((folder) => readFileSync(join(folder, 'secrets', name), 'utf8'));
      expect(one).not.toBe(other);
    }
  });

  it('gives each container only the secrets that it needs, from files that exist', async () => {
    const folder = newFolder();
    await run(folder, ...address);
    expect(modeOf(join(folder, 'secrets'))).toBe('700');
    const text = readFileSync(join(folder, 'compose.yaml'), 'utf8');
    const { services } = parse(text, { merge: true }) as Compose;
    const mounted = Object.entries(services).flatMap(([service, { volumes = [] }]) =>
      volumes
        .filter((volume) => volume.startsWith('./'))
        .map((volume) => ({ service, path: volume.split(':')[0] ?? '' })),
    );
    for (const { path } of mounted) expect(modeOf(join(folder, path))).toBe('644');
    const usersOf = (name: string) =>
      mounted.filter(({ path }) => path === `./secrets/${name}`).map(({ service }) => service);
    expect(usersOf('migrate_database_url')).toEqual(['migrate']);
    expect(usersOf('postgres_password')).toEqual(['postgres']);
    expect(usersOf('database.sql')).toEqual(['postgres']);
    expect(usersOf('master_keys')).toEqual(['migrate', 'api', 'worker']);
    expect(new Set(mounted.map(({ path }) => path.replace('./secrets/', '')))).toEqual(
      new Set([...readdirSync(join(folder, 'secrets')), './Caddyfile']),
    );
  });

  it('uses the variables that compose.yaml has', async () => {
    const folder = newFolder();
    await run(folder, '--base-url', 'https://plinth.example.com:8443');
    const compose = readFileSync(join(folder, 'compose.yaml'), 'utf8');
    const variables = parseEnv(readFileSync(join(folder, '.env'), 'utf8'));
    expect(variables).toMatchObject({ PLINTH_HOST: 'plinth.example.com', HTTPS_PORT: '8443' });
    for (const name of Object.keys(variables)) expect(compose).toContain(`\${${name}:`);
    expect(readSettings(folder).APPS_DOMAIN).toBeUndefined();
  });
});

it('changes nothing in a folder that is set up', async () => {
  const folder = newFolder();
  await run(folder, ...address);
  const before = readFileSync(join(folder, 'secrets/master_keys'), 'utf8');
  await expect(setup([folder, ...address])).rejects.toThrow(
    `${folder} is set up already: it contains plinth.env and secrets. Nothing was changed.`,
  );
  expect(readFileSync(join(folder, 'secrets/master_keys'), 'utf8')).toBe(before);
  const half = newFolder();
  mkdirSync(half);
  writeFileSync(join(half, 'plinth.env'), 'BASE_URL=https://other.example\n');
  await expect(setup([half, ...address])).rejects.toThrow('it contains plinth.env.');
});

it.each([
  [['--base-url', 'http://plinth.example.com'], /^The address must be like https:/],
  [['--base-url', 'https://plinth.example.com/path'], /^The address must be like https:/],
  [['--base-url', 'plinth.example.com'], /^The address must be like https:/],
  [[...address.slice(0, 2), '--apps-domain', 'apps example'], /^The domain must be like apps\.example\.net/],
  [[], /^Name the address of Plinth with --base-url\./],
  [[...address, '--create-database'], /^usage: plinth setup/],
])('refuses %j before anything is written', async (args, message) => {
  const folder = newFolder();
  await expect(setup([folder, ...args])).rejects.toThrow(message);
  expect(() => statSync(folder)).toThrow('ENOENT');
});

it('says which group services of the machine need', async () => {
  const folder = newFolder();
  await expect(setup([folder, ...address, '--systemd'])).rejects.toThrow(
    /^There is no group "plinth"|^Only root can set up/,
  );
});
