// Tests billing against the sandbox's payment provider.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { FaultKind } from '../../../../sandbox/src/faults.ts';
import { startPayments } from '../../../../sandbox/src/payments/server.ts';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';

const provider = await startPayments();
afterAll(() => provider.close());
const world = await startWorld({
  environment: { PAYMENTS_URL: provider.url, PAYMENTS_SECRET_KEY: provider.secretKey },
});
const owner = await world.person('owner@example.com');

beforeEach(async () => {
  provider.setFaults();
  await world.resetRateLimits();
});

async function newWorkspace() {
  const workspace = await world.workspace(owner);
  return { workspace, as: await world.token(owner, workspace) };
}
const read = (as: string, on = world) => on.call('GET', '/api/workspace/billing', { as });
const start = (as: string, on = world) => on.call('POST', '/api/workspace/billing/setup-session', { as });
const enterCard = (url: string, number: string) =>
  fetch(url, { method: 'POST', body: new URLSearchParams({ number }), redirect: 'manual' });
const countCustomers = (workspace: string) =>
  provider.journal
    .flatMap(({ changes = [] }) => changes)
    .filter(
      ({ object, metadata }) =>
        object === 'customer' && (metadata as { plinth_workspace: string }).plinth_workspace === workspace,
    ).length;

describe('startBillingSetup', () => {
  it('leads to a page on which a card is entered, which billing then shows', async () => {
    const { workspace, as } = await newWorkspace();
    const before = { mode: 'provider', has_payment_method: false, payment_provider_unavailable: false };
    expect((await read(as)).body).toMatchObject({ ...before, payment_method: null, billing_hold: false });
    const { status, body } = await start(as);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { url: expect.stringContaining(provider.url), expires_at: expect.any(String) },
    });
    const left = await enterCard(body.url, '5555555555554444');
    expect(left.headers.get('location')).toContain(world.config.BASE_URL);
    expect((await read(as)).body).toMatchObject({
      has_payment_method: true,
      payment_method: { brand: 'mastercard', last4: '4444' },
    });
    await start(as);
    expect(countCustomers(workspace)).toBe(1);
  });

  it('answers a repeated Idempotency-Key with the same page', async () => {
    const { as } = await newWorkspace();
    const send = () =>
      world.call('POST', '/api/workspace/billing/setup-session', { as, headers: { 'idempotency-key': 'once' } });
    const first = await send();
    expect(first.status).toBe(200);
    expect((await send()).body).toEqual(first.body);
  });

  it.each<FaultKind>(['drop_before', 'drop_after', 'error_before', 'error_after', 'refuse', 'duplicate'])(
    'makes one customer of a workspace with the fault %s',
    async (fault) => {
      const { workspace, as } = await newWorkspace();
      // If the connection is closed, the library retries the request once with the same key.
      provider.setFaults({ call: 'createCustomer', fault, times: fault.startsWith('drop') ? 2 : 1 });
      const first = await start(as);
      // In these cases the provider creates the customer and responds. After an error response the customer is looked
      // up, so the first request succeeds.
      const isSettled = fault === 'duplicate' || fault === 'error_after';
      expect(first.status).toBe(isSettled ? 200 : 503);
      if (!isSettled) expect(first.body).toMatchObject({ code: 'payment_provider_unavailable' });
      expect((await start(as)).status).toBe(200);
      expect(countCustomers(workspace)).toBe(1);
    },
  );

  it('finds the customer by its workspace, once the provider has forgotten the key', async () => {
    const { workspace, as } = await newWorkspace();
    provider.setFaults({ call: 'createCustomer', fault: 'drop_after', times: 2 });
    await start(as);
    world.clock.aheadMs += 25 * 60 * 60 * 1000;
    provider.setFaults({ call: 'read', fault: 'error_before', times: 1 });
    expect((await start(as)).status).toBe(503);
    expect((await start(as)).status).toBe(200);
    expect(countCustomers(workspace)).toBe(1);
  });

  it('makes one customer out of many requests at the same time', async () => {
    const { workspace, as } = await newWorkspace();
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => start(as)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(countCustomers(workspace)).toBe(1);
  });

  it('replaces a customer that somebody deleted at the provider, and names it in the audit log', async () => {
    const { as } = await newWorkspace();
    await enterCard((await start(as)).body.url, '4242424242424242');
    const listIds = async () => {
      const path = '/api/workspace/audit-log?type=workspace.billing_setup_started';
      const { items } = (await world.call('GET', path, { as })).body;
      return items.map(({ after }: { after: { provider_customer_id: string } }) => after.provider_customer_id);
    };
    const [customer] = await listIds();
    provider.deleteCustomer(customer);
    expect((await read(as)).body).toMatchObject({ has_payment_method: false, payment_provider_unavailable: false });
    await enterCard((await start(as)).body.url, '4242424242424242');
    expect((await read(as)).body.has_payment_method).toBe(true);
    expect(new Set(await listIds()).size).toBe(2);
  });
});

describe('getBilling', () => {
  it('says that the provider is unavailable, instead of claiming that there is no card', async () => {
    const { as } = await newWorkspace();
    await enterCard((await start(as)).body.url, '4242424242424242');
    provider.setFaults({ call: 'read', fault: 'drop_before' });
    expect((await read(as)).body).toMatchObject({ has_payment_method: false, payment_provider_unavailable: true });
  });

  it('is external without a provider: the operator arranges it', async () => {
    const { as } = await newWorkspace();
    const external = await startSecondApp(world, { environment: { PAYMENTS_SECRET_KEY: '' } });
    expect((await read(as, external)).body).toMatchObject({
      mode: 'external',
      has_payment_method: true,
      payment_provider_unavailable: false,
    });
    expect(await start(as, external)).toMatchObject({ status: 200, body: { url: null, expires_at: null } });
  });
});
