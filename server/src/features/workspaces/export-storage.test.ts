// Tests exports stored in a bucket over the network: writing, downloading and removing them, and the errors if the
// bucket can't be reached.
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startS3Sandbox } from '../../../../sandbox/src/s3.ts';
import { readArchive } from '../../../test/support/archives.ts';
import { runDueRows } from '../../../test/support/run-queue.ts';
import { startWorld } from '../../../test/support/world.ts';

const s3 = await startS3Sandbox();
afterAll(() => s3.close().catch(() => {}));
const world = await startWorld({
  environment: {
    STORAGE_S3_BUCKET: s3.bucket,
    STORAGE_S3_ENDPOINT: s3.endpoint,
    STORAGE_S3_ACCESS_KEY_ID: 'any',
    STORAGE_S3_SECRET_ACCESS_KEY: 'any',
    STORAGE_S3_PATH_STYLE: 'true',
  },
});
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'pro');
const as = await world.token(owner, workspace);
const day = 24 * 60 * 60 * 1000;

const runJob = async (name: string) => {
  const job = world.app.background.jobs.find((each) => each.name === name);
  await job?.run(world.app.database.db, world.clock.now());
};
const start = async () => {
  const { export_id } = (await world.call('POST', '/api/workspace/export', { as })).body;
  return {
    path: `/api/workspace/export/${export_id}`,
    object: `${s3.endpoint}/${s3.bucket}/exports/${export_id}.tar.gz`,
  };
};
const listTemporary = () => readdirSync(tmpdir()).filter((name) => name.startsWith('plinth-export-'));

it('an export is written to the bucket, downloaded from it and removed from it, and leaves no local file', async () => {
  const before = listTemporary();
  const { path, object } = await start();
  await runDueRows(world, 'workspace_exports');
  expect(listTemporary()).toEqual(before);
  expect((await world.call('GET', path, { as })).body).toMatchObject({ state: 'ready' });
  const stored = Buffer.from(await (await fetch(object)).arrayBuffer());
  const answer = await fetch(`${world.url}${path}?download=true`, { headers: { authorization: `Bearer ${as}` } });
  const downloaded = Buffer.from(await answer.arrayBuffer());
  expect(downloaded.equals(stored)).toBe(true);
  const file = join(mkdtempSync(join(tmpdir(), 'plinth-test-')), 'export.tar.gz');
  writeFileSync(file, downloaded);
  expect((await readArchive(file)).manifest).toMatchObject({ workspace_id: workspace });
  world.clock.aheadMs = 8 * day;
  await runJob('remove expired exports');
  world.clock.aheadMs = 0;
  expect((await fetch(object)).status).toBe(404);
});

it('an archive that was lost answers 404, and one that cannot be reached 503, until it can be', async () => {
  const [lost, kept] = [await start(), await start()];
  await runDueRows(world, 'workspace_exports');
  const download = ({ path }: { path: string }) => world.call('GET', `${path}?download=true`, { as });
  await fetch(lost.object, { method: 'DELETE' });
  expect(await download(lost)).toMatchObject({ status: 404, body: { code: 'export_not_found' } });
  expect(await download(kept)).toMatchObject({ status: 200 });

  const failing = await start();
  await s3.close();
  expect(await download(kept)).toMatchObject({
    status: 503,
    headers: { 'retry-after': '5' },
    body: { code: 'service_unavailable', retry_safe: true, detail: expect.stringContaining('File storage') },
  });
  expect(await world.call('GET', kept.path, { as })).toMatchObject({ status: 200, body: { state: 'ready' } });
  for (const attempt of [1, 2]) {
    await runDueRows(world, 'workspace_exports');
    expect(await world.call('GET', failing.path, { as })).toMatchObject({ body: { state: 'running', attempt } });
    const waiting = world.db.selectFrom('workspace_exports').select('last_error').where('due_at', 'is not', null);
    expect(await waiting.execute()).toMatchObject([
      { last_error: expect.stringContaining('object storage unavailable: ECONNREFUSED') },
    ]);
    await world.db
      .updateTable('workspace_exports')
      .set({ due_at: new Date() })
      .where('due_at', 'is not', null)
      .execute();
  }
  await runDueRows(world, 'workspace_exports');
  expect(await world.call('GET', failing.path, { as })).toMatchObject({ body: { state: 'failed', attempt: 3 } });
  world.clock.aheadMs = 8 * day;
  await expect(runJob('remove expired exports')).rejects.toThrow('object storage unavailable');
  world.clock.aheadMs = 0;
});
