// Tests a run's evidence: storage, signed addresses, quota and removal.
import { createSecretKey } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { openStorage, startFlowWorld } from '../../../test/support/flows.ts';
import { createStorageQuota } from '../../core/storage/quota.ts';
import { readStorageUsage } from '../../core/storage/usage.ts';
import { StorageUnavailable } from '../../kit/unavailable.ts';
import { createEvidenceAddress, createEvidenceStore } from './evidence.ts';
import { findExecutionByKey } from './store/executions.ts';

const scene = await startFlowWorld();
const { world, workspace, createFlow, publishedApp, start, call } = scene;
const { db } = world.app.database;
const objectStorage = openStorage({ folder: world.config.STORAGE_FOLDER });
const storage = createStorageQuota();
const image = Buffer.from('ffd8ffe0', 'hex');
const addressOf = createEvidenceAddress(world.config.SIGNING_KEY, world.config.BASE_URL);

async function newRun() {
  const app = await publishedApp();
  const { id } = (await start(app, await createFlow(app))).body;
  const run = await findExecutionByKey(db, { workspace_id: workspace, app_id: app.id, id });
  if (run === undefined) throw new Error('the run is missing');
  return { app, run };
}
type Run = Awaited<ReturnType<typeof newRun>>['run'];
const storeFor = (run: Run, other: object = {}, signal = new AbortController().signal) =>
  createEvidenceStore(db, { objectStorage, storage, clock: world.clock, ...other }, run, signal);
const store = (run: Run, file: string, other: object = {}) => storeFor(run, other)(file, image);
const listFiles = async ({ id }: { id: string }) =>
  (await world.db.selectFrom('test_evidence').where('execution_id', '=', id).select('file').execute()).map(
    ({ file }) => file,
  );
const get = (url: string) => fetch(url);

it('a page that could not be shown leaves no file', async () => {
  const { run } = await newRun();
  await storeFor(run)('1-3.jpg', Buffer.alloc(0));
  expect(await listFiles(run)).toEqual([]);
});

describe('an address', () => {
  it('is good for an hour, for everybody, and says what it is', async () => {
    const { run } = await newRun();
    await store(run, '1-3.jpg');
    const url = addressOf(run, '1-3.jpg', world.clock.now());
    const got = await get(url);
    expect(Buffer.from(await got.arrayBuffer())).toEqual(image);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-length': '4',
      'content-disposition': 'inline; filename="1-3.jpg"',
      'cache-control': 'private, max-age=3600',
      'x-content-type-options': 'nosniff',
    });
    world.clock.aheadMs = 59 * 60_000;
    expect((await get(url)).status).toBe(200);
    world.clock.aheadMs = 61 * 60_000;
    expect((await get(url)).status).toBe(404);
  });

  it('is not good for anything else', async () => {
    const [{ run }, other] = [await newRun(), await newRun()];
    await store(run, '1-3.jpg');
    await store(run, '1-trace.zip');
    const url = new URL(addressOf(run, '1-3.jpg', world.clock.now()));
    const wrong = [
      String(url).replace('1-3.jpg', '1-trace.zip'),
      String(url).replace(run.app_id, other.app.id),
      String(url).replace(run.id, other.run.id),
      String(url).replace(/expires=\d+/, 'expires=9999999999'),
      String(url).replace(/signature=/, 'signature=A'),
      String(url).replace(/&signature=.*/, ''),
      String(url).replace(/\?.*/, ''),
      `${url}&signature=x`,
      `${url}&expires=1`,
      addressOf(run, '1-4.jpg', world.clock.now()),
      addressOf(run, '..', world.clock.now()),
      addressOf({ ...run, id: 'x' }, '1-3.jpg', world.clock.now()),
      createEvidenceAddress(createSecretKey(Buffer.alloc(32)), world.config.BASE_URL)(
        run,
        '1-3.jpg',
        world.clock.now(),
      ),
    ];
    for (const address of wrong) expect([address, (await get(address)).status]).toEqual([address, 404]);
    const { body } = await world.call('GET', `${url.pathname}`);
    expect(body.code).toBe('report_not_found');
  });
});

describe('a file', () => {
  it('counts towards the quota of the workspace, and is removed after 30 days', async () => {
    const { run } = await newRun();
    const before = (await readStorageUsage(db, workspace)).files_bytes;
    await store(run, '1-1.jpg');
    expect((await readStorageUsage(db, workspace)).files_bytes).toBe(before + image.length);
    const removeOld = scene.job('remove old test evidence');
    world.clock.aheadMs = 29 * 24 * 60 * 60_000;
    await removeOld();
    expect(await listFiles(run)).toEqual(['1-1.jpg']);
    world.clock.aheadMs = 31 * 24 * 60 * 60_000;
    await removeOld();
    expect(await listFiles(run)).toEqual([]);
    expect((await readStorageUsage(db, workspace)).files_bytes).toBeLessThanOrEqual(before);
    const { rows } = await sql`select key from object_removals where key = ${`tests/${run.id}/1-1.jpg`}`.execute(
      world.db,
    );
    expect(rows).toHaveLength(1);
  });

  it('is left out if the quota or the object storage does not allow it', async () => {
    const { run } = await newRun();
    await sql`update workspaces set storage_quota_bytes = 1 where id = ${workspace}`.execute(world.db);
    await store(run, '1-1.jpg', { storage: createStorageQuota() });
    await sql`update workspaces set storage_quota_bytes = null where id = ${workspace}`.execute(world.db);
    const put = vi.fn(() => Promise.reject(new StorageUnavailable(new Error('no disk'))));
    const storeAny = storeFor(run, { objectStorage: { ...objectStorage, put } });
    await storeAny('1-2.jpg', image);
    await storeAny('1-3.jpg', image);
    expect(await listFiles(run)).toEqual([]);
    expect(put).toHaveBeenCalledTimes(1); // storing is not tried again
  });

  it('is left out if the workspace has used 80 % of its quota', async () => {
    const { run } = await newRun();
    const { used_bytes } = await readStorageUsage(db, workspace);
    const storeWithin = async (file: string, quota: number) => {
      await sql`update workspaces set storage_quota_bytes = ${Math.ceil(quota)} where id = ${workspace}`.execute(
        world.db,
      );
      await store(run, file, { storage: createStorageQuota() });
    };
    await storeWithin('1-1.jpg', (used_bytes + image.length) / 0.81);
    expect(await listFiles(run)).toEqual([]);
    await storeWithin('1-2.jpg', (used_bytes + image.length) / 0.79);
    expect(await listFiles(run)).toEqual(['1-2.jpg']);
    await sql`update workspaces set storage_quota_bytes = null where id = ${workspace}`.execute(world.db);
  });

  it('is given up when the run is stopped while the object storage does not answer', async () => {
    const { run } = await newRun();
    const stopped = new AbortController();
    const put = () => {
      setImmediate(() => stopped.abort());
      return new Promise<void>(() => {});
    };
    await storeFor(run, { objectStorage: { ...objectStorage, put } }, stopped.signal)('1-1.jpg', image);
    expect(await listFiles(run)).toEqual([]);
  });

  it('is removed if its run ends without a report', async () => {
    const { app, run } = await newRun();
    await store(run, '1-1.jpg');
    await call('POST', app, `/executions/${run.id}/cancel`);
    expect(await listFiles(run)).toEqual([]);
  });

  it('is part of the report as long as it is kept', async () => {
    const { app, run } = await newRun();
    await store(run, '1-1.jpg');
    const step = {
      number: 1,
      action: 'Open /',
      result: 'Done.',
      source: 'agent',
      at: '2026-11-16T09:30:00.000Z',
      screenshot: '1-1.jpg',
    };
    const issue = { severity: 'high', title: 'Check failed', description: 'Nothing.', step_number: 1 };
    const report = {
      verdict: 'failed',
      summary: 'It failed.',
      issues: [issue, { ...issue, step_number: null }],
      steps: [step],
    };
    const rest = { healed: [], trace: '1-trace.zip', console_errors: [], network_failures: [] };
    await sql`insert into test_reports (execution_id, workspace_id, app_id, report, created_date)
      values (${run.id}, ${workspace}, ${app.id}, ${JSON.stringify({ ...report, ...rest })}, now())`.execute(world.db);
    const read = () => call('GET', app, `/analysis/${run.id}`);
    expect((await read()).status).toBe(404);
    for (const status of ['running', 'analyzing', 'failed'])
      await sql`update test_executions set status = ${status}, analysis_status = ${status === 'failed' ? 'completed' : 'none'},
        completed_at = ${status === 'failed' ? new Date() : null} where id = ${run.id}`.execute(world.db);
    const { body } = await read();
    expect(body).toMatchObject({ verdict: 'failed', trace_url: null, issues: [{}, { screenshot_url: null }] });
    expect(body.issues[0].screenshot_url).toBe(body.steps[0].screenshot_url);
    expect((await get(body.steps[0].screenshot_url)).status).toBe(200);
    await sql`delete from test_evidence where execution_id = ${run.id}`.execute(world.db);
    expect((await read()).body.steps[0].screenshot_url).toBeNull();
  });
});
