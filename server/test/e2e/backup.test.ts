// Rehearses docs/operate/backup.md. Runs the page's commands on an installation with two roles, destroys everything but the
// backup and the copy of the keys, restores these, and performs the checks that the page lists.
import { type ChildProcess, execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv, promisify } from 'node:util';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { startWebhookEndpoint } from '../../../sandbox/src/webhook-endpoint.ts';
import { formatKeys, newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { asAdmin, createEmptyDatabase, createRole, serverUrl, withRole } from '../support/template.ts';
import { endpointAddress } from '../support/webhook-receiver.ts';
import { commandLine } from './command.ts';

const page = readFileSync(fileURLToPath(new URL('../../../docs/operate/backup.md', import.meta.url)), 'utf8');
const [owner, runner] = [`plinth_owner_b${process.pid}`, `plinth_runner_b${process.pid}`];
const restoredName = `plinth_run_${process.pid}_restored`;
const byHandName = `plinth_run_${process.pid}_by_hand`;
const root = mkdtempSync(join(tmpdir(), 'plinth-backup-'));
const [oldFolder, newFolder, byHandFolder] = [join(root, 'old'), join(root, 'new'), join(root, 'by-hand')];
for (const folder of [oldFolder, newFolder, byHandFolder]) mkdirSync(folder);
const oldStorage = join(oldFolder, 'storage');
const backups = join(root, 'backups');
const passphraseFile = join(root, 'passphrase');
writeFileSync(passphraseFile, 'correct horse battery\n', { mode: 0o600 });

const database = await createEmptyDatabase();
const oldName = new URL(database.url).pathname.slice(1);
await asAdmin(async (client) => {
  for (const role of [owner, runner]) await createRole(client, role);
  await client.query(`alter database ${oldName} owner to ${owner}`);
  await client.query(`alter role ${owner} createdb`); // as the page says for --verify
});
const urlOf = (name: string, role: string) => withRole(`${serverUrl}/${name}`, role);
const endpoint = await startWebhookEndpoint({ address: endpointAddress });

/** An installation that reads its settings from the `.env` file in its folder. */
const installation = (folder: string, more: Record<string, string> = {}) => commandLine(more, undefined, folder);
const writeSettings = (folder: string, name: string, storage: string, keys = '') =>
  writeFileSync(
    join(folder, '.env'),
    `${keys}DATABASE_URL=${urlOf(name, runner)}\nSTORAGE_FOLDER=${storage}\nOUTBOUND_ALLOW=http://127.20.0.0/16\n`,
    { mode: 0o600 },
  );
const keys = newKeys();
writeSettings(oldFolder, oldName, oldStorage, formatKeys(keys));

const before = installation(oldFolder, { MIGRATE_DATABASE_URL: urlOf(oldName, owner) });
const restored = installation(newFolder, { MIGRATE_DATABASE_URL: urlOf(restoredName, owner) });
const byHand = installation(byHandFolder, { MIGRATE_DATABASE_URL: urlOf(byHandName, owner) });
const withOtherKeys = installation(newFolder, newKeys());
const withOtherMasterKey = installation(newFolder, { MASTER_KEYS: newKeys().MASTER_KEYS as string });

afterAll(async () => {
  await endpoint.close();
  await database.drop();
  await asAdmin(async (client) => {
    for (const name of [restoredName, byHandName]) await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`drop role ${owner}, ${runner}`);
  });
  rmSync(root, { recursive: true });
});

/** The shell commands under one of the page's headings, with this test's databases, roles and folders. */
function readCommands(heading: string): string[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  expect(blocks, heading).not.toEqual([]);
  const names: Record<string, string> = {
    plinth: oldName,
    plinth_restored: restoredName,
    plinth_owner: owner,
    plinth_run: runner,
  };
  const [made = ''] = listBackups();
  return blocks.map((commands) =>
    commands
      .replaceAll(/postgres:\/\/(\w+):…@127\.0\.0\.1\/(\w+)/g, (_, role, name) =>
        urlOf(names[name] as string, names[role] as string),
      )
      .replace('createdb --owner=plinth_owner plinth_restored', `createdb --owner=${owner} ${restoredName}`)
      .replaceAll('/var/backups/plinth', backups)
      .replace('plinth -- migrate', 'plinth -- migrate --skip-locations') // a real dump has them
      .replaceAll('plinth-20261119T020000Z', join(backups, made)),
  );
}

const listBackups = (): string[] => {
  try {
    return readdirSync(backups).toSorted();
  } catch {
    return [];
  }
};

const plinth = fileURLToPath(new URL('../../plinth.js', import.meta.url));
/** The folder of an installation is not a clone here, so `npm run` finds no script in it. */
const npm = `npm() { shift 4; '${process.execPath}' '${plinth}' "$@"; }\n`;

/** Runs commands in a shell that has only what a new shell has, and what is in the folder. Returns what they print. */
async function runCommands(commands: string, folder: string, more: Record<string, string> = {}): Promise<string> {
  const { hostname, port, username, password } = new URL(serverUrl);
  const server = {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: username,
    PGPASSWORD: decodeURIComponent(password),
  };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', npm + commands], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...server, ...more },
  });
  return stdout;
}
const withPassphrase = { PLINTH_KEYS_PASSPHRASE_FILE: passphraseFile };

/** Makes the folder a clone, as an installation is. */
const makeClone = (folder: string) =>
  runCommands(
    'git init -q . && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m release',
    folder,
  );

const stop = async ({ child }: { child: ChildProcess }) => {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
};

it('an installation is restored from its backup: credentials, audit chain, sealed secret, archives, roles', async () => {
  // Creates the original installation.
  expect((await before.plinth('migrate', '--skip-locations')).stdout).toContain('applied 0001_access.sql');
  const bootstrap = ['bootstrap', '--email', 'a@example.com', '--name', 'A', '--workspace', 'W'];
  const as = (await before.plinth(...bootstrap)).stdout.trim();
  const running = [await before.startApi(), await before.start('worker', /"msg":"worker started"/)] as const;
  const send = async (url: string, method: string, path: string, body?: object) => {
    const got = await call(url, method, path, { as, body });
    expect(got, `${method} ${path}`).toMatchObject({ status: 200 });
    return got.body;
  };
  const [{ url }] = running;
  const agent = await send(url, 'POST', '/api/agents', { name: 'Support' });
  const hooks = `/api/agents/${agent.id}/webhooks`;
  const target_url = `http://${endpointAddress}:${endpoint.port}/`;
  const { id: webhookId, secret } = await send(url, 'POST', hooks, { target_url, events: ['message.created'] });
  const { export_id } = await send(url, 'POST', '/api/workspace/export');
  await expect.poll(async () => (await send(url, 'GET', `/api/workspace/export/${export_id}`)).state).toBe('ready');
  const verify = (at: string) => send(at, 'GET', '/api/workspace/audit-log/verify');
  await expect.poll(() => verify(url)).toMatchObject({ valid: true, unsealed: 0 });
  const noted = await verify(url);
  expect(noted.checked).toBeGreaterThanOrEqual(3);

  // Backs up the installation and verifies the backup. The run role is refused.
  const [backUp = '', verifyNewest = ''] = readCommands('Back up');
  await expect(runCommands(backUp.replace('export MIGRATE_DATABASE_URL=', 'true '), oldFolder)).rejects.toThrow(
    'does not own the tables. Set MIGRATE_DATABASE_URL',
  );
  expect(await runCommands(backUp, oldFolder)).toMatch(
    /^Wrote .*: database .* 1 objects .*, \d audit chains\.\nThe keys are/,
  );
  const asOwner = { MIGRATE_DATABASE_URL: urlOf(oldName, owner) };
  expect(await runCommands(verifyNewest, oldFolder, asOwner)).toContain('is whole: ');
  const copying = await runCommands(readCommands('Keys').at(-1) ?? '', oldFolder, { ...asOwner, ...withPassphrase });
  expect(parseEnv(copying.slice(copying.indexOf('TOKEN_PEPPERS=')))).toEqual(keys);
  expect(listBackups()).toHaveLength(2);

  // Does the same with pg_dump, and restores it beside the installation. Without the exports, nothing is saved rather than
  // another database.
  await makeClone(oldFolder);
  const [dump = '', load = ''] = readCommands('With pg_dump');
  for (const lacking of [{}, asOwner])
    await expect(runCommands(dump, oldFolder, lacking)).rejects.toThrow(/_(URL|FOLDER): /);
  const ofAnother = { MIGRATE_DATABASE_URL: `${serverUrl}/postgres`, STORAGE_FOLDER: oldStorage };
  await expect(runCommands(dump, oldFolder, ofAnother)).rejects.toMatchObject({ code: 1 });
  await runCommands(dump, oldFolder, { ...asOwner, STORAGE_FOLDER: oldStorage });
  for (const file of ['plinth.dump', 'plinth.release', 'plinth-storage.tar.gz'])
    copyFileSync(join(oldFolder, file), join(byHandFolder, file));
  await asAdmin(async (client) => void (await client.query(`create database ${byHandName} owner ${owner}`)));
  writeSettings(byHandFolder, byHandName, '.data', formatKeys(keys));
  await runCommands(load, byHandFolder, { MIGRATE_DATABASE_URL: urlOf(byHandName, owner), STORAGE_FOLDER: '.data' });
  const besides = await byHand.startApi();
  expect(await verify(besides.url)).toEqual(noted);
  await stop(besides);

  // Destroys everything but the backup and the copy of the keys.
  for (const process of running) await stop(process);
  cpSync(join(oldFolder, 'plinth-keys.json'), join(newFolder, 'plinth-keys.json'));
  await database.drop();
  rmSync(oldFolder, { recursive: true });

  // Restores them.
  writeSettings(newFolder, restoredName, '.data');
  const report = await runCommands(readCommands('Restore').join(''), newFolder, withPassphrase);
  expect(report).toMatch(
    /^Restored .*\n\d audit chains were verified .* 1 objects have the digests of the manifest\.$/m,
  );
  expect((await restored.plinth('migrate', '--skip-locations')).stdout).toBe('no pending migrations\n');
  expect((await restored.plinth('migrate', '--status')).stdout).not.toMatch(/^pending/m);
  const api = await restored.startApi();
  expect(await call(api.url, 'GET', '/readyz')).toMatchObject({ status: 200, body: { checks: { migrations: 'ok' } } });

  // Performs the checks that the page lists.
  expect(await verify(api.url)).toEqual(noted);
  const test = (at: string) => call(at, 'POST', `${hooks}/${webhookId}/test`, { as });
  expect(await test(api.url)).toMatchObject({ status: 200, body: { ok: true } });
  const { headers, body } = endpoint.received.at(-1) ?? expect.fail('nothing was received');
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
  const download = await call(api.url, 'GET', `/api/workspace/export/${export_id}?download=true`, { as });
  expect(download).toMatchObject({ status: 200, headers: { 'content-type': 'application/gzip' } });
  const client = new pg.Client(urlOf(restoredName, runner));
  await client.connect();
  await expect(client.query('delete from audit_entries')).rejects.toThrow('permission denied for table audit_entries');
  await client.end();

  const known = new pg.Client(urlOf(restoredName, runner));
  await known.connect();

  // The audit log continues where it ended.
  await restored.start('worker', /"msg":"worker started"/);
  await send(api.url, 'POST', '/api/app-folders', { name: 'After the restore' });
  await expect.poll(() => verify(api.url)).toMatchObject({ valid: true, unsealed: 0, checked: noted.checked + 1 });

  // No process starts without the original keys, until it is told that they are lost. What they protect is lost then.
  const startWithout = async (other: typeof restored, settings: readonly string[]) => {
    await expect(other.plinth('api')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`${settings[0]} has another key with the id|${settings[0]} lacks the key`),
      ),
    });
    const { rows } = await known.query('select setting, key_id from known_keys');
    for (const { setting, key_id } of rows.filter((row) => settings.includes(row.setting)))
      await other.plinth('keys', 'forget', setting, key_id);
    return (await other.startApi()).url;
  };
  const receivedBefore = endpoint.received.length;
  expect((await test(await startWithout(withOtherMasterKey, ['MASTER_KEYS']))).status).toBe(500);
  expect(endpoint.received).toHaveLength(receivedBefore);
  const withoutAny = await startWithout(withOtherKeys, ['MASTER_KEYS', 'TOKEN_PEPPERS']);
  expect((await call(withoutAny, 'GET', '/api/apps', { as })).status).toBe(401);
  await known.end();
});
