// Tests the ad platform's client over the wire, against the sandbox's ad platform.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type AdPlatformSandbox, startAdPlatform } from '../../../../sandbox/src/ad-platform/server.ts';
import { startRawServer } from '../../../../sandbox/src/raw-server.ts';
import { performanceMax, smart } from '../../../test/support/ad-campaigns.ts';
import { systemClock } from '../../kit/clock.ts';
import { type AdPlatform, openAdPlatform, parseCredentials } from './index.ts';

const sandbox = await startAdPlatform();
const open = (
  at: Pick<AdPlatformSandbox, 'url' | 'managerId' | 'credentials'>,
  credentials = at.credentials,
  timeoutMs = 10_000,
) =>
  openAdPlatform({
    url: at.url,
    version: 'v25',
    managerId: at.managerId,
    credentials: parseCredentials(credentials),
    clock: systemClock,
    changeTimeoutMs: timeoutMs,
    readTimeoutMs: timeoutMs,
  });
const platform = open(sandbox);
const impatient = open(sandbox, sandbox.credentials, 500);
const bikes = { name: 'Bikes', currencyCode: 'EUR', timeZone: 'Europe/Paris' };

afterAll(async () => {
  await Promise.all([platform.close(), impatient.close()]);
  await sandbox.close();
});
beforeEach(() => {
  sandbox.setFaults();
  sandbox.configure({ accepts_smart_creation: true, tag_delay_ms: 2_000, page_size: 10_000 });
});

async function newAccount(name = `account ${Math.random()}`, on: AdPlatform = platform): Promise<string> {
  const created = await on.createClientAccount({ ...bikes, name });
  if (created.outcome !== 'applied') throw new Error(JSON.stringify(created));
  return created.result.customerId;
}

const query = async (customerId: string, text: string) => {
  const found = await platform.search(customerId, text, 1_000);
  if (found.outcome !== 'read') throw new Error(found.reason);
  return found.result.rows;
};

describe('accounts', () => {
  it('are created below the manager, found by name and read', async () => {
    const customerId = await newAccount("Ann's \\ bikes");
    expect(await platform.findClientAccounts("Ann's \\ bikes")).toMatchObject({
      outcome: 'read',
      result: [
        { customerId, name: "Ann's \\ bikes", status: 'ENABLED', currencyCode: 'EUR', timeZone: 'Europe/Paris' },
      ],
    });
    expect(await platform.findClientAccounts('nobody')).toMatchObject({ outcome: 'read', result: [] });
    const account = { customerId, status: 'ENABLED', conversionTrackingId: null };
    expect(await platform.readAccount(customerId)).toMatchObject({ outcome: 'read', result: account });
  });

  it('are refused with the reasons of the platform', async () => {
    expect(await platform.createClientAccount({ ...bikes, currencyCode: 'XXQ' })).toMatchObject({
      outcome: 'refused',
      requestId: expect.any(String),
      reasons: [{ kind: 'input', code: 'currencyCodeError.UNSUPPORTED', field: 'customer_client.currency_code' }],
    });
  });

  it('are not asked for after the time until which the caller waits', async () => {
    const name = 'too late';
    expect(await platform.createClientAccount({ ...bikes, name }, performance.now())).toEqual({
      outcome: 'unavailable',
      reason: 'timeout',
    });
    expect(JSON.stringify(sandbox.journal)).not.toContain(name);
  });

  it('have their status read from the manager, also once they are closed', async () => {
    const customerId = await newAccount();
    const read = () => platform.readAccountStatus(customerId);
    expect(await read()).toMatchObject({ result: { status: 'ENABLED', billingStatus: 'APPROVED' } });
    sandbox.setAccount(customerId, { status: 'CANCELED' });
    expect(await read()).toMatchObject({ outcome: 'read', result: { status: 'CANCELED', billingStatus: undefined } });
    expect(await platform.readAccount(customerId)).toMatchObject({ reason: 'authorizationError.CUSTOMER_NOT_ENABLED' });
    expect(await platform.readAccountStatus('4711')).toMatchObject({ outcome: 'read', result: null });
  });

  it('that belong to somebody else cannot be read', async () => {
    expect(await platform.readAccount('4711')).toEqual({
      outcome: 'unavailable',
      reason: 'authorizationError.USER_PERMISSION_DENIED',
    });
  });
});

describe('mutate', () => {
  it('creates a Performance Max campaign with all that belongs to it in one change', async () => {
    const customerId = await newAccount();
    const created = await platform.mutate(customerId, performanceMax(customerId, { name: 'Bikes [abc]' }));
    expect(created).toMatchObject({ outcome: 'applied', requestId: expect.any(String) });
    const [row] = await query(
      customerId,
      "SELECT campaign.id, campaign.status, campaign.primary_status, campaign_budget.amount_micros FROM campaign WHERE campaign.name = 'Bikes [abc]'",
    );
    expect(row).toMatchObject({
      campaign: { status: 'PAUSED', primaryStatus: 'PAUSED', id: expect.stringMatching(/^\d+$/) },
      campaignBudget: { amountMicros: '20000000' },
    });
    expect(await query(customerId, 'SELECT asset_group.name, campaign.name FROM asset_group')).toHaveLength(1);
  });

  it('refuses a second campaign with the same name, and applies nothing of the change', async () => {
    const customerId = await newAccount();
    const operations = performanceMax(customerId, { name: 'Twice' });
    await platform.mutate(customerId, operations);
    expect(await platform.mutate(customerId, operations)).toMatchObject({
      outcome: 'refused',
      reasons: [{ kind: 'duplicate_name', code: 'campaignError.DUPLICATE_CAMPAIGN_NAME', operation: 1 }],
    });
    expect(await query(customerId, 'SELECT campaign_budget.id FROM campaign_budget')).toHaveLength(1);
  });

  it('lets the name of a removed campaign be used again', async () => {
    const customerId = await newAccount();
    const create = () => platform.mutate(customerId, performanceMax(customerId, { name: 'Again' }));
    await create();
    const [row] = await query(customerId, 'SELECT campaign.resource_name FROM campaign');
    const { resourceName: remove } = { ...(row?.campaign as { resourceName: string } | undefined) };
    await platform.mutate(customerId, [{ campaignOperation: { remove } }]);
    expect((await create()).outcome).toBe('applied');
    expect(await query(customerId, "SELECT campaign.id FROM campaign WHERE campaign.status != 'REMOVED'")).toHaveLength(
      1,
    );
  });

  it('reports the lowest daily budget with its currency', async () => {
    const customerId = await newAccount();
    const operations = performanceMax(customerId, { name: 'Cheap', amountMicros: '10000' });
    expect(await platform.mutate(customerId, operations)).toMatchObject({
      outcome: 'refused',
      reasons: [
        {
          kind: 'budget_too_low',
          minimum: { currencyCode: 'EUR', micros: '1000000' },
          field: 'mutate_operations[0].campaign_budget_operation.create.amount_micros',
        },
      ],
    });
  });

  it('checks without changing anything with validateOnly', async () => {
    const customerId = await newAccount();
    const tryOut = (amountMicros: string) =>
      platform.mutate(customerId, performanceMax(customerId, { name: 'Dry', amountMicros }), { validateOnly: true });
    expect(await tryOut('20000000')).toMatchObject({ outcome: 'applied', result: [] });
    expect((await tryOut('1')).outcome).toBe('refused');
    expect(await query(customerId, 'SELECT campaign.id FROM campaign')).toEqual([]);
  });

  it('applies what can be applied with partialFailure, and says what was not', async () => {
    const customerId = await newAccount();
    const asset = (text: string) => ({ assetOperation: { create: { textAsset: { text } } } });
    const changed = await platform.mutate(customerId, [asset('one'), asset(''), asset('three')], {
      partialFailure: true,
    });
    expect(changed).toMatchObject({
      outcome: 'applied',
      result: [
        { resourceName: expect.stringContaining('/assets/'), reasons: [] },
        { resourceName: '', reasons: [{ code: 'fieldError.REQUIRED', operation: 1 }] },
        { resourceName: expect.stringContaining('/assets/'), reasons: [] },
      ],
    });
  });

  it('creates Smart campaigns, unless the platform refuses them as the live one does', async () => {
    const customerId = await newAccount();
    expect((await platform.mutate(customerId, smart(customerId, { name: 'Old' }))).outcome).toBe('applied');
    const uncrawlable = smart(customerId, { name: 'New', finalUrl: 'https://nowhere.invalid/' });
    expect(await platform.mutate(customerId, uncrawlable)).toMatchObject({
      reasons: [{ code: 'smartCampaignError.FINAL_URL_NOT_CRAWLABLE' }],
    });
    sandbox.configure({ accepts_smart_creation: false });
    expect(await platform.mutate(customerId, smart(customerId, { name: 'New' }))).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'smartCampaignError.CREATION_FAILED' }],
    });
  });
});

describe('search', () => {
  it('reads all pages, up to a number of rows', async () => {
    const customerId = await newAccount();
    const budgets = ['1', '2', '3', '4', '5'].map((name) => ({
      campaignBudgetOperation: { create: { name, amountMicros: `${name}000000` } },
    }));
    await platform.mutate(customerId, budgets);
    sandbox.configure({ page_size: 2 });
    const text =
      'SELECT campaign_budget.amount_micros FROM campaign_budget ORDER BY campaign_budget.amount_micros DESC';
    const found = await platform.search(customerId, text, 100);
    if (found.outcome !== 'read') throw new Error(found.reason);
    const amounts = found.result.rows.map((row) => (row.campaignBudget as { amountMicros: string }).amountMicros);
    expect(amounts).toEqual(['5000000', '4000000', '3000000', '2000000', '1000000']);
    const some = await platform.search(customerId, text, 3);
    expect(some).toMatchObject({ result: { rows: { length: 3 }, isTruncated: true } });
  });

  it('names the error of a query that the platform does not understand', async () => {
    const customerId = await newAccount();
    const reasonOf = async (text: string) => (await platform.search(customerId, text, 1)) as { reason?: string };
    expect((await reasonOf('SELECT campaign.colour FROM campaign')).reason).toBe('queryError.UNRECOGNIZED_FIELD');
    expect((await reasonOf('SELECT moon.id FROM moon')).reason).toBe('queryError.BAD_RESOURCE_TYPE_IN_FROM_CLAUSE');
    expect((await reasonOf('hello')).reason).toBe('queryError.UNEXPECTED_INPUT');
  });

  it('reports what enabled campaigns got by day, within their budgets, and their search terms', async () => {
    const customerId = await newAccount();
    await platform.mutate(customerId, performanceMax(customerId, { name: 'Runs', status: 'ENABLED' }));
    await platform.mutate(customerId, smart(customerId, { name: 'Waits' }));
    sandbox.advance(3 * 24 * 60 * 60 * 1000);
    const rows = await query(
      customerId,
      'SELECT campaign.name, segments.date, metrics.cost_micros, metrics.clicks FROM campaign',
    );
    expect(new Set(rows.map((row) => (row.campaign as { name: string }).name))).toEqual(new Set(['Runs']));
    expect(rows.length).toBeGreaterThanOrEqual(3);
    for (const { metrics } of rows)
      expect(Number((metrics as { costMicros: string }).costMicros)).toBeLessThanOrEqual(20e6);
    const terms = await query(
      customerId,
      'SELECT campaign_search_term_view.search_term, metrics.impressions FROM campaign_search_term_view WHERE segments.date DURING LAST_7_DAYS ORDER BY metrics.impressions DESC LIMIT 2',
    );
    expect(terms).toHaveLength(2);
    expect(terms[0]).toMatchObject({ campaignSearchTermView: { searchTerm: expect.stringContaining('city bikes') } });
    // The search network's view excludes Performance Max.
    expect(
      await query(customerId, 'SELECT search_term_view.search_term, metrics.clicks FROM search_term_view'),
    ).toEqual([]);
  });
});

describe('conversion actions', () => {
  it('get their tag some time after they were created, and exist once by name', async () => {
    const customerId = await newAccount();
    const create = (...categories: string[]) =>
      platform.createConversionActions(
        customerId,
        categories.map((category) => ({ name: `Plinth ${category}`, category })),
      );
    const created = { resourceName: expect.stringMatching(/\/conversionActions\/\d+$/), reasons: [] };
    expect(await create('PURCHASE')).toMatchObject({ outcome: 'applied', result: [created] });
    expect(await create('PURCHASE', 'SIGNUP')).toMatchObject({
      outcome: 'applied',
      result: [{ resourceName: '', reasons: [{ kind: 'duplicate_name' }] }, created],
    });
    const action = { name: 'Plinth PURCHASE', category: 'PURCHASE', status: 'ENABLED' };
    expect(await platform.listConversionActions(customerId)).toMatchObject({
      result: [{ ...action, conversionId: null, label: null }, { name: 'Plinth SIGNUP' }],
    });
    sandbox.advance(2_000);
    expect(await platform.listConversionActions(customerId)).toMatchObject({
      result: [
        { ...action, conversionId: expect.stringMatching(/^AW-\d+$/), label: expect.stringMatching(/^\w+$/) },
        {},
      ],
    });
  });
});

describe('outcomes', () => {
  const countAccounts = async (name: string) => {
    sandbox.setFaults();
    const found = await platform.findClientAccounts(name);
    return found.outcome === 'read' ? found.result.length : undefined;
  };

  it.each([
    ['drop_before', 'unknown', 0],
    ['drop_after', 'unknown', 1],
    ['delay', 'unknown', 1],
    ['duplicate', 'applied', 2],
    ['refuse', 'refused', 0],
    ['error_before', 'unknown', 0],
    ['error_after', 'unknown', 1],
  ] as const)('with the fault %s a change is %s, and %i accounts exist', async (fault, outcome, accounts) => {
    const name = `fault ${fault}`;
    await impatient.findClientAccounts(name); // opens its connection
    const client = fault === 'delay' ? impatient : platform;
    sandbox.setFaults({ call: 'createCustomerClient', fault, times: 1, delay_ms: 800 });
    expect((await client.createClientAccount({ ...bikes, name })).outcome).toBe(outcome);
    await expect.poll(() => countAccounts(name)).toBe(accounts);
  });

  it('of a change does not wait for slow reads', async () => {
    sandbox.setFaults({ call: 'search', fault: 'delay', delay_ms: 2_000 });
    let [readsDone, isChanged] = [0, false];
    const reads = Array.from({ length: 40 }, async () => {
      await platform.findClientAccounts('any');
      readsDone += isChanged ? 0 : 1;
    });
    await newAccount();
    isChanged = true;
    await Promise.all(reads);
    expect(readsDone).toBe(0);
  });

  it('of a read with any fault is unavailable', async () => {
    for (const fault of ['drop_before', 'drop_after', 'delay', 'refuse', 'error_before'] as const) {
      sandbox.setFaults({ call: 'search', fault, times: 1, delay_ms: 800 });
      const client = fault === 'delay' ? impatient : platform;
      expect((await client.findClientAccounts('any')).outcome).toBe('unavailable');
    }
  });

  it('without a connection, a token or settings are unavailable: nothing was sent', async () => {
    const nowhere = open({ ...sandbox, url: 'http://127.0.0.1:1' });
    expect((await nowhere.createClientAccount(bikes)).outcome).toBe('unavailable');
    const wrong = sandbox.credentials.replace('sandbox-refresh', 'wrong');
    expect(await open(sandbox, wrong).createClientAccount(bikes)).toEqual({
      outcome: 'unavailable',
      reason: 'no_access_token',
    });
    const off = openAdPlatform({
      url: undefined,
      version: 'v25',
      managerId: undefined,
      credentials: undefined,
      clock: systemClock,
    });
    expect(off.configured).toBe(false);
    expect(await off.createClientAccount(bikes)).toEqual({ outcome: 'unavailable', reason: 'not_configured' });
    await nowhere.close();
  });

  it('are unknown if the answer cannot be read', async () => {
    const answers = [
      'HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n<html/>',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
      'HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"resou',
      'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
    ];
    for (const answer of answers) {
      const raw = await startRawServer({ address: '127.0.0.1', onData: (socket) => void socket.end(answer) });
      const misled = open({ ...sandbox, url: `http://127.0.0.1:${raw.port}` });
      expect((await misled.createClientAccount(bikes)).outcome).toBe('unknown');
      await misled.close();
      await raw.close();
    }
  });

  it.each([
    ['internalError.INTERNAL_ERROR', 0, 'unknown'],
    ['conversionActionError.DUPLICATE_NAME', 0, 'applied'],
    ['conversionActionError.DUPLICATE_NAME', undefined, 'applied'],
  ] as const)('with a partial failure %s of operation %s are %s', async (code, index, outcome) => {
    const [area = '', value] = code.split('.');
    const location = index !== undefined && {
      location: { fieldPathElements: [{ fieldName: 'operations', index }] },
    };
    const errors = [{ errorCode: { [area]: value }, message: 'x', ...location }];
    const body = JSON.stringify({ results: [{}], partialFailureError: { code: 3, details: [{ errors }] } });
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const raw = await startRawServer({ address: '127.0.0.1', onData: (socket) => void socket.end(head + body) });
    const misled = open({ ...sandbox, url: `http://127.0.0.1:${raw.port}` });
    const changed = await misled.createConversionActions('1', [{ name: 'x', category: 'PURCHASE' }]);
    await misled.close();
    await raw.close();
    expect(changed).toMatchObject({ outcome, ...(outcome === 'applied' && { result: [{ reasons: [{ code }] }] }) });
  });

  it('do not depend on the age of the access token', async () => {
    await newAccount();
    sandbox.expireTokens();
    expect((await platform.createClientAccount({ ...bikes, name: 'later' })).outcome).toBe('applied');
  });

  it('are the same with a service account', async () => {
    const service = open(sandbox, Buffer.from(sandbox.serviceCredentials()).toString('base64'));
    expect(await newAccount('by a service account', service)).toMatch(/^\d+$/);
    await service.close();
  });
});

it('refuses credentials without repeating them', () => {
  for (const text of ['secret', '{"type":"service_account","private_key":"secret"}', '{"type":"other"}'])
    expect(() => parseCredentials(text)).toThrow(/^must be a service account or authorized user credential file/);
});

it('of the sandbox continues where it was after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-ads-'));
  const first = await startAdPlatform({ folder });
  const before = open(first);
  const customerId = await newAccount('kept', before);
  await before.mutate(customerId, performanceMax(customerId, { name: 'Kept' }));
  first.advance(5_000);
  await before.close();
  await first.close();
  const second = await startAdPlatform({ folder });
  const after = open(second);
  expect(await after.findClientAccounts('kept')).toMatchObject({ result: [{ customerId }] });
  expect(await after.search(customerId, 'SELECT campaign.name FROM campaign', 10)).toMatchObject({
    result: { rows: [{ campaign: { name: 'Kept' } }] },
  });
  expect(Number(await newAccount('new', after))).toBeGreaterThan(Number(customerId));
  expect(
    second.journal.filter(({ event, call }) => event === 'applied' && call === 'createCustomerClient'),
  ).toHaveLength(2);
  await after.close();
  await second.close();
  rmSync(folder, { recursive: true });
});
