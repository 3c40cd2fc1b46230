// Tests proposing flows with the sandbox's model (docs/api/browser-tests.md#let-the-model-write-tests).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFlowWorld } from '../../../test/support/flows.ts';
import { putFiles } from '../../../test/support/published.ts';
import { startSecondApp } from '../../../test/support/world.ts';

const scene = await startFlowWorld();
const { world, model, call, createFlow, newApp, scriptCalls, token, workspace } = scene;

const generate = (app: { id: string }, sent: object = {}) =>
  call('POST', app, '/flows/generate-from-app-context', sent);
const propose = (...flows: object[]) => scriptCalls(['propose_flows', { flows }]);
const flow = (name: string, more: object = {}) => ({ name, goal: `${name}. It must be visible.`, ...more });
const listUses = async (app: { id: string }) => {
  const { rows } = await sql<{ use: string }>`select operation || ' ' || amount as use from credit_ledger
    where app_id = ${app.id} and kind = 'use'`.execute(world.db);
  return rows.map(({ use }) => use);
};
const setLimit = (monthly_limit: number | null) =>
  world.db.updateTable('workspaces').set({ monthly_limit }).where('id', '=', workspace).execute();

describe('generateFlows', () => {
  it('saves what the model proposes from files and entities, and costs two credits', async () => {
    const app = await newApp({ name: 'Flower shop' });
    await putFiles(
      world,
      app,
      { 'src/pages/Cart.tsx': 'export const Cart = () => <h1>Cart</h1>;', 'a.txt': 'x' },
      token,
    );
    await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, {
      as: token,
      body: { name: 'Order', properties: { total: { type: 'number' } } },
    });
    propose(flow('Order a rose', { role: 'admin' }), flow('As an admin, see orders'), flow('See the cart'));
    const got = await generate(app);
    expect(got).toMatchObject({ status: 200, body: { no_changes: false } });
    expect(got.body.flows.map(({ name, role }: { name: string; role: string }) => [name, role])).toEqual([
      ['Order a rose', 'admin'],
      ['As an admin, see orders', 'admin'],
      ['See the cart', 'user'],
    ]);
    expect((await call('GET', app, '/flows')).body.map(({ id }: { id: string }) => id)).toEqual(
      got.body.flows.map(({ id }: { id: string }) => id).reverse(),
    );
    expect(await listUses(app)).toEqual(['generateFlows 2']);
    const sent = JSON.parse(model.requests.at(-1)?.messages.at(-1)?.content ?? '{}');
    expect(sent).toMatchObject({
      app: 'Flower shop',
      files: ['a.txt', 'src/pages/Cart.tsx'],
      entities: [{ name: 'Order', fields: ['total'] }],
      pages: [{ path: 'src/pages/Cart.tsx' }],
      existing: [],
    });
    expect(await scene.listAudits(app)).toEqual(Array(3).fill('test_flow.created by user'));
  });

  it('leaves out what the app has already, and what is proposed twice', async () => {
    const app = await newApp();
    await createFlow(app, { name: 'Order a Rose' });
    propose(flow(' order  a rose '), flow('See the cart'), flow('SEE THE CART'));
    expect((await generate(app)).body.flows.map(({ name }: { name: string }) => name)).toEqual(['See the cart']);
    propose(flow('See the cart'));
    expect((await generate(app)).body).toEqual({ flows: [], no_changes: true });
    propose();
    expect((await generate(app)).body).toEqual({ flows: [], no_changes: true });
  });

  it('takes at most five, and none that a person could not create', async () => {
    const app = await newApp();
    propose(flow(''), flow('x'.repeat(201)), { name: 'No goal' }, flow('Nul\0'), flow('Fifth'), flow('Sixth'));
    expect((await generate(app)).body.flows.map(({ name }: { name: string }) => name)).toEqual(['Nul', 'Fifth']);
  });

  it('sends the model at most about 40,000 characters', async () => {
    const app = await newApp();
    const pages = Array.from({ length: 30 }, (_, n) => [`src/pages/P${n}.tsx`, 'x'.repeat(50_000)]);
    await putFiles(world, app, Object.fromEntries(pages), token);
    propose();
    await generate(app);
    const { length } = model.requests.at(-1)?.messages.at(-1)?.content ?? '';
    expect(length).toBeGreaterThan(20_000);
    expect(length).toBeLessThan(42_000);
  });

  it('refuses in this order: too many flows, credits, the model; and then nothing is charged', async () => {
    const withoutModel = await startSecondApp(world, { environment: { MODEL_URL: '' } });
    const app = await newApp();
    const send = (beside = withoutModel) =>
      beside.call('POST', `/api/apps/${app.id}/testing-agent/flows/generate-from-app-context`, { as: token });
    await sql`insert into test_flows (id, workspace_id, app_id, name, goal, created_by, created_date, updated_date)
      select gen_random_uuid(), ${workspace}, ${app.id}, 'Flow ' || n, 'Order.', 'x', now(), now()
      from generate_series(1, 246) n`.execute(world.db);
    await setLimit(1);
    expect(await send()).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 250 } });
    await sql`delete from test_flows where app_id = ${app.id} and name = 'Flow 1'`.execute(world.db);
    expect(await send()).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
    await setLimit(null);
    await world.db.updateTable('memberships').set({ credit_limit: 1 }).where('workspace_id', '=', workspace).execute();
    expect(await send()).toMatchObject({ status: 402, body: { code: 'credit_limit_reached' } });
    await world.db
      .updateTable('memberships')
      .set({ credit_limit: null })
      .where('workspace_id', '=', workspace)
      .execute();
    expect(await send()).toMatchObject({ status: 503, body: { code: 'model_unavailable' } });
    expect(await listUses(app)).toEqual([]);
    propose(flow('One'), flow('Two'), flow('Three'), flow('Four'), flow('Five'));
    expect((await send(world)).body.flows).toHaveLength(5);
  });

  it.each(['malformed', 'cut'] as const)(
    'answers 503 if the answer of the model is %s, and charges nothing',
    async (how) => {
      const app = await newApp();
      propose(flow('One'));
      model.behave(how);
      const got = await generate(app);
      expect(got).toMatchObject({ status: 503, body: { code: 'model_unavailable', retry_safe: true } });
      expect(await listUses(app)).toEqual([]);
    },
  );

  it.each([
    ['says something instead of calling the tool', () => model.script(() => ({ text: 'Test everything.' }))],
    ['calls the tool without a list', () => scriptCalls(['propose_flows', { flows: 'all' }])],
  ])('answers 503 if the model %s', async (_what, script) => {
    script();
    expect((await generate(await newApp())).status).toBe(503);
  });

  it('is refused for the rest of a day in which the model gave 20 answers for the app that were not usable', async () => {
    const app = await newApp();
    model.script(() => ({ text: 'Test everything.' }));
    expect((await generate(app)).status).toBe(503);
    await sql`update unpaid_model_work set times = 19 where subject_id = ${app.id}`.execute(world.db);
    expect((await generate(app)).status).toBe(503);
    const asked = model.requests.length;
    const refused = { status: 429, body: { code: 'rate_limited', limit: 20, window_seconds: 86_400 } };
    expect(await generate(app)).toMatchObject(refused);
    const suggest = () =>
      world.call('POST', `/api/apps/${app.id}/ads-platform/suggestions/search-themes`, { as: token, body: {} });
    expect(await suggest()).toMatchObject(refused);
    expect(model.requests).toHaveLength(asked);
    expect((await generate(await newApp())).status).toBe(503);
    await sql`update unpaid_model_work set day = day - 1 where subject_id = ${app.id}`.execute(world.db);
    propose(flow('One'));
    expect((await generate(app)).status).toBe(200);
  });

  describe('counts work of the model that nobody pays for', () => {
    const readCounted = async (app: { id: string }) => {
      const { rows } = await sql<{ times: number }>`select times from unpaid_model_work
        where subject_id = ${app.id}`.execute(world.db);
      return rows[0]?.times ?? 0;
    };
    /** Replies as usual, after it has done what the caller could do in the meantime. */
    const proposeAfter = (change: () => Promise<unknown>) =>
      model.script(async () => {
        await change();
        return { tool_calls: [{ name: 'propose_flows', arguments: { flows: [flow('One')] } }] };
      });

    it('while the model works, until the request is charged', async () => {
      const app = await newApp();
      const counted: number[] = [];
      proposeAfter(async () => counted.push(await readCounted(app)));
      expect((await generate(app)).status).toBe(200);
      expect([counted, await readCounted(app)]).toEqual([[1], 0]);
    });

    it('if the caller creates as many tests as an app can have meanwhile', async () => {
      const app = await newApp();
      proposeAfter(() =>
        sql`insert into test_flows (id, workspace_id, app_id, name, goal, created_by, created_date, updated_date)
          select gen_random_uuid(), ${workspace}, ${app.id}, 'Flow ' || n, 'Order.', 'x', now(), now()
          from generate_series(1, 250) n`.execute(world.db),
      );
      expect(await generate(app)).toMatchObject({ status: 409, body: { code: 'limit_reached' } });
      expect([await listUses(app), await readCounted(app)]).toEqual([[], 1]);
    });

    it('if the credits are used up meanwhile', async () => {
      const app = await newApp();
      proposeAfter(() => setLimit(0));
      const got = await generate(app);
      await setLimit(null);
      expect(got).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
      expect([await listUses(app), await readCounted(app)]).toEqual([[], 1]);
    });

    it('if requests with one Idempotency-Key are sent at the same time', async () => {
      const app = await newApp();
      let asked = 0;
      const bothAsked = Promise.withResolvers<void>();
      proposeAfter(async () => {
        asked += 1;
        if (asked === 2) bothAsked.resolve();
        await bothAsked.promise;
      });
      const headers = { 'idempotency-key': 'at-once' };
      await Promise.all([generate(app, { headers }), generate(app, { headers })]);
      expect([asked, await listUses(app), await readCounted(app)]).toEqual([2, ['generateFlows 2'], 1]);
    });

    it('and does not ask the model more often at the same time than it may in vain', async () => {
      const app = await newApp();
      model.script(() => ({ text: 'Test everything.' }));
      await generate(app);
      await sql`update unpaid_model_work set times = 19 where subject_id = ${app.id}`.execute(world.db);
      const during: number[] = [];
      model.script(async () => {
        model.script(() => ({ text: 'Test everything.' }));
        during.push((await generate(app)).status);
        return { text: 'Test everything.' };
      });
      expect((await generate(app)).status).toBe(503);
      expect(during).toEqual([429]);
    });

    it('but not if the model refused the request', async () => {
      const app = await newApp();
      model.script(() => ({ status: 500 }));
      expect((await generate(app)).status).toBe(503);
      expect(await readCounted(app)).toBe(0);
    });
  });

  it('generates once for one Idempotency-Key', async () => {
    const app = await newApp();
    propose(flow('One'));
    const headers = { 'idempotency-key': 'generate' };
    const first = await generate(app, { headers });
    propose(flow('Two'));
    expect((await generate(app, { headers })).body).toEqual(first.body);
    expect(await listUses(app)).toEqual(['generateFlows 2']);
  });
});
