// Tests that a published app's pages can request their own app's data from the browser, but not another app's.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { publishFiles } from '../../../test/support/published.ts';
import { startWorld } from '../../../test/support/world.ts';

const folder = await mkdtemp(join(tmpdir(), 'origins-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
const world = await startWorld({
  environment: { STORAGE_FOLDER: folder, APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example:8443' },
});
const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const other = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const files = { 'dist/index.html': 'x' };
await publishFiles(world, other, files, token);
await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
  as: token,
  body: { name: 'Task', properties: {}, rls: { read: true } },
});

const path = `/api/apps/${app.id}/entities/Task`;
const own = `https://${app.slug}.apps.example:8443`;
const isAllowed = async (origin: string): Promise<boolean[]> => {
  const preflight = { origin, 'access-control-request-method': 'GET' };
  const answers = [
    await world.call('OPTIONS', path, { headers: preflight }),
    await world.call('GET', path, { headers: { origin } }),
  ];
  return answers.map(({ headers }) => headers['access-control-allow-origin'] === origin);
};

describe('the origin of an app', () => {
  it('may call its data while the app is published', async () => {
    expect(await isAllowed(own)).toEqual([false, false]);
    await publishFiles(world, app, files, token);
    expect(await isAllowed(own)).toEqual([true, true]);
    await world.call('POST', `/api/apps/${app.id}/unpublish`, { as: token });
    expect(await isAllowed(own)).toEqual([false, false]);
  });

  it('is exactly its own: no other app, scheme, port or host', async () => {
    await publishFiles(world, app, { 'dist/index.html': 'y' }, token);
    for (const origin of [
      `https://${other.slug}.apps.example:8443`,
      `http://${app.slug}.apps.example:8443`,
      `https://${app.slug}.apps.example`,
      `https://x.${app.slug}.apps.example:8443`,
      `https://${app.slug}.apps.example.evil.example:8443`,
      'https://apps.example:8443',
      'null',
    ])
      expect([origin, ...(await isAllowed(origin))]).toEqual([origin, false, false]);
  });
});
