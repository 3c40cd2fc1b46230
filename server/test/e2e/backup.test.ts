// Rehearses docs/operate/backup.md. Runs the page's commands on an installation with two roles, restores the backup beside
// it, destroys everything but the backup, restores that, and performs the checks that the page lists.
import { type ChildProcess, execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const rehearsalName = `plinth_run_${process.pid}_rehearsal`;
const root = mkdtempSync(join(tmpdir(), 'plinth-backup-'));
const [oldFolder, newFolder, rehearsalFolder] = [join(root, 'old'), join(root, 'new'), join(root, 'rehearsal')];
for (const folder of [oldFolder, newFolder, rehearsalFolder]) mkdirSync(folder);
const oldStorage = join(oldFolder, 'storage');
const backup = ['plinth.dump', 'plinth.env', 'plinth.release', 'plinth-storage.tar.gz'];

const database = await createEmptyDatabase();
const oldName = new URL(database.url).pathname.slice(1);
await asAdmin(async (client) => {
  for (const role of [owner, runner]) await createRole(client, role);
  await client.query(`alter database ${oldName} owner to ${owner}`);
});
const urlOf = (name: string, role: string) => withRole(`${serverUrl}/${name}`, role);
const endpoint = await startWebhookEndpoint({ address: endpointAddress });

/** An installation that reads its settings from the `.env` file in its folder. */
const installation = (folder: string, more: Record<string, string> = {}) => commandLine(more, undefined, folder);
const writeSettings = (keys: string) =>
  `${keys}DATABASE_URL=${urlOf(oldName, runner)}\nSTORAGE_FOLDER=${oldStorage}\nOUTBOUND_ALLOW=http://127.20.0.0/16\n`;
writeFileSync(join(oldFolder, '.env'), writeSettings(formatKeys(newKeys())), { mode: 0o600 });

const before = installation(oldFolder, { MIGRATE_DATABASE_URL: urlOf(oldName, owner) });
const restored = installation(newFolder, { MIGRATE_DATABASE_URL: urlOf(restoredName, owner) });
const rehearsal = installation(rehearsalFolder, { MIGRATE_DATABASE_URL: urlOf(rehearsalName, owner) });
const withOtherKeys = installation(newFolder, newKeys());
const withOtherMasterKey = installation(newFolder, { MASTER_KEYS: newKeys().MASTER_KEYS as string });

afterAll(async () => {
  await endpoint.close();
  await database.drop();
  await asAdmin(async (client) => {
    for (const name of [restoredName, rehearsalName])
      await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`drop role ${owner}, ${runner}`);
  });
  rmSync(root, { recursive: true });
});

/** The shell commands under one of the page's headings, with this test's databases, roles and storage. */
function readCommands(heading: string, storage = '.data'): string {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const commands = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text).join('');
  expect(commands, heading).toMatch(/pg_(dump|restore)/);
  const names: Record<string, string> = {
    plinth: oldName,
    plinth_restored: restoredName,
    plinth_rehearsal: rehearsalName,
    plinth_owner: owner,
    plinth_run: runner,
  };
  return commands
    .replaceAll(/postgres:\/\/(\w+):…@127\.0\.0\.1\/(\w+)/g, (_, role, name) =>
      urlOf(names[name] as string, names[role] as string),
    )
    .replace('createdb --owner=plinth_owner', `createdb --owner=${owner}`)
    .replace(/(createdb .*)\b(plinth_\w+)$/m, (_, command, name) => command + names[name])
    .replace('export STORAGE_FOLDER=.data', `export STORAGE_FOLDER=${storage}`);
}

/** Runs commands in a shell that has only what a new shell has. */
async function runCommands(commands: string, folder: string): Promise<void> {
  const { hostname, port, username, password } = new URL(serverUrl);
  const server = {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: username,
    PGPASSWORD: decodeURIComponent(password),
  };
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...server },
  });
}

/** Makes the folder a clone, as an installation is. */
const makeClone = (folder: string) =>
  runCommands(
    'git init -q . && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m release',
    folder,
  );

/** Lists the stored files. What is being written is not one yet. */
const listStored = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => !name.startsWith('.unfinished'))
        .toSorted()
    : [];

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

  // Backs up the installation. Without the exports, the commands save nothing rather than another database.
  await makeClone(oldFolder);
  const backUp = readCommands('Back up', oldStorage);
  for (const name of ['MIGRATE_DATABASE_URL', 'STORAGE_FOLDER'])
    await expect(runCommands(backUp.replace(`export ${name}=`, 'true '), oldFolder)).rejects.toThrow(`${name}: `);
  const ofAnother = backUp.replaceAll(`/${oldName}'`, `/postgres'`);
  await expect(runCommands(ofAnother, oldFolder)).rejects.toMatchObject({ code: 1 });
  await runCommands(backUp, oldFolder);

  // Restores it beside the installation, which keeps what it has.
  for (const file of backup) cpSync(join(oldFolder, file), join(rehearsalFolder, file));
  const [liveEnv, liveFiles] = [readFileSync(join(oldFolder, '.env'), 'utf8'), listStored(oldStorage)];
  await runCommands(readCommands('Rehearse it'), rehearsalFolder);
  expect([readFileSync(join(oldFolder, '.env'), 'utf8'), listStored(oldStorage)]).toEqual([liveEnv, liveFiles]);
  expect(listStored(join(rehearsalFolder, '.data'))).toEqual(liveFiles);
  expect(parseEnv(readFileSync(join(rehearsalFolder, '.env'), 'utf8'))).toEqual({
    ...parseEnv(liveEnv),
    DATABASE_URL: urlOf(rehearsalName, runner),
    STORAGE_FOLDER: '.data',
    REDIS_PREFIX: 'plinth-rehearsal:',
    PORT: '8099',
    BASE_URL: 'http://127.0.0.1:8099',
    SMTP_URL: '',
  });
  expect((await rehearsal.plinth('migrate', '--skip-locations')).stdout).toBe('no pending migrations\n');
  const rehearsed = await rehearsal.startApi();
  expect(await verify(rehearsed.url)).toEqual(noted);
  await stop(rehearsed);

  // Destroys everything but the backup.
  for (const process of running) await stop(process);
  for (const file of backup) cpSync(join(oldFolder, file), join(newFolder, file));
  await database.drop();
  rmSync(oldFolder, { recursive: true });

  // Restores the backup.
  await runCommands(readCommands('Restore'), newFolder);
  const settings = readFileSync(join(newFolder, '.env'), 'utf8');
  writeFileSync(join(newFolder, '.env'), settings.replaceAll(oldName, restoredName).replaceAll(oldStorage, '.data'));
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
