// Tests browser tests in a real installation, from the flow to the report: a flow that passes and is replayed on a
// slow, changed page, a flow that finds a planted bug, and a flow in an app that was built by chat. The sandbox model
// replays recorded tool calls. If PAGE_PICTURES names a folder, the reports and their screenshots are saved there.
import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type ShopFlow, shopFlows } from '../../../sandbox/src/demo-shop/flows.ts';
import { ordersOfTheOwner, publishShop, readShop, republishShop } from '../../../sandbox/src/demo-shop/shop.ts';
import { renamedButton, slowPage, variants } from '../../../sandbox/src/demo-shop/variants.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { startInstallation } from './installation.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const { manage, publish } = await startInstallation({
  MODEL_URL: model.url,
  BROWSER_EXECUTABLE: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
});

const terminal = ['passed', 'failed', 'inconclusive', 'error', 'cancelled'];

interface Run {
  readonly appId: string;
  readonly flowId: string;
}

const createFlow = async (
  appId: string,
  { name, goal, role }: Pick<ShopFlow, 'name' | 'goal' | 'role'>,
): Promise<Run> => {
  const { id } = await manage('POST', `/api/apps/${appId}/testing-agent/flows`, { name, goal, role });
  return { appId, flowId: id };
};

/** Runs the flow. Returns its report and the number of model requests. */
async function run({ appId, flowId: flow_id }: Run, picture: string) {
  const path = `/api/apps/${appId}/testing-agent`;
  const requestsBefore = model.requests.length;
  const { id } = await manage('POST', `${path}/executions`, { flow_id });
  const read = () => manage('GET', `${path}/executions/${id}`);
  await expect.poll(async () => (await read()).status, { interval: 200 }).toBeOneOf(terminal);
  const execution = await read();
  const report = await manage('GET', `${path}/analysis/${id}`);
  await keepPictures(report, picture);
  return { execution, report, modelCalls: model.requests.length - requestsBefore };
}

async function keepPictures(report: { steps: { number: number; screenshot_url: string }[] }, name: string) {
  const folder = process.env.PAGE_PICTURES;
  if (!folder) return;
  writeFileSync(`${folder}/${name}.json`, JSON.stringify(report, null, 2));
  for (const { number, screenshot_url } of report.steps) {
    const answer = await fetch(screenshot_url);
    writeFileSync(`${folder}/${name}-${number}.jpg`, Buffer.from(await answer.arrayBuffer()));
  }
}

const getFlow = (name: string): ShopFlow => {
  const flow = shopFlows.get(name);
  if (flow === undefined) throw new Error(`no flow ${name}`);
  return flow;
};

describe('a flow in the demo shop', async () => {
  const appId = await publishShop(manage);
  const flow = await createFlow(appId, getFlow('An order is taken'));

  it('passes, with a screenshot of each step and a trace', async () => {
    const { execution, report, modelCalls } = await run(flow, 'passed');
    expect(report, JSON.stringify(report.issues)).toMatchObject({ verdict: 'passed', issues: [], healed: [] });
    expect(execution).toMatchObject({ status: 'passed', analysis_status: 'completed', credits_charged: 3 });
    expect(modelCalls).toBeGreaterThan(3);
    const first = await fetch(report.steps[0].screenshot_url);
    expect(first.headers.get('content-type')).toBe('image/jpeg');
    const trace = Buffer.from(await (await fetch(report.trace_url)).arrayBuffer());
    expect(trace.subarray(0, 2).toString()).toBe('PK');
    expect(JSON.stringify(report)).not.toContain('@visitor.example');
  });

  it('leaves neither its user nor their records', async () => {
    const listUsers = async () => (await manage('GET', `/api/apps/${appId}/users`)).items;
    const listOrders = async () => (await manage('GET', `/api/apps/${appId}/entities/Order`)).items;
    await expect.poll(listUsers).toEqual([]);
    expect((await listOrders()).length).toBe(ordersOfTheOwner.length);
  });

  it('is replayed without the model if the page is slow and a button has another name, which it says', async () => {
    await republishShop(manage, appId, readShop([slowPage, renamedButton]));
    const { report, modelCalls } = await run(flow, 'healed');
    expect(report, JSON.stringify(report.issues)).toMatchObject({ verdict: 'passed' });
    expect(new Set(report.steps.map(({ source }: { source: string }) => source))).toEqual(new Set(['replayed']));
    expect(report.healed).toEqual([
      {
        step_number: expect.any(Number),
        before: 'button "Save order"',
        after: expect.stringContaining('button "Take the order"'),
      },
    ]);
    expect(report.summary).toContain('1 step differed from the recording');
    expect(modelCalls).toBe(0);
  });

  it('fails if the page has a bug, even when it is replayed: a check is never healed', async () => {
    const bug = variants.find(({ bug }) => bug === 'double submit');
    await republishShop(manage, appId, readShop(bug && [bug.patch]));
    const { report } = await run(flow, 'replayed-bug');
    expect(report.verdict).toBe('failed');
    expect(report.issues[0]).toMatchObject({
      severity: 'high',
      title: 'Check failed: the number of link "Ada Archer" is 1',
      screenshot_url: expect.stringContaining('http'),
    });
  });
});

it('names a planted bug that nobody sees on the page', async () => {
  const bug = variants.find(({ bug }) => bug === 'uncaught rejection');
  const appId = await publishShop(manage, readShop(bug && [bug.patch]));
  const { execution, report } = await run(await createFlow(appId, getFlow('An order is paid')), 'failed');
  expect(execution.status).toBe('failed');
  expect(report.issues).toEqual([
    expect.objectContaining({
      severity: 'medium',
      title: 'Uncaught exception',
      description: expect.stringContaining('no printer for the receipt'),
    }),
  ]);
});

it('tests an app that was built by chat', async () => {
  const { id } = await manage('POST', '/api/apps', { name: 'Tasks' });
  await manage('POST', `/api/apps/${id}/chat/message`, { content: 'I need a task list with owners' });
  await publish(new Map(), { id });
  const goal = 'Add a task, tick it off and delete it. The list must count what is to do.';
  const { report } = await run(await createFlow(id, { name: 'Tasks are kept', goal, role: 'user' }), 'tasks');
  expect(report, JSON.stringify(report.issues)).toMatchObject({ verdict: 'passed', issues: [] });
});
