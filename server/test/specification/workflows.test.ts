// Tests what the specification says about the explanation of a failed workflow run.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { insertFailedRun } from '../support/failed-runs.ts';
import { startWorkflowWorld } from '../support/workflows.ts';
import { expectLimit, expectOk, overrideLimits, personalKey, text, time } from './support.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const { world, workspace, owner, token, create, newApp } = await startWorkflowWorld({
  environment: { MODEL_URL: model.url, MODEL_NAME: 'house-model' },
});
const app = await newApp();
const workflow = await create(app, { name: 'Welcome' });
const advice = 'The endpoint refused the key in step 3. Set a new one.';
let asked = 0;
beforeEach(async () => {
  await world.resetRateLimits();
  model.behave('well');
  asked = 0;
  model.script(() => {
    asked += 1;
    return { text: advice };
  });
});

const fail = (status: 'failed' | 'running' | 'completed' | 'cancelled' = 'failed') =>
  insertFailedRun(world, app, workflow, { status });
const analyze = (run: string, sent: object = { as: token }) =>
  world.call('POST', `/api/apps/${app.id}/workflows/${workflow.id}/runs/${run}/analyze`, sent);

describe('What the service does', () => {
  it('Through it a caller can get an explanation of a failed workflow run', async () => {
    const headers = await personalKey(world, owner);
    expect(expectOk(await analyze(await fail(), { headers })).explanation).toBe(advice);
  });
});

describe('States and transitions: Workflow run', () => {
  it("Analysis is possible only when the run's status is failed", async () => {
    expectOk(await analyze(await fail('failed')));
    for (const status of ['running', 'completed', 'cancelled'] as const)
      expect((await analyze(await fail(status))).status).toBe(400);
  });
});

describe('Endpoints: POST /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}/analyze', () => {
  it('No body', async () => {
    expectOk(await analyze(await fail()));
  });

  it('Only for runs with status failed', async () => {
    expect((await analyze(await fail('completed'))).status).toBe(400);
    expect(asked).toBe(0);
  });

  it('The first call generates an explanation with a language model and stores it; later calls for the same run return the stored text', async () => {
    const run = await fail();
    const first = expectOk(await analyze(run));
    model.script(() => ({ text: 'Something else.' }));
    expect(expectOk(await analyze(run))).toEqual(first);
    const editor = await world.member(workspace, 'editor', 'editor@example.com');
    expect(expectOk(await analyze(run, { as: await world.token(editor, workspace) }))).toEqual(first);
    expect(asked).toBe(1);
  });

  it('Response 200: explanation (string), generated_at (ISO 8601 string); both empty when the model is unavailable, so the caller checks explanation is non-empty', async () => {
    expect(expectOk(await analyze(await fail()))).toEqual({ explanation: text, generated_at: time });
    model.behave(500);
    expect(expectOk(await analyze(await fail()))).toEqual({ explanation: '', generated_at: '' });
  });
});

describe('Errors', () => {
  it('Analyze run: 400; run status is not failed', async () => {
    for (const status of ['running', 'completed', 'cancelled'] as const)
      expect((await analyze(await fail(status))).status).toBe(400);
  });
});

describe('Limits', () => {
  it('Analyze failed run: 5 requests per minute', async () => {
    const run = await fail();
    for (const factor of [null, 10]) {
      await overrideLimits(world, workspace, factor);
      await expectLimit(world, 5, () => analyze(run));
    }
  });
});
