// Tests the list of prices (docs/api/credits.md#prices).
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { effectOf } from '../../kit/http/operation.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

/** These spend money at the ad platform, and no credits. */
const spendsMoney = (name: string) => /campaign/i.test(name);

describe('listPrices', () => {
  it('lists what each operation costs', async () => {
    const got = await world.call('GET', '/api/prices', { as: token });
    expect(got).toMatchObject({ status: 200, body: { next_cursor: null, has_more: false } });
    const perTokens = (at_least: number) => ({ credits: 1, per: '10000_tokens', at_least });
    const perCall = (credits: number) => ({ credits, per: 'call', at_least: null });
    expect(
      got.body.items.toSorted((a: { operation: string }, b: { operation: string }) =>
        a.operation < b.operation ? -1 : 1,
      ),
    ).toEqual([
      { operation: 'generateAssets', ...perCall(2) },
      { operation: 'generateAssets', credits: 0.5, per: 'image', at_least: null },
      { operation: 'generateFlows', ...perCall(2) },
      { operation: 'launchSession', ...perTokens(2) },
      { operation: 'runWorkflow', ...perCall(0.05) },
      { operation: 'sendAgentMessage', ...perTokens(0.2) },
      { operation: 'sendChatMessage', ...perTokens(0.5) },
      { operation: 'sendSessionMessage', ...perTokens(2) },
      { operation: 'startExecution', ...perCall(3) },
      { operation: 'suggestSearchThemes', ...perCall(0.1) },
    ]);
  });

  it('has every operation that spends credits, and no other', () => {
    const spending = world.app.routes.filter((route) => effectOf(route) === 'spend');
    expect(spending.length).toBeGreaterThan(10);
    for (const { name, prices } of spending) expect(prices === undefined, name).toBe(spendsMoney(name));
    const priced = world.app.routes.filter(({ prices }) => prices !== undefined);
    expect(priced.filter((route) => !spending.includes(route))).toEqual([]);
    const chargesCredits = world.app.routes.filter(
      ({ refusals = [], name }) => refusals.some(({ code }) => code === 'credits_exhausted') && !spendsMoney(name),
    );
    expect(chargesCredits.filter(({ prices }) => prices === undefined).map(({ name }) => name)).toEqual([]);
  });
});
