// Tests what the specification says about deleting an automated test.
import { beforeEach, describe, expect, it } from 'vitest';
import { startFlowWorld } from '../support/flows.ts';
import { expectLimit, expectOk, overrideLimits, personalKey, workspaceKey } from './support.ts';

const scene = await startFlowWorld();
const { world, owner, workspace, newApp, publishedApp, createFlow, start, call } = scene;
beforeEach(() => world.resetRateLimits());

type App = Awaited<ReturnType<typeof newApp>>;
const remove = (app: App, flow: { id: string }, sent: object = {}) => call('DELETE', app, `/flows/${flow.id}`, sent);
const listRuns = async (app: App) => expectOk(await call('GET', app, '/executions')).items;

describe('What the service does', () => {
  it('Through it a caller can delete an automated test', async () => {
    const app = await newApp();
    const flow = await createFlow(app);
    expectOk(await remove(app, flow));
    expect((await call('GET', app, '/flows')).text).not.toContain(flow.id);
  });
});

describe('Endpoints: DELETE /api/apps/{app_id}/testing-agent/flows/{flow_id}', () => {
  it('Deletes a test permanently', async () => {
    const app = await newApp();
    const flow = await createFlow(app);
    expectOk(await remove(app, flow));
    expect((await call('GET', app, `/flows/${flow.id}`)).status).toBe(404);
    expect((await start(app, flow)).status).toBe(404);
    expect((await remove(app, flow)).status).toBe(404);
  });

  it('Past runs and reports remain and are still returned by the test-run listing', async () => {
    const app = await publishedApp();
    const flow = await createFlow(app);
    const run = await scene.startElsewhere(app, flow, { leaseSeconds: -1 });
    expectOk(await remove(app, flow));
    expect(await listRuns(app)).toMatchObject([{ id: run.id, flow_id: flow.id, flow_name: 'Order' }]);
    expectOk(await call('GET', app, `/executions/${run.id}`));
  });

  it('If the test has a run going, the run is cancelled and its browser session closed first', async () => {
    const app = await publishedApp();
    const flow = await createFlow(app);
    const run = await scene.startElsewhere(app, flow);
    const removing = remove(app, flow);
    await expect.poll(async () => (await scene.findSession(run.session)).close_requested_at).not.toBeNull();
    await scene.closeSession(run.session);
    expectOk(await removing);
    expect((await scene.getExecution(app, run.id)).status).toBe('cancelled');
    const waiting = await createFlow(app);
    const { id } = expectOk(await start(app, waiting));
    expectOk(await remove(app, waiting));
    expect((await scene.getExecution(app, id)).status).toBe('cancelled');
  });

  it('Response 200: success (boolean, always true)', async () => {
    const app = await newApp();
    expect(expectOk(await remove(app, await createFlow(app)))).toEqual({ success: true });
  });
});

describe('Authentication', () => {
  it('Test deletion needs a key of a user with editor access to the app', async () => {
    const app = await newApp();
    const editor = await world.member(workspace, 'editor', 'editor@example.com');
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    for (const sent of [
      { as: await world.token(editor, workspace) },
      { as: undefined, headers: await personalKey(world, editor) },
    ])
      expectOk(await remove(app, await createFlow(app), sent));
    for (const sent of [
      { as: await world.token(viewer, workspace) },
      { as: undefined, headers: await personalKey(world, viewer) },
      { as: await world.token(editor, workspace, { permission: 'read_only' }) },
      { as: await workspaceKey(world, workspace) },
    ])
      expect((await remove(app, await createFlow(app), sent)).status).toBe(403);
  });
});

describe('Limits', () => {
  it('Test deletion: 300 requests per minute per caller for each app; some workspaces differ', async () => {
    for (const plan of ['free', 'pro', 'enterprise'] as const) {
      const own = await world.workspace(owner, plan);
      const [app, other] = [await world.appOf(owner, own), await world.appOf(owner, own)];
      const [one, second] = [await world.token(owner, own), await world.token(owner, own)];
      const colleague = await world.member(own, 'editor', `${plan}@example.com`);
      const flow = { id: '019a6c60-0c4e-7b52-8f52-7c0a5e3f9d20' };
      const send = (to: App, as: string) => remove(to, flow, { as });
      const tokens = [one, second];
      await expectLimit(world, 300, () => send(app, tokens.reverse()[0] as string));
      expect((await send(other, one)).status).toBe(404);
      expect((await send(app, await world.token(colleague, own))).status).toBe(404);
      await overrideLimits(world, own, 2);
      await expectLimit(world, 600, () => send(app, one));
    }
  });
});
