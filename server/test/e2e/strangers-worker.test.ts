// Runs the layout that docs/operate/install.md recommends, with the users and queues of the systemd units: the API and a
// worker as an ordinary user, and a worker as root that handles files of strangers and nothing else.
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { copyPackages, copyRepository, repository } from '../support/copy.ts';
import { createEmptyDatabase } from '../support/template.ts';
import { commandLine } from './command.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** Stands in for the user `plinth` of the units. Nothing else uses this id. */
const plinthId = 64_900;

const queuesOf = (unit: string): string =>
  /WORKER_QUEUES=(\S+)/.exec(readFileSync(join(repository, `deploy/systemd/${unit}.service`), 'utf8'))?.[1] ?? '';

describe.runIf(isRoot)('the recommended layout', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-layout-'));
  const database = await createEmptyDatabase();
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await database.drop();
  });
  chmodSync(folder, 0o755);
  await copyRepository(folder, ['package.json', 'package-lock.json', '.npmrc', 'server', 'sandbox']);
  await copyPackages(folder);
  const node = join(folder, 'node');
  await run('cp', [process.execPath, node]); // others may not be able to enter its folder
  const storage = join(folder, 'storage');
  mkdirSync(storage);
  chownSync(storage, plinthId, plinthId);

  const settings = {
    ...newKeys(),
    DATABASE_URL: database.url,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    STORAGE_FOLDER: storage,
    PATH: '/usr/bin:/bin',
    NODE_COMPILE_CACHE: '',
    HOME: folder, // systemd sets it from the user's entry
    REDIS_PREFIX: `layout:${process.pid}:`,
  };
  const identity = [`--reuid=${plinthId}`, `--regid=${plinthId}`, '--clear-groups', '--no-new-privs'];
  const ordinary = commandLine({ ...settings, WORKER_QUEUES: queuesOf('plinth-worker') }, folder, '/', [
    '/usr/bin/setpriv',
    ...identity,
    node,
  ]);
  const root = commandLine({ ...settings, WORKER_QUEUES: queuesOf('plinth-strangers-worker') }, folder, '/', [node]);

  await root.plinth('migrate');
  const bootstrap = ['bootstrap', '--email', 'a@example.com', '--name', 'A', '--workspace', 'W'];
  const as = (await ordinary.plinth(...bootstrap)).stdout.trim();
  const { url, child: api } = await ordinary.startApi();
  const worker = await ordinary.start('worker', /"msg":"worker started"/);
  const manage = async (method: string, path: string, body?: unknown) => {
    const got = await call(url, method, path, { as, ...(body !== undefined && { body }) });
    expect(got.status, got.text).toBe(200);
    return got.body;
  };
  const userOf = (pid = 0) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];

  it('leaves scans to the worker for files of strangers, and does everything else without it', async () => {
    const app = await manage('POST', '/api/apps', { name: 'Shop' });
    const path = `/api/apps/${app.id}`;
    await manage('PUT', `${path}/files`, { files: [{ path: 'src/app.ts', content: 'export const n: number = 1;\n' }] });
    await manage('POST', `${path}/security/scan`);
    await expect
      .poll(() => manage('GET', '/api/workspace/audit-log/verify'))
      .toMatchObject({ valid: true, unsealed: 0 });
    const readStatus = async () => (await manage('GET', `${path}/security/scan`)).status;
    expect(await readStatus()).toBe('pending');

    const strangers = await root.start('worker', /"msg":"worker started"/);
    await expect.poll(readStatus).toBe('up_to_date');
    expect([api, worker.child, strangers.child].map(({ pid }) => userOf(pid))).toEqual([
      String(plinthId),
      String(plinthId),
      '0',
    ]);
    const warning = 'files of strangers are not kept apart';
    expect([worker, strangers].map(({ log }) => log.join('').includes(warning))).toEqual([false, false]);
    const peek = run('/usr/bin/setpriv', [...identity, 'cat', `/proc/${strangers.child.pid}/environ`]);
    await expect(peek).rejects.toMatchObject({ stderr: expect.stringContaining('Permission denied') });
  });

  it('a worker that is told of a queue that does not exist says which there are', async () => {
    const wrong = commandLine({ ...settings, WORKER_QUEUES: 'scans' }, folder, '/', [node]);
    await expect(wrong.start('worker', /"msg":"worker started"/)).rejects.toThrow(
      'WORKER_QUEUES: there is no queue scans. The queues are ads_asset_sessions, ',
    );
  });
});
