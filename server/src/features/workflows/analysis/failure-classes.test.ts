// Runs every labelled failure (server/test/failures) against real services and compares its class with its label.
import { afterAll, expect, it } from 'vitest';
import { controlFailures } from '../../../../test/failures/control.ts';
import { dataFailures } from '../../../../test/failures/data.ts';
import type { FailureCase, Places } from '../../../../test/failures/failure-case.ts';
import { failingZone, startFailingServices } from '../../../../test/failures/places.ts';
import { serviceFailures } from '../../../../test/failures/services.ts';
import { createScene, define, startWorkflowWorld } from '../../../../test/support/workflows.ts';
import { newId } from '../../../kit/ids.ts';
import { type NewRun, startRuns } from '../runs/start.ts';
import { failureClasses } from './classify.ts';

const services = await startFailingServices();
afterAll(() => services.close());
const { world, owner } = await startWorkflowWorld({
  // No process listens on this port, so agents don't reply and runs are not explained.
  environment: { OUTBOUND_ALLOW: 'http://127.0.0.0/8', MODEL_URL: services.closed },
  zone: failingZone,
  extraCa: services.ca,
});
await world.startWorker();

const schema = {
  name: 'Task',
  properties: {
    title: { type: 'string' },
    state: { type: 'string', enum: ['open', 'done'], default: 'open' },
    price: { type: 'number', minimum: 0 },
    code: { type: 'string' },
    cost: { type: 'number', rls: { write: { user_condition: { role: 'admin' } } } },
  },
  required: ['title'],
  unique: [['code']],
  rls: {
    read: true,
    create: { 'data.state': { $ne: 'done' } },
    update: { created_by_id: '{{user.id}}' },
    delete: { created_by_id: '{{user.id}}' },
  },
};

/** Creates an app in a workspace with this monthly credit limit. Null means no limit. */
async function prepare(monthly_limit: number | null) {
  const workspace = await world.workspace(owner);
  const limits = { rate_multiplier: 1000, monthly_limit };
  await world.db.updateTable('workspaces').set(limits).where('id', '=', workspace).execute();
  const as = await world.token(owner, workspace);
  const app = await world.appOf(owner, workspace);
  const agent = await world.call('POST', '/api/agents', { as, body: { name: 'Agent' } });
  const call = async (method: string, path: string, body: object) => {
    const got = await world.call(method, `/api/apps/${app.id}${path}`, { as, body });
    expect(got.status, JSON.stringify(got.body)).toBe(200);
    return got.body;
  };
  await call('PUT', '/entity-schemas/Task', schema);
  const { id: task } = await call('POST', '/entities/Task', { title: 'First', code: 'taken' });
  const { id: user } = await world.appUser(app, 'user@example.com', { role: 'user' });
  const dates = { connected_at: new Date(), created_date: new Date(), updated_date: new Date() };
  const key = { id: newId(), workspace_id: workspace, app_id: app.id, integration_type: 'github' };
  await world.db
    .insertInto('connections')
    .values({ ...key, ...dates, status: 'expired' })
    .execute();
  const places: Places = { ...services, task, user, agent: agent.body.id };
  return { app, as, scene: createScene(world, as), places };
}

const fill = (value: unknown, places: Places) =>
  JSON.parse(
    JSON.stringify(value).replace(/\{(\w+)\}/g, (whole, name) =>
      name in places ? String(places[name as keyof Places]) : whole,
    ),
  );

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Returns the class that the API reports. */
async function runCase({ app, as, scene, places }: Prepared, failure: FailureCase): Promise<string> {
  const workflow = await scene.create(app, { definition: define(fill(failure.do, places)) });
  const started = await scene.send('POST', app, `/${workflow.id}/run-now`, { input: failure.input ?? {} });
  // Users can't start a run without credits, but triggers can.
  const run = started.status === 402 ? await startByTrigger(app, workflow) : started.body.run_id;
  expect(run, `${failure.name}: ${JSON.stringify(started.body)}`).toEqual(expect.any(String));
  const isEnded = async () => (await scene.getRun(app, workflow.id, run)).completed_at !== null;
  await expect.poll(isEnded, { message: `${failure.name} ended`, interval: 250 }).toBe(true);
  const { status, error_message } = await scene.getRun(app, workflow.id, run);
  expect(status, `${failure.name}: ${error_message}`).toBe('failed');
  const path = `/api/apps/${app.id}/workflows/${workflow.id}/runs/${run}/analyze`;
  for (;;) {
    const got = await world.call('POST', path, { as });
    if (got.status === 200) return got.headers['x-failure-class'] ?? '';
    expect(got.status).toBe(429);
    await world.resetRateLimits();
  }
}

/** Starts a run as a trigger would, without checking credits. */
async function startByTrigger(app: Prepared['app'], workflow: NewRun['workflow']): Promise<string | undefined> {
  const { workspace_id, id: app_id } = app;
  const run = {
    workspace_id,
    app_id,
    workflow,
    trigger_type: 'manual',
    input: {},
    depth: 0,
    is_test_run: false,
  } as const;
  const [id] = await startRuns(world.db, world.app, [run], world.clock.now());
  return id;
}

const failures: readonly FailureCase[] = [...serviceFailures, ...dataFailures, ...controlFailures];
const requiredAccuracy = 0.9;

/** Returns one line per label, showing how often each class was reported. */
function drawMatrix(results: readonly { label: string; got: string }[]): string {
  const columns = failureClasses.filter((name) => results.some(({ label, got }) => label === name || got === name));
  const count = (label: string, got: string) =>
    results.filter((each) => each.label === label && each.got === got).length;
  const line = (name: string, cells: readonly (string | number)[]) =>
    `${name.padEnd(16)}${cells.map((cell) => String(cell || '·').padStart(5)).join('')}`;
  const head = line(
    'label / class',
    columns.map((name) => name.slice(0, 4)),
  );
  return [
    head,
    ...columns.map((label) =>
      line(
        label,
        columns.map((got) => count(label, got)),
      ),
    ),
  ].join('\n');
}

it('are what an experienced person would say, in nine of ten cases', async () => {
  expect(failures.length).toBeGreaterThanOrEqual(60);
  expect(new Set(failures.map(({ name }) => name)).size).toBe(failures.length);
  expect(new Set(failures.map(({ label }) => label)).size).toBeGreaterThanOrEqual(12);
  // Five apps are needed, because each app can have at most 20 concurrent runs.
  const ordinary = await Promise.all(Array.from({ length: 5 }, () => prepare(null)));
  const poor = { 'no credits': await prepare(0), 'few credits': await prepare(0.1) };
  const ended = await Promise.allSettled(
    failures.map(async (failure, index) => {
      const place = failure.place === undefined ? (ordinary[index % ordinary.length] as Prepared) : poor[failure.place];
      return { ...failure, got: await runCase(place, failure) };
    }),
  );
  const notRun = ended.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  expect(notRun, 'cases that did not fail as they should').toEqual([]);
  const results = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const wrong = results.filter(({ label, got }) => label !== got);
  const accuracy = 1 - wrong.length / results.length;
  console.log(`${drawMatrix(results)}\n\naccuracy ${(100 * accuracy).toFixed(1)} % of ${results.length}`);
  for (const { name, label, got } of wrong) console.log(`  ${name}: ${got} instead of ${label}`);
  expect(accuracy).toBeGreaterThanOrEqual(requiredAccuracy);
});
