// Tests for budget bounds.
import { expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const as = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const read = (query: string) =>
  world.call('GET', `/api/apps/${app.id}/ads-platform/campaigns/budget-boundaries?${query}`, { as });

it.each([
  ['currency_code=USD', 'USD', 'PERFORMANCE_MAX', 5_000_000, 10_000_000_000, 10_000],
  ['currency_code=USD&campaign_type=SMART', 'USD', 'SMART', 3_000_000, 10_000_000_000, 10_000],
  ['currency_code=SGD', 'SGD', 'PERFORMANCE_MAX', 7_000_000, 13_500_000_000, 10_000],
  ['currency_code=JPY&campaign_type=SMART', 'JPY', 'SMART', 450_000_000, 1_500_000_000_000, 1_000_000],
  ['currency_code=KRW', 'KRW', 'PERFORMANCE_MAX', 7_000_000_000, 14_000_000_000_000, 1_000_000],
])('has the bounds of the currency and the type: %s', async (query, currency_code, campaign_type, min, max, step) => {
  expect(await read(query)).toMatchObject({
    status: 200,
    body: {
      currency_code,
      campaign_type,
      min_daily_budget_micros: min,
      max_daily_budget_micros: max,
      step_micros: step,
    },
  });
});

it.each(['ARS', 'usd', 'constructor'])('refuses the currency %s, instead of guessing its bounds', async (code) => {
  expect(await read(`currency_code=${code}`)).toMatchObject({ status: 400, body: { code: 'currency_unsupported' } });
});

it('refuses an unknown type, and a missing currency', async () => {
  const { status, body } = await read('currency_code=USD&campaign_type=SEARCH');
  expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ type: 'enum' }] } });
  expect((await read('')).body.detail).toMatchObject([{ loc: ['query', 'currency_code'], type: 'missing' }]);
});
