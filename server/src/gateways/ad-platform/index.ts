// The ad platform's client. It uses the Google Ads API's REST protocol, at the address set by the operator. Failed
// changes are returned as results, not thrown, and the client never repeats a request that the platform may have
// processed.
import { type AdPlatformSettings, type Calls, createCalls } from './calls.ts';
import type { PlatformCampaigns } from './campaign.ts';
import { openCampaigns } from './campaigns/index.ts';
import { listConversionActions, type PlatformConversionAction } from './conversion-actions.ts';
import { asArray, asObject, asText, type Json } from './json.ts';
import { type MutateOptions, type MutateResult, mutate, type Operation, readMutateResult } from './mutate.ts';
import type { Change, Reading } from './outcome.ts';
import { quote, type Row, search } from './search.ts';

export type { AdPlatformSettings } from './calls.ts';
export type * from './campaign.ts';
export type { PlatformConversionAction } from './conversion-actions.ts';
export { parseCredentials } from './credentials.ts';
export type { MutateOptions, MutateResult, Operation } from './mutate.ts';
export type { Change, Reading, Reason } from './outcome.ts';

export interface AdPlatform {
  readonly configured: boolean;
  /** Whether the manager account can be read. */
  checkAccess(): Promise<Reading<unknown>>;
  /** Creates an account below the manager. Names are not unique, so a second request creates a second account. */
  createClientAccount(
    account: NewClientAccount,
    /** A `performance.now()` time. After it, nothing is sent and the call stops waiting for a response. */
    notAfter?: number,
  ): Promise<Change<{ readonly customerId: string }>>;
  /** The manager's accounts with exactly this name, lowest id first. */
  findClientAccounts(name: string): Promise<Reading<readonly ClientAccount[]>>;
  /** Null if the platform has no such account. */
  readAccount(customerId: string): Promise<Reading<PlatformAccount | null>>;
  /** Null if the manager has no such account. Works for accounts that can no longer be used. */
  readAccountStatus(customerId: string): Promise<Reading<AccountStatusReading | null>>;
  /**
   * Applies all operations or none. Negative ids such as `-1` refer to resources created by an earlier operation in the
   * same request.
   */
  mutate(customerId: string, operations: readonly Operation[], options?: MutateOptions): Promise<Change<MutateResult>>;
  /** Reads all pages of a query, up to `maxRows`. */
  search(customerId: string, query: string, maxRows: number): Promise<Reading<SearchResult>>;
  /**
   * Creates each action independently. Names are unique in an account, so an existing name is refused with
   * `duplicate_name`.
   */
  createConversionActions(customerId: string, actions: readonly NewConversionAction[]): Promise<Change<MutateResult>>;
  /** The actions that web pages report and that have not been removed, oldest first. */
  listConversionActions(customerId: string): Promise<Reading<readonly PlatformConversionAction[]>>;
  readonly campaigns: PlatformCampaigns;
  close(): Promise<void>;
}

export interface NewClientAccount {
  readonly name: string;
  readonly currencyCode: string;
  readonly timeZone: string;
}

export interface ClientAccount extends NewClientAccount {
  readonly customerId: string;
  readonly status: string;
}

export interface PlatformAccount extends ClientAccount {
  /** Null until the account has a conversion action. */
  readonly conversionTrackingId: string | null;
}

export interface AccountStatusReading {
  readonly status: string;
  /**
   * The newest billing setup's status: `PENDING`, `APPROVED_HELD`, `APPROVED` or `CANCELLED`, or `NONE` if there is no
   * setup. Undefined if it could not be read.
   */
  readonly billingStatus: string | undefined;
}

export interface SearchResult {
  readonly rows: readonly Row[];
  /** Whether there were more rows. */
  readonly isTruncated: boolean;
}

export interface NewConversionAction {
  readonly name: string;
  readonly category: string;
}

export function openAdPlatform(settings: AdPlatformSettings): AdPlatform {
  const calls = createCalls(settings);
  const manager = settings.managerId ?? '';

  return {
    configured: calls.configured,
    checkAccess: () => search(calls, manager, 'SELECT customer.id FROM customer LIMIT 1', 1, liveReadMs),
    createClientAccount: ({ name, currencyCode, timeZone }, notAfter) =>
      calls.change(
        {
          path: `/customers/${manager}:createCustomerClient`,
          body: { customerClient: { descriptiveName: name, currencyCode, timeZone } },
        },
        (body) => {
          const customerId = /^customers\/(\d+)$/.exec(asText(body.resourceName))?.[1];
          return customerId === undefined ? undefined : { customerId };
        },
        notAfter,
      ),
    async findClientAccounts(name) {
      const query = `SELECT customer_client.id, customer_client.descriptive_name, customer_client.status, customer_client.currency_code, customer_client.time_zone FROM customer_client WHERE customer_client.descriptive_name = ${quote(name)} ORDER BY customer_client.id LIMIT 100`;
      const found = await search(calls, manager, query, 100);
      if (found.outcome !== 'read') return found;
      return { ...found, result: found.result.rows.map((row) => toClientAccount(asObject(row.customerClient))) };
    },
    readAccount: (customerId) => readAccount(calls, customerId),
    readAccountStatus: (customerId) => readAccountStatus(calls, manager, customerId),
    mutate: (customerId, operations, options) => mutate(calls, customerId, operations, options),
    search: (customerId, query, maxRows) => search(calls, customerId, query, maxRows),
    createConversionActions: (customerId, actions) =>
      calls.change(
        {
          path: `/customers/${customerId}/conversionActions:mutate`,
          body: {
            operations: actions.map((action) => ({ create: { ...action, ...webPageAction } })),
            partialFailure: true,
          },
        },
        (body) => readMutateResult(body, asArray(body.results), actions.length, true),
      ),
    listConversionActions: (customerId) => listConversionActions(calls, customerId),
    campaigns: openCampaigns(calls),
    close: calls.close,
  };
}

const webPageAction = { type: 'WEBPAGE', status: 'ENABLED', primaryForGoal: true } as const;

const toClientAccount = (client: Json): ClientAccount => ({
  customerId: asText(client.id),
  name: asText(client.descriptiveName),
  status: asText(client.status),
  currencyCode: asText(client.currencyCode),
  timeZone: asText(client.timeZone),
});

/** A short limit, because a person is waiting for the result. */
const liveReadMs = 5_000;

/** Reads the status from the manager, because the platform refuses every call in a closed account. */
async function readAccountStatus(
  calls: Calls,
  manager: string,
  customerId: string,
): Promise<Reading<AccountStatusReading | null>> {
  const [client, billing] = await Promise.all([
    search(
      calls,
      manager,
      `SELECT customer_client.status FROM customer_client WHERE customer_client.id = ${customerId} LIMIT 1`,
      1,
      liveReadMs,
    ),
    search(
      calls,
      customerId,
      'SELECT billing_setup.status FROM billing_setup ORDER BY billing_setup.id DESC LIMIT 1',
      1,
      liveReadMs,
    ),
  ]);
  if (client.outcome !== 'read') return client;
  const [row] = client.result.rows;
  if (row === undefined) return { ...client, result: null };
  const billingStatus =
    billing.outcome === 'read' ? asText(asObject(billing.result.rows[0]?.billingSetup).status) || 'NONE' : undefined;
  return { ...client, result: { status: asText(asObject(row.customerClient).status), billingStatus } };
}

async function readAccount(calls: Calls, customerId: string): Promise<Reading<PlatformAccount | null>> {
  const query =
    'SELECT customer.id, customer.descriptive_name, customer.status, customer.currency_code, customer.time_zone, customer.conversion_tracking_setting.conversion_tracking_id FROM customer LIMIT 1';
  const found = await search(calls, customerId, query, 1);
  if (found.outcome !== 'read') return found;
  const [row] = found.result.rows;
  if (row === undefined) return { ...found, result: null };
  const account = asObject(row.customer);
  const tracking = asObject(account.conversionTrackingSetting);
  const conversionTrackingId = /^\d{1,20}$/.exec(asText(tracking.conversionTrackingId))?.[0] ?? null;
  return { ...found, result: { ...toClientAccount(account), conversionTrackingId } };
}
