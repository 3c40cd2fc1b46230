// Tests flows through the API: creating, changing and reading them (docs/api/browser-tests.md#flows).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFlowWorld } from '../../../test/support/flows.ts';
import { newId } from '../../kit/ids.ts';
import { chooseRole } from './flow.ts';

const { world, call, createFlow, newApp, publishedApp, start, listAudits, workspace, owner } = await startFlowWorld();

describe('createFlow', () => {
  it('takes the role that is sent, or the one that the text names, or user', async () => {
    const app = await newApp();
    const made = [
      await createFlow(app, { name: ' Order ', role: 'admin' }),
      await createFlow(app, { goal: 'Sign in as an admin and delete an order.' }),
      await createFlow(app),
    ];
    expect(made.map(({ name, role }) => `${name}: ${role}`)).toEqual(['Order: admin', 'Order: admin', 'Order: user']);
    expect(made[2]).toMatchObject({
      revision: 1,
      created_by: owner.email,
      last_execution: null,
      goal: 'Order a rose.',
    });
    expect(await listAudits(app)).toEqual(Array(3).fill('test_flow.created by user'));
  });

  it.each([
    ['As an admin, delete an order', 'admin'],
    ['Log in as administrator and look', 'admin'],
    ['Check it as the admin', 'admin'],
    ['The admin page must not be visible', 'user'],
    ['Order a rose as a user', 'user'],
    ['The report is for admins only', 'user'],
    ['As a normal user, open the page that was made by the admin', 'user'],
    ['As a user, ask for what can only be done as an admin', 'user'],
    ['Delete it as an admin user, then look as a user', 'admin'],
  ])('reads %j as %s', (text, role) => {
    expect(chooseRole(text)).toBe(role);
  });

  it.each([
    [{ name: '  ' }, ['body', 'name'], 'string_too_short'],
    [{ name: 'x'.repeat(201) }, ['body', 'name'], 'string_too_long'],
    [{ goal: '' }, ['body', 'goal'], 'string_too_short'],
    [{ goal: 'x'.repeat(4_001) }, ['body', 'goal'], 'string_too_long'],
    [{ role: 'manager' }, ['body', 'role'], 'enum'],
  ])('refuses %j', async (more, loc, type) => {
    const got = await call('POST', await newApp(), '/flows', { body: { name: 'Order', goal: 'Order.', ...more } });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });

  it('refuses the 251st, even while others are being deleted', async () => {
    const app = await newApp();
    await sql`insert into test_flows (id, workspace_id, app_id, name, goal, created_by, created_date, updated_date, deleting_since)
      select gen_random_uuid(), ${workspace}, ${app.id}, 'Flow ' || n, 'Order.', 'x', now(), now(), case when n = 1 then now() end
      from generate_series(1, 249) n`.execute(world.db);
    await createFlow(app);
    const got = await call('POST', app, '/flows', { body: { name: 'One more', goal: 'Order.' } });
    expect(got).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 250, resource: 'flows' } });
  });

  it('creates one flow for one Idempotency-Key', async () => {
    const app = await newApp();
    const send = () =>
      call('POST', app, '/flows', { body: { name: 'Order', goal: 'Order.' }, headers: { 'idempotency-key': 'one' } });
    expect((await send()).body.id).toBe((await send()).body.id);
    expect((await call('GET', app, '/flows')).body).toHaveLength(1);
  });
});

describe('listFlows and getFlow', () => {
  it('answer the newest first, with the newest run', async () => {
    const app = await publishedApp();
    const [first, second] = [await createFlow(app, { name: 'First' }), await createFlow(app, { name: 'Second' })];
    const run = (await start(app, first)).body;
    const { body } = await call('GET', app, '/flows');
    expect(body.map(({ id }: { id: string }) => id)).toEqual([second.id, first.id]);
    expect(body[1].last_execution).toEqual({ id: run.id, status: 'pending' });
    expect((await call('GET', app, `/flows/${first.id}`)).body).toEqual(body[1]);
  });

  it('know nothing of flows of other apps, or that are being deleted', async () => {
    const [app, other] = [await newApp(), await newApp()];
    const flow = await createFlow(app);
    for (const id of [newId(), 'x'])
      expect(await call('GET', app, `/flows/${id}`)).toMatchObject({ status: 404, body: { code: 'flow_not_found' } });
    expect((await call('GET', other, `/flows/${flow.id}`)).status).toBe(404);
    await world.db.updateTable('test_flows').set({ deleting_since: new Date() }).where('id', '=', flow.id).execute();
    expect((await call('GET', app, `/flows/${flow.id}`)).status).toBe(404);
    expect((await call('GET', app, '/flows')).body).toEqual([]);
  });
});

describe('updateFlow', () => {
  const change = async (app: { id: string }, id: string, body: object) => call('PATCH', app, `/flows/${id}`, { body });

  it('keeps what is not sent, counts the revision up and forgets the recording', async () => {
    const app = await newApp();
    const flow = await createFlow(app, { role: 'admin' });
    await sql`update test_flows set recording = '{}', recording_revision = 1 where id = ${flow.id}`.execute(world.db);
    const changed = (await change(app, flow.id, { goal: 'Order two roses.' })).body;
    expect(changed).toMatchObject({ name: 'Order', goal: 'Order two roses.', role: 'admin', revision: 2 });
    const { rows } = await sql`select recording, recording_revision from test_flows where id = ${flow.id}`.execute(
      world.db,
    );
    expect(rows).toEqual([{ recording: null, recording_revision: null }]);
    expect((await change(app, flow.id, { role: null })).body).toMatchObject({ role: null, revision: 3 });
    expect(await listAudits(app)).toEqual([
      'test_flow.created by user',
      'test_flow.updated by user',
      'test_flow.updated by user',
    ]);
  });

  it('refuses what createFlow would refuse, and changes nothing', async () => {
    const app = await newApp();
    const flow = await createFlow(app);
    const got = await change(app, flow.id, { name: '', goal: 'x'.repeat(4_001) });
    expect(got).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'name'] }, { loc: ['body', 'goal'] }] },
    });
    expect((await call('GET', app, `/flows/${flow.id}`)).body).toEqual(flow);
  });

  it('says that nothing has changed if nothing has', async () => {
    const app = await newApp();
    const flow = await createFlow(app);
    for (const body of [{}, { name: flow.name, goal: flow.goal }]) {
      const got = await change(app, flow.id, body);
      expect(got.body).toEqual(flow);
      expect(got.headers['x-changed']).toBe('false');
    }
  });

  it('is refused while a run goes', async () => {
    const app = await publishedApp();
    const flow = await createFlow(app);
    const { body } = await start(app, flow);
    expect(await change(app, flow.id, { name: 'Buy' })).toMatchObject({ status: 409, body: { code: 'flow_busy' } });
    await call('POST', app, `/executions/${body.id}/cancel`);
    expect((await change(app, flow.id, { name: 'Buy' })).body).toMatchObject({ name: 'Buy', revision: 2 });
  });

  it('answers 404 if the flow began to be deleted since it was found', async () => {
    const app = await newApp();
    const flow = await createFlow(app);
    await world.db.updateTable('test_flows').set({ deleting_since: new Date() }).where('id', '=', flow.id).execute();
    expect((await change(app, flow.id, { name: 'Buy' })).status).toBe(404);
  });
});
