// Rehearses docs/operate/backup.md: runs the commands of the page on an installation with two roles, loses everything but the
// backup, restores it, and checks what the page says can be checked.
import { type ChildProcess, execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
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
const root = mkdtempSync(join(tmpdir(), 'plinth-backup-'));
const [oldFolder, newFolder] = [join(root, 'old'), join(root, 'new')];
for (const folder of [oldFolder, newFolder]) mkdirSync(folder);

const database = await createEmptyDatabase();
const oldName = new URL(database.url).pathname.slice(1);
await asAdmin(async (client) => {
  for (const role of [owner, runner]) await createRole(client, role);
  await client.query(`alter database ${oldName} owner to ${owner}`);
});
const urlOf = (name: string, role: string) => withRole(`${serverUrl}/${name}`, role);
const endpoint = await startWebhookEndpoint({ address: endpointAddress });

/** An installation whose settings are in the `.env` of its folder. */
const installation = (folder: string, more: Record<string, string> = {}) => commandLine(more, undefined, folder);
const writeSettings = (keys: string) =>
  `${keys}DATABASE_URL=${urlOf(oldName, runner)}\nSTORAGE_FOLDER=${join(oldFolder, 'storage')}\nOUTBOUND_ALLOW=http://127.20.0.0/16\n`;
writeFileSync(join(oldFolder, '.env'), writeSettings(formatKeys(newKeys())), { mode: 0o600 });

const before = installation(oldFolder, { MIGRATE_DATABASE_URL: urlOf(oldName, owner) });
const restored = installation(newFolder, { MIGRATE_DATABASE_URL: urlOf(restoredName, owner) });
const withOtherKeys = installation(newFolder, newKeys());
const withOtherMasterKey = installation(newFolder, { MASTER_KEYS: newKeys().MASTER_KEYS as string });

afterAll(async () => {
  await endpoint.close();
  await database.drop();
  await asAdmin(async (client) => {
    await client.query(`drop database if exists ${restoredName} with (force)`);
    await client.query(`drop role ${owner}, ${runner}`);
  });
  rmSync(root, { recursive: true });
});

/** Runs the shell commands under a heading of the page, with the names of this test. */
async function runCommands(heading: string, folder: string, variables: Record<string, string>): Promise<void> {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const commands = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text).join('');
  expect(commands, heading).toMatch(/pg_(dump|restore)/);
  const { hostname, port, username, password } = new URL(serverUrl);
  const server = {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: username,
    PGPASSWORD: decodeURIComponent(password),
  };
  const named = commands.replaceAll('plinth_owner', owner).replaceAll('plinth_restored', restoredName);
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', named], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...server, ...variables },
  });
}

const stop = async ({ child }: { child: ChildProcess }) => {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
};

it('an installation is restored from its backup: credentials, audit chain, sealed secret, archives, roles', {
  timeout: 180_000,
}, async () => {
  // The installation, as it was.
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

  // The backup, and the loss of everything else.
  const MIGRATE_DATABASE_URL = urlOf(oldName, owner);
  await runCommands('Back up', oldFolder, { MIGRATE_DATABASE_URL, STORAGE_FOLDER: join(oldFolder, 'storage') });
  for (const process of running) await stop(process);
  for (const file of ['plinth.dump', 'plinth.env', 'plinth-storage.tar.gz'])
    cpSync(join(oldFolder, file), join(newFolder, file));
  await database.drop();
  rmSync(oldFolder, { recursive: true });

  // The restore.
  const storage = join(newFolder, 'storage');
  const restoredUrl = urlOf(restoredName, owner);
  await runCommands('Restore', newFolder, { MIGRATE_DATABASE_URL: restoredUrl, STORAGE_FOLDER: storage });
  const settings = readFileSync(join(newFolder, '.env'), 'utf8');
  writeFileSync(join(newFolder, '.env'), settings.replaceAll(oldName, restoredName).replaceAll(oldFolder, newFolder));
  expect((await restored.plinth('migrate', '--skip-locations')).stdout).toBe('no pending migrations\n');
  expect((await restored.plinth('migrate', '--status')).stdout).not.toContain('pending');
  const api = await restored.startApi();
  expect(await call(api.url, 'GET', '/readyz')).toMatchObject({ status: 200, body: { checks: { migrations: 'ok' } } });

  // What the page says can be checked.
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

  // The log goes on where it ended.
  await restored.start('worker', /"msg":"worker started"/);
  await send(api.url, 'POST', '/api/app-folders', { name: 'After the restore' });
  await expect.poll(() => verify(api.url)).toMatchObject({ valid: true, unsealed: 0, checked: noted.checked + 1 });

  // With other keys the same data is useless.
  expect((await call((await withOtherKeys.startApi()).url, 'GET', '/api/apps', { as })).status).toBe(401);
  const receivedBefore = endpoint.received.length;
  expect((await test((await withOtherMasterKey.startApi()).url)).status).toBe(500);
  expect(endpoint.received).toHaveLength(receivedBefore);
});
