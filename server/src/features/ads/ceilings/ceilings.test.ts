// Tests that campaigns spend no more a day than the workspace's owner allows (docs/api/ads.md#ceilings), with a worker
// and the sandbox's ad platform.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { listCreated, startLaunchWorld } from '../../../../test/support/launching.ts';

const { world, platform, model, owner, campaign, scene } = await startLaunchWorld();
await world.startWorker();
await world.resetRateLimits();

type Scene = Awaited<ReturnType<typeof scene>>;
type Role = 'editor' | 'admin';

const usd = (amount: number) => amount * 1_000_000;
let people = 0;

/** A scene with a member who may change its app. */
async function sceneWith(role: Role, options = {}) {
  const here = await scene(options);
  people += 1;
  const member = await world.member(here.app.workspace_id, role, `person${people}@example.com`);
  return { ...here, member: await world.token(member, here.app.workspace_id) };
}

const launchAs = (here: Scene, as: string, amount: number, more: object = {}) =>
  world.call('POST', here.at('launch'), {
    as,
    body: { campaign: campaign({ campaign_name: `Of ${amount}`, daily_budget_micros: usd(amount), ...more }) },
  });
const ceilings = (here: Scene, app: number, workspace: number, as = here.as) =>
  world.call('PUT', '/api/workspace/ads-ceilings', {
    as,
    body: { currency_code: 'USD', app_daily_micros: usd(app), workspace_daily_micros: usd(workspace) },
  });
const change = (here: Scene, as: string, id: string, path: string, method = 'POST', body?: object) =>
  world.call(method, here.at(`campaigns/${id}${path}`), { as, ...(body && { body }) });
const setBudget = (here: Scene, as: string, id: string, amount: number) =>
  change(here, as, id, '', 'PATCH', { field: 'budget', value: usd(amount) });
const countLaunches = async ({ app }: Scene) =>
  (await world.db.selectFrom('ads_launches').where('app_id', '=', app.id).select('id').execute()).length;

describe('an app editor', () => {
  it('may launch one campaign of the smallest budget by default, and nothing is created beyond it', async () => {
    const here = await sceneWith('editor');
    const [before, asked] = [listCreated(platform).length, model.requests.length];
    const refused = await launchAs(here, here.member, 6);
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: 'spending_ceiling_reached',
        retry_safe: false,
        campaign_state: 'absent',
        remaining_daily_micros: usd(5),
        currency_code: 'USD',
      },
    });
    expect([await countLaunches(here), listCreated(platform).length]).toEqual([0, before]);
    expect(model.requests.length).toBe(asked);
    expect((await launchAs(here, here.member, 5)).status).toBe(200);
    const second = await launchAs(here, here.member, 5, { campaign_name: 'Second' });
    expect(second).toMatchObject({
      status: 409,
      body: { code: 'spending_ceiling_reached', remaining_daily_micros: 0 },
    });
    expect(await countLaunches(here)).toBe(1);
  });

  it('is bound by the ceiling of the workspace in another app, also in another currency', async () => {
    const here = await sceneWith('editor');
    await ceilings(here, 20, 25);
    expect((await launchAs(here, here.as, 10)).status).toBe(200);
    const other = await world.appOf(owner, here.app.workspace_id);
    const there = { ...here, app: other, at: (path: string) => `/api/apps/${other.id}/ads-platform/${path}` };
    const refused = await launchAs(there, here.member, 16);
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'spending_ceiling_reached', ceiling: 'workspace', remaining_daily_micros: usd(15) },
    });
    // 10 in a currency of which 15,000 are worth 10,000 dollars.
    await world.db
      .updateTable('ads_accounts')
      .set({ currency_code: 'AUD' })
      .where('app_id', '=', here.app.id)
      .execute();
    const { body } = await world.call('GET', '/api/workspace/ads-ceilings', { as: here.member });
    expect(body).toMatchObject({ budgeted_daily_micros: 6_666_667, is_default: false, currency_code: 'USD' });
  });

  it('may not raise a budget or resume a campaign beyond it, but lower, pause and delete always', async () => {
    const here = await sceneWith('editor', { tracked: true });
    await ceilings(here, 20, 20);
    const first = (await launchAs(here, here.as, 10)).body.campaign.id;
    const second = (await launchAs(here, here.as, 10, { campaign_name: 'Second' })).body.campaign.id;
    expect(await setBudget(here, here.member, first, 11)).toMatchObject({
      status: 409,
      body: { code: 'spending_ceiling_reached', remaining_daily_micros: usd(10), campaign_id: first },
    });
    await ceilings(here, 0, 0);
    expect((await setBudget(here, here.member, first, 9)).status).toBe(200);
    expect((await change(here, here.member, second, '/pause')).status).toBe(200);
    expect(await change(here, here.member, second, '/resume')).toMatchObject({
      status: 409,
      body: { code: 'spending_ceiling_reached', ceiling: 'app', remaining_daily_micros: 0, campaign_state: 'paused' },
    });
    expect((await change(here, here.member, second, '', 'DELETE')).status).toBe(200);
    expect((await world.call('POST', here.at('campaigns/pause-all'), { as: here.member })).status).toBe(200);
  });

  it("can't spend a budget twice a day by stopping one campaign and starting another", async () => {
    const here = await sceneWith('editor', { tracked: true });
    await ceilings(here, 10, 10);
    const first = (await launchAs(here, here.member, 10)).body.campaign.id;
    const launchSecond = () => launchAs(here, here.member, 5, { campaign_name: 'Second' });
    const refused = { status: 409, body: { code: 'spending_ceiling_reached', remaining_daily_micros: 0 } };
    expect((await setBudget(here, here.member, first, 5)).status).toBe(200);
    expect(await launchSecond()).toMatchObject(refused);
    expect((await change(here, here.member, first, '/pause')).status).toBe(200);
    expect(await launchSecond()).toMatchObject(refused);
    expect((await change(here, here.member, first, '', 'DELETE')).status).toBe(200);
    expect(await launchSecond()).toMatchObject(refused);
    expect(await countLaunches(here)).toBe(1);
    // A day later.
    await world.db.updateTable('ads_campaigns').set({ spent_until: new Date() }).where('id', '=', first).execute();
    expect((await launchSecond()).status).toBe(200);
  });

  it('uses what is left once, however many launches are sent at the same time', async () => {
    const here = await sceneWith('editor');
    const sent = [1, 2, 3, 4, 5].map((number) =>
      launchAs(here, here.member, 5, { campaign_name: `At once ${number}` }),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 409, 409, 409, 409]);
    expect(await countLaunches(here)).toBe(1);
  });
});

describe('those who answer for the money', () => {
  it('are owners and admins with an unlimited credential, whom nothing binds', async () => {
    const here = await sceneWith('admin');
    expect((await launchAs(here, here.member, 20)).status).toBe(200);
    expect((await launchAs(here, here.as, 20, { campaign_name: 'Second' })).status).toBe(200);
  });

  it('are not owners with a token for some apps, nor guests with a share', async () => {
    const here = await scene();
    const limited = await world.token(owner, here.app.workspace_id, { app_ids: [here.app.id] });
    expect(await launchAs(here, limited, 6)).toMatchObject({ status: 409, body: { code: 'spending_ceiling_reached' } });
    const guest = await world.member(here.app.workspace_id, 'guest', 'guest@example.com');
    await world.share(here.app, guest, 'editor');
    const got = await launchAs(here, await world.token(guest, here.app.workspace_id), 6);
    expect(got).toMatchObject({ status: 409, body: { code: 'spending_ceiling_reached' } });
  });
});

describe('putAdsCeilings', () => {
  it('is for the owner, says what counts, and writes an audit entry', async () => {
    const here = await sceneWith('admin');
    const read = () => world.call('GET', '/api/workspace/ads-ceilings', { as: here.as });
    expect((await read()).body).toEqual({
      currency_code: 'USD',
      app_daily_micros: usd(5),
      workspace_daily_micros: usd(5),
      is_default: true,
      budgeted_daily_micros: 0,
    });
    expect((await ceilings(here, 30, 40, here.member)).status).toBe(403);
    expect((await ceilings(here, 30, 40)).body).toMatchObject({ app_daily_micros: usd(30), is_default: false });
    expect((await ceilings(here, 30, 40)).headers['x-changed']).toBe('false');
    const body = { currency_code: 'ARS', app_daily_micros: 1, workspace_daily_micros: 1 };
    const refused = await world.call('PUT', '/api/workspace/ads-ceilings', { as: here.as, body });
    expect(refused).toMatchObject({ status: 400, body: { code: 'currency_unsupported' } });
    const log = await world.call('GET', '/api/workspace/audit-log?type=ads.ceilings.changed', { as: here.as });
    expect(log.body.items).toMatchObject([{ after: { app_daily_micros: usd(30), workspace_daily_micros: usd(40) } }]);
  });
});

it("mails the workspace's owner when an app launches its first campaign, and not again", async () => {
  const here = await sceneWith('editor');
  await ceilings(here, 20, 20);
  await launchAs(here, here.member, 5);
  await launchAs(here, here.member, 5, { campaign_name: 'Second' });
  const { rows } = await sql<{ email: string; body: string }>`select email, body from app_warnings
    where app_id = ${here.app.id} and subject like '%first campaign%'`.execute(world.db);
  expect(rows.map(({ email }) => email)).toEqual(['owner@example.com']);
  expect(rows[0]?.body).toContain(`person${people}@example.com has launched the campaign "Of 5"`);
});
