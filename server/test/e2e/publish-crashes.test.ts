// Kills API processes while they publish. Whenever a process is killed, another process still serves one complete
// version and can publish again.
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { visit } from '../support/published.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

const database = await cloneTemplate();
const folder = await mkdtemp(join(tmpdir(), 'crashes-'));
const { plinth, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  STORAGE_FOLDER: folder,
  APPS_DOMAIN: 'apps.example',
});
const owner = new pg.Client(database.ownerUrl);
await owner.connect();
afterAll(async () => {
  await owner.end();
  await rm(folder, { recursive: true, force: true });
  await database.drop();
});

const as = (
  await plinth('bootstrap', '--email', 'ann@example.com', '--name', 'Ann', '--workspace', 'Ours')
).stdout.trim();
await owner.query('update workspaces set rate_multiplier = 1000');
const survivor = await startApi();
const app = (await call(survivor.url, 'POST', '/api/apps', { as, body: {} })).body;
const names = Array.from({ length: 60 }, (_, n) => `${n}.txt`);

/** Writes files that all contain their version's name. */
async function write(version: string): Promise<void> {
  const files = names.map((name) => ({ path: `dist/${name}`, content: `${version} ${name} ${'x'.repeat(20_000)}` }));
  const got = await call(survivor.url, 'PUT', `/api/apps/${app.id}/files`, { as, body: { files } });
  expect(got.status).toBe(200);
}
const publish = (url = survivor.url) => call(url, 'POST', `/api/apps/${app.id}/deploy`, { as });

/** Returns the version that visitors see, which must be the same in every file. */
async function see(): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const seen = new Set<string>();
  for (const name of names) {
    const got = await visit(survivor.url, `${app.slug}.apps.example`, `/${name}`);
    expect([name, got.status]).toEqual([name, 200]);
    seen.add(got.text.split(' ')[0] as string);
  }
  expect([...seen]).toHaveLength(1);
  return [...seen].join();
}

const countObjects = (): number => readdirSync(join(folder, 'apps', app.id)).length;
const listDeployments = async () =>
  (await call(survivor.url, 'GET', `/api/apps/${app.id}/deployments`, { as })).body.items;

describe('a process that is killed', () => {
  it('between the upload and the transaction leaves the old version live', async () => {
    await write('first');
    expect((await publish()).status).toBe(200);
    await write('second');
    const victim = await startApi();
    const before = countObjects();
    await owner.query('begin');
    await owner.query('select from apps where id = $1 for no key update', [app.id]); // blocks the transaction
    const answer = publish(victim.url).catch(() => 'cut off');
    await expect.poll(countObjects).toBe(before + names.length);
    victim.child.kill('SIGKILL');
    expect(await answer).toBe('cut off');
    await owner.query('commit');
    expect(await see()).toBe('first');
    expect(await listDeployments()).toHaveLength(1);
    expect((await publish()).status).toBe(200);
    expect(countObjects()).toBe(before + names.length); // the uploaded files are reused
    expect(await see()).toBe('second');
  });

  it('at any moment leaves one whole version live', async () => {
    const rounds = 6;
    let next = startApi();
    for (let round = 0; round < rounds; round += 1) {
      const before = (await listDeployments()).length;
      const was = await see();
      await write(`round-${round}`);
      const victim = await next;
      if (round + 1 < rounds) next = startApi(); // starts during this round
      const answer = publish(victim.url).then(
        ({ status }) => status,
        () => 'cut off',
      );
      await new Promise((resolve) => setTimeout(resolve, 60 * round));
      victim.child.kill('SIGKILL');
      const outcome = await answer;
      const isNew = (await listDeployments()).length > before;
      if (outcome === 200) expect(isNew).toBe(true);
      expect(await see()).toBe(isNew ? `round-${round}` : was);
    }
  });
});

describe('a process', () => {
  it.each([
    ['https://plinth.apps.example', 'must not contain the host of BASE_URL'],
    ['https://apps.example', 'must not contain the host of BASE_URL'],
  ])('refuses to start with BASE_URL=%s and APPS_DOMAIN=apps.example', async (BASE_URL, message) => {
    const { plinth: run } = commandLine({
      ...newKeys(),
      DATABASE_URL: database.url,
      APPS_DOMAIN: 'apps.example',
      BASE_URL,
    });
    await expect(run('api')).rejects.toMatchObject({ stderr: expect.stringContaining(message) });
  });

  it('refuses to start if APPS_DOMAIN is under the host of BASE_URL', async () => {
    const pair = { BASE_URL: 'https://plinth.example', APPS_DOMAIN: 'apps.plinth.example' };
    const { plinth: run } = commandLine({ ...newKeys(), DATABASE_URL: database.url, ...pair });
    for (const command of ['api', 'worker'])
      await expect(run(command)).rejects.toMatchObject({
        stderr: expect.stringContaining('must not be part of the host of BASE_URL'),
      });
  });

  it('refuses to start if browsers count both as one site', async () => {
    const pair = { BASE_URL: 'https://plinth.acme.example', APPS_DOMAIN: 'apps.acme.example' };
    const { plinth: run } = commandLine({ ...newKeys(), DATABASE_URL: database.url, ...pair });
    await expect(run('api')).rejects.toMatchObject({
      stderr: expect.stringContaining('must not be under acme.example, like the host of BASE_URL'),
    });
  });
});
