// Tests a production installation: a copy of the repository with the packages that `npm ci --omit=dev` would install,
// run by a Node executable given by its path.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { copyPackages, copyRepository, repository } from '../support/copy.ts';
import { createEmptyDatabase } from '../support/template.ts';
import { commandLine } from './command.ts';

const run = promisify(execFile);
const plinthFile = join(repository, 'server/plinth.js');
const folder = mkdtempSync(join(tmpdir(), 'plinth-production-'));
const database = await createEmptyDatabase();
const settings = {
  ...newKeys(),
  DATABASE_URL: database.url,
  MIGRATE_DATABASE_URL: database.ownerUrl,
  PATH: '/usr/bin:/bin',
};
const { plinth, start, startApi } = commandLine(settings, folder);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

it('without development dependencies, Plinth migrates, serves and works', async () => {
  await copyRepository(folder, ['package.json', 'package-lock.json', '.npmrc', 'server', 'sandbox']);
  await copyPackages(folder);
  for (const development of ['node', '.bin/node', 'vitest', 'smtp-server'])
    expect(existsSync(join(folder, 'node_modules', development)), development).toBe(false);
  expect((await plinth('migrate')).stdout).toContain('applied 0001_access.sql');
  const as = (await plinth('bootstrap', '--email', 'a@example.com', '--name', 'A', '--workspace', 'W')).stdout.trim();
  const { url } = await startApi();
  await start('worker', /"msg":"worker started"/);
  expect((await call(url, 'POST', '/api/app-folders', { as, body: { name: 'F' } })).status).toBe(200);
  await expect
    .poll(async () => (await call(url, 'GET', '/api/workspace/audit-log/verify', { as })).body)
    .toMatchObject({ valid: true, checked: 1, unsealed: 0 });
});

it.each(['20.20.2', '24.6.0'])('Node %s is refused with the version that is needed', async (version) => {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const started = run(process.execPath, ['--import', `data:text/javascript,${pretend}`, plinthFile, 'api']);
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Plinth needs Node 24.7 or newer. This is Node ${version} (`),
  });
});
