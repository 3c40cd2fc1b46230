// Owns the advertising account of an app: creating it once, finding it again after a request without an answer, and reading it.
//
// The platform accepts any number of accounts with one name, and has no key for repeated requests. So a row with a name that no other
// account has is committed first. Only the process that moves it from `recorded` to `sent` sends the request, after it has looked for an
// account with the name, and only within 30 seconds:
//
//   answer                what follows
//   created               ready
//   refused, not sent     recorded, and the next call sends it again
//   none                  sent: the account is looked for by its name until it is found (ready), or was missing three times, 15 seconds
//                         apart, after the request had ended here (recorded)
import { createHash } from 'node:crypto';
import { type AuditedChange, audit, auditService } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { lockApp } from '../../../core/identity/apps.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { AdPlatform, ClientAccount, Reason } from '../../../gateways/ad-platform/index.ts';
import type { Clock } from '../../../kit/clock.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { Currency } from '../budgets/table.ts';
import {
  adoptAccount,
  claimSending,
  findAccount,
  findAccountById,
  listUnsettled,
  recordAccount,
  recordEmptyRead,
  returnToRecorded,
  saveStatus,
} from '../store/accounts.ts';
import type { AdsTimes } from '../times.ts';
import { type AccountRow, type AccountStatus, isReady, presentAccount, type ReadyAccount } from './contract.ts';
import { currencyOf } from './currencies.ts';

export interface AccountDeps {
  readonly platform: Pick<
    AdPlatform,
    'configured' | 'createClientAccount' | 'findClientAccounts' | 'readAccountStatus'
  >;
  readonly defaultCurrency: Currency;
  readonly clock: Clock;
  readonly times: Pick<AdsTimes, 'reconcileMs' | 'requestMs' | 'emptyReads'>;
  /** More accounts have the name of a row than the one that is used: a network repeated the request, or it was very late. */
  readonly reportSurplus: (surplus: { readonly app_id: string; readonly customer_ids: readonly string[] }) => void;
}

type PresentedAccount = ReturnType<typeof presentAccount>;

export async function getReadyAccount(db: Db, access: AppAccess): Promise<ReadyAccount> {
  const row = await findAccount(db, access);
  if (row === undefined || !isReady(row)) throw notFound('ads_account_not_found');
  return row;
}

/** The status is at most a minute old, or else the last one that was read. */
export async function getAccount(
  db: Db,
  deps: AccountDeps,
  access: AppAccess,
  now: Date,
): Promise<Answer<PresentedAccount>> {
  const row = await getReadyAccount(db, access);
  const { status, isCurrent, asOf } = await readStatus(db, deps, row, now);
  return withNotes(presentAccount({ ...row, status }), { ...(!isCurrent && { partial: ['live_status'] }), asOf });
}

export interface StatusReading {
  readonly status: AccountStatus;
  /** Of the newest billing setup. Null if it was never read. */
  readonly billing_status: string | null;
  /** False: the platform did not answer, and the status is the last known one. */
  readonly isCurrent: boolean;
  /** Likewise for the billing status, which is read separately. */
  readonly isBillingCurrent: boolean;
  /** When it was read, if not now. */
  readonly asOf?: Date;
}

/** The platform counts reads, so that they are not repeated within a minute. */
const freshMs = 60_000;

export async function readStatus(
  db: Db,
  { platform }: Pick<AccountDeps, 'platform'>,
  row: ReadyAccount,
  now: Date,
): Promise<StatusReading> {
  const { status, billing_status, status_read_at: asOf } = row;
  if (asOf !== null && billing_status !== null && now.getTime() - asOf.getTime() < freshMs)
    return { status, billing_status, isCurrent: true, isBillingCurrent: true, asOf };
  const read = await platform.readAccountStatus(row.platform_customer_id);
  if (read.outcome !== 'read' || read.result === null)
    return { status, billing_status, isCurrent: false, isBillingCurrent: false, asOf: asOf ?? row.updated_date };
  const { billingStatus } = read.result;
  const live = { status: toStatus(read.result.status), billing_status: billingStatus ?? billing_status };
  // Nobody pays for an account that is closed, and the platform refuses to read it.
  const isBillingCurrent = billingStatus !== undefined || live.status === 'CLOSED';
  // If only one of both was read, the next call reads them again.
  await saveStatus(db, row, live, isBillingCurrent ? now : asOf);
  return { ...live, isCurrent: true, isBillingCurrent };
}

/** Creates the account if the app has none. Costs nothing. */
export async function ensureAccount(
  db: Db,
  deps: AccountDeps,
  access: AppAccess,
  { timezone }: { readonly timezone?: string },
  now: Date,
): Promise<Answer<PresentedAccount>> {
  const known = await findAccount(db, access);
  if (known !== undefined && isReady(known)) return presentUnchanged(known, timezone);
  if (!deps.platform.configured) throw platformUnavailable();
  const row = known ?? (await recordNewAccount(db, deps, access, timezone ?? 'UTC', now));
  if (isReady(row)) return presentUnchanged(row, timezone);
  const currency_code = await chooseCurrency(db, access, deps.defaultCurrency);
  const terms = { currency_code, timezone: timezone ?? row.timezone };
  const record = (db: Db, change: AuditedChange) => audit(db, access, change, now);
  const settled = await settleAccount(db, deps, { ...row, ...terms }, record, now);
  if (settled === undefined) {
    if ((await findAccountById(db, row)) === undefined) throw notFound('app_not_found');
    throw outcomeUnknown();
  }
  if (!settled.isNew) return presentUnchanged(settled.account, timezone);
  const ignored = timezone !== undefined && timezone !== settled.account.timezone ? ['timezone'] : [];
  return withNotes(presentAccount(settled.account), { ignored });
}

/** The time zone of an account is fixed. */
function presentUnchanged(row: ReadyAccount, timezone: string | undefined): Answer<PresentedAccount> {
  const ignored = timezone !== undefined && timezone !== row.timezone ? ['timezone'] : [];
  return withNotes(presentAccount(row), { changed: false, ignored, asOf: row.status_read_at ?? row.updated_date });
}

export async function recordNewAccount(
  db: Db,
  { defaultCurrency }: Pick<AccountDeps, 'defaultCurrency'>,
  access: AppAccess,
  timezone: string,
  now: Date,
): Promise<AccountRow> {
  return transaction(db, async (db) => {
    await lockApp(db, access); // it may have been moved to the trash meanwhile
    const currency_code = await chooseCurrency(db, access, defaultCurrency);
    const account_name = nameAccount(access.app.id);
    await recordAccount(db, access, { account_name, currency_code, timezone }, now);
    const row = await findAccount(db, access);
    if (row === undefined) throw notFound('app_not_found');
    return row;
  });
}

/** Of a new account. */
async function chooseCurrency(db: Db, access: AppAccess, fallback: Currency): Promise<Currency> {
  const { country_code } = await getWorkspaceRow(db, access);
  return currencyOf(country_code, fallback);
}

/** `<app id> <key>`, always the same for an app: nobody gives an account such a name by hand. */
const nameAccount = (appId: string): string =>
  `${appId} ${createHash('sha256').update(`account of ${appId}`).digest('hex').slice(0, 10)}`;

/** `isNew`: this process has adopted it. Otherwise another one was faster. */
export interface Settled {
  readonly account: ReadyAccount;
  readonly isNew: boolean;
}

type RecordChange = (db: Db, change: AuditedChange) => Promise<void>;

/**
 * Creates the account of a row, or looks for it if a request was sent. Undefined: still not known. What the platform refused before can
 * be corrected, so that the time zone and the currency of a new request are those of `row`, whatever was recorded.
 */
export const settleAccount = (
  db: Db,
  deps: AccountDeps,
  row: AccountRow,
  record: RecordChange,
  now: Date,
): Promise<Settled | undefined> =>
  row.state === 'recorded' ? createAccount(db, deps, row, record, now) : lookForAccount(db, deps, row, record, now);

async function createAccount(
  db: Db,
  deps: AccountDeps,
  row: AccountRow,
  record: RecordChange,
  now: Date,
): Promise<Settled | undefined> {
  const { timezone, currency_code } = row;
  // Others look for the account from 30 seconds after `sentAt` on. Until then the request has ended here, or it is not sent, also if
  // this process was suspended in between.
  const sentAt = deps.clock.now();
  const notAfter = performance.now() + deps.times.requestMs;
  const claimed = await claimSending(db, row, { timezone, currency_code }, sentAt);
  if (claimed === undefined) return lookForAccount(db, deps, row, record, now);
  // An earlier request may have been very late, or the database may have been restored from a backup.
  const found = await deps.platform.findClientAccounts(claimed.account_name);
  if (found.outcome === 'read' && found.result.length > 0) return adopt(db, deps, claimed, found.result, record, now);
  if (found.outcome === 'read') return sendRequest(db, deps, claimed, notAfter, record, now);
  await returnToRecorded(db, claimed, now);
  throw platformUnavailable();
}

async function sendRequest(
  db: Db,
  deps: AccountDeps,
  row: AccountRow,
  notAfter: number,
  record: RecordChange,
  now: Date,
): Promise<Settled | undefined> {
  const account = { name: row.account_name, currencyCode: row.currency_code, timeZone: row.timezone };
  const created = await deps.platform.createClientAccount(account, notAfter);
  if (created.outcome === 'applied') {
    const { customerId } = created.result;
    // A network that repeats requests would have made another one. Which is the first is then known only from a read.
    const found = await deps.platform.findClientAccounts(row.account_name);
    if (found.outcome !== 'read') return undefined;
    const others = found.result.filter((each) => each.customerId !== customerId);
    const own = found.result.find((each) => each.customerId === customerId);
    const all = own === undefined ? [...others, { ...account, customerId, status: 'ENABLED' }] : found.result;
    return adopt(db, deps, row, all, record, now);
  }
  if (created.outcome === 'unknown') return undefined;
  await returnToRecorded(db, row, now);
  throw created.outcome === 'refused' ? toRefusal(created.reasons) : platformUnavailable();
}

/** Undefined: still not known. */
async function lookForAccount(
  db: Db,
  deps: AccountDeps,
  row: AccountRow,
  record: RecordChange,
  now: Date,
): Promise<Settled | undefined> {
  const found = await deps.platform.findClientAccounts(row.account_name);
  if (found.outcome !== 'read') return undefined;
  if (found.result.length > 0) return adopt(db, deps, row, found.result, record, now);
  const { requestMs, reconcileMs, emptyReads } = deps.times;
  const countsFrom = (row.sent_at?.getTime() ?? 0) + requestMs + row.empty_reads * reconcileMs;
  const counts = now.getTime() >= countsFrom;
  if (counts && row.empty_reads + 1 >= emptyReads) await returnToRecorded(db, row, now);
  else await recordEmptyRead(db, row, counts, now);
  return undefined;
}

/** Of several accounts, takes the first one that is enabled. */
async function adopt(
  db: Db,
  deps: AccountDeps,
  row: AccountRow,
  accounts: readonly ClientAccount[],
  record: RecordChange,
  now: Date,
): Promise<Settled | undefined> {
  const chosen = accounts.find(({ status }) => status === 'ENABLED') ?? accounts[0];
  if (chosen === undefined) return undefined;
  const listOthers = (id: string) => accounts.map(({ customerId }) => customerId).filter((each) => each !== id);
  const adopted = await transaction(db, async (db) => {
    const ready = await adoptAccount(db, row, { ...chosen, status: toStatus(chosen.status) }, now);
    if (ready === undefined) return undefined;
    const { currency_code, timezone, platform_customer_id } = ready;
    const surplus_customer_ids = listOthers(platform_customer_id);
    const after = { currency_code, timezone, platform_customer_id, surplus_customer_ids };
    await record(db, {
      type: 'ads.account.created',
      target: { kind: 'ads_account', id: row.id },
      app_id: row.app_id,
      after,
    });
    return ready;
  });
  // Another process was faster, or the app was purged.
  const account = adopted ?? (await findAccountById(db, row));
  const surplus = listOthers(account?.platform_customer_id ?? '');
  if (surplus.length > 0) deps.reportSurplus({ app_id: row.app_id, customer_ids: surplus });
  return account !== undefined && isReady(account) ? { account, isNew: adopted !== undefined } : undefined;
}

const maxPerRun = 20;

/** For a worker: looks for accounts whose request had no answer. Returns how many were found. */
export async function settleAccounts(db: Db, deps: AccountDeps, now: Date): Promise<number> {
  if (!deps.platform.configured) return 0;
  const rows = await listUnsettled(db, new Date(now.getTime() - deps.times.reconcileMs), maxPerRun);
  const settled = await Promise.all(
    rows.map((row) =>
      lookForAccount(db, deps, row, (db, change) => auditService(db, row.workspace_id, change, now), now),
    ),
  );
  return settled.filter((row) => row !== undefined).length;
}

function toStatus(status: string): AccountStatus {
  if (status === 'ENABLED') return 'ACTIVE';
  if (status === 'SUSPENDED') return 'SUSPENDED';
  return status === 'CANCELED' || status === 'CLOSED' ? 'CLOSED' : 'PENDING';
}

const outcomeUnknown = () =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'The ad platform did not answer whether it created the account. Send the request again in 15 seconds: no second account is created.',
    { members: { campaign_state: 'absent' }, headers: { 'retry-after': '15' } },
  );

export const platformUnavailable = (retryAfterMs = 30_000) =>
  new Problem(
    'unavailable',
    'ad_platform_unavailable',
    'The ad platform is not configured or can not be reached. Try again later, or ask the operator.',
    { headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } },
  );

/** Of a new account, callers choose only the time zone. Everything else is the operator's to change. */
function toRefusal(reasons: readonly Reason[]): Problem {
  const busy = reasons.find(({ kind }) => kind === 'busy');
  if (busy !== undefined) return platformUnavailable(busy.retryAfterMs);
  if (!reasons.every(({ code }) => code.startsWith('timeZoneError.')))
    return new Problem(
      'unavailable',
      'ad_platform_unavailable',
      'The ad platform refused to create the account, for a reason that only the operator can change. No account was created.',
      { headers: { 'retry-after': '300' } },
    );
  return new Problem(
    'bad_request',
    'platform_rejected',
    'The ad platform refused to create the account. See `platform_reasons`.',
    { members: { platform_reasons: reasons.map(({ code, message }) => ({ code, message })), account_created: false } },
  );
}
