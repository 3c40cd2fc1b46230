// An app's advertising account: creating it exactly once, finding it after a lost response, and reading it.
//
// The platform allows duplicate account names and has no idempotency keys, so a row with a unique account name is
// committed first. Only the process that moves the row from `recorded` to `sent` sends the request. That process first
// searches for an account with the name, and sends the request within 30 seconds or not at all.
//
//   response              next state
//   created               `ready`
//   refused, not sent     `recorded`, and the next call resends the request
//   none                  `sent`, and later reads search for the account by name. The row becomes `ready` when a read
//                         finds the account. It returns to `recorded` when the request has ended on our side and three
//                         later reads, 15 seconds apart, have found nothing.
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
import { type AccountRow, isReady, type ReadyAccount } from '../store/rows.ts';
import type { AdsTimes } from '../times.ts';
import { type AccountStatus, presentAccount } from './contract.ts';
import { currencyOf } from './currencies.ts';

export interface AccountDeps {
  readonly platform: Pick<
    AdPlatform,
    'configured' | 'createClientAccount' | 'findClientAccounts' | 'readAccountStatus'
  >;
  readonly defaultCurrency: Currency;
  readonly clock: Clock;
  readonly times: Pick<AdsTimes, 'reconcileMs' | 'requestMs' | 'emptyReads'>;
  /** Called if a duplicated or very late request has left several accounts with the row's name. */
  readonly reportSurplus: (surplus: { readonly app_id: string; readonly customer_ids: readonly string[] }) => void;
}

type PresentedAccount = ReturnType<typeof presentAccount>;

export async function getReadyAccount(db: Db, access: AppAccess): Promise<ReadyAccount> {
  const row = await findAccount(db, access);
  if (row === undefined || !isReady(row)) throw notFound('ads_account_not_found');
  return row;
}

/** Returns the account. Its status is at most a minute old, or the last known one if the platform does not respond. */
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
  /** The newest billing setup's status. Null if it has never been read. */
  readonly billing_status: string | null;
  /** False if the platform did not respond, in which case the status is the last known one. */
  readonly isCurrent: boolean;
  /** Like `isCurrent`, but for the billing status, which is read separately. */
  readonly isBillingCurrent: boolean;
  /** When the status was read, if not by this call. */
  readonly asOf?: Date;
}

/** The platform meters reads, so a status is read at most once a minute. */
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
  // A closed account has no billing, and the platform rejects the read.
  const isBillingCurrent = billingStatus !== undefined || live.status === 'CLOSED';
  // If only one of the two statuses was read, the next call reads both again.
  await saveStatus(db, row, live, isBillingCurrent ? now : asOf);
  return { ...live, isCurrent: true, isBillingCurrent };
}

/** Creates the account if the app has none. Accounts are free. */
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

/** An account's time zone can't be changed, so a different one in the request is reported as ignored. */
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
    await lockApp(db, access); // the app may have been moved to the trash
    const currency_code = await chooseCurrency(db, access, defaultCurrency);
    const account_name = nameAccount(access.app.id);
    await recordAccount(db, access, { account_name, currency_code, timezone }, now);
    const row = await findAccount(db, access);
    if (row === undefined) throw notFound('app_not_found');
    return row;
  });
}

/** Chooses a new account's currency. */
async function chooseCurrency(db: Db, access: AppAccess, fallback: Currency): Promise<Currency> {
  const { country_code } = await getWorkspaceRow(db, access);
  return currencyOf(country_code, fallback);
}

/** `<app id> <key>`: constant for an app, and unlikely to be chosen by hand. */
const nameAccount = (appId: string): string =>
  `${appId} ${createHash('sha256').update(`account of ${appId}`).digest('hex').slice(0, 10)}`;

/** `isNew` is true if this process adopted the account, and false if another process had already done so. */
export interface Settled {
  readonly account: ReadyAccount;
  readonly isNew: boolean;
}

type RecordChange = (db: Db, change: AuditedChange) => Promise<void>;

/**
 * Creates the row's account, or searches for it if a request was already sent. Returns undefined if the outcome is
 * still unknown. A new request uses the time zone and currency in `row`, because the caller may have corrected values
 * that the platform refused.
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
  // Other processes start searching for the account 30 seconds after `sentAt`. By that time the request has ended on
  // our side or will never be sent, even if this process was suspended in between.
  const sentAt = deps.clock.now();
  const notAfter = performance.now() + deps.times.requestMs;
  const claimed = await claimSending(db, row, { timezone, currency_code }, sentAt);
  if (claimed === undefined) return lookForAccount(db, deps, row, record, now);
  // An earlier request may have arrived very late, or the database may have been restored from a backup.
  const found = await deps.platform.findClientAccounts(claimed.account_name);
  if (found.outcome === 'read' && found.result.length > 0)
    return adopt(db, deps, { row: claimed, accounts: found.result, record }, now);
  if (found.outcome === 'read') return sendRequest(db, deps, { row: claimed, notAfter, record }, now);
  await returnToRecorded(db, claimed, now);
  throw platformUnavailable();
}

async function sendRequest(
  db: Db,
  deps: AccountDeps,
  { row, notAfter, record }: { readonly row: AccountRow; readonly notAfter: number; readonly record: RecordChange },
  now: Date,
): Promise<Settled | undefined> {
  const account = { name: row.account_name, currencyCode: row.currency_code, timeZone: row.timezone };
  const created = await deps.platform.createClientAccount(account, notAfter);
  if (created.outcome === 'applied') {
    const { customerId } = created.result;
    // The network may have duplicated the request and created a second account. Only a read shows which came first.
    const found = await deps.platform.findClientAccounts(row.account_name);
    if (found.outcome !== 'read') return undefined;
    const others = found.result.filter((each) => each.customerId !== customerId);
    const own = found.result.find((each) => each.customerId === customerId);
    const all = own === undefined ? [...others, { ...account, customerId, status: 'ENABLED' }] : found.result;
    return adopt(db, deps, { row, accounts: all, record }, now);
  }
  if (created.outcome === 'unknown') return undefined;
  await returnToRecorded(db, row, now);
  throw created.outcome === 'refused' ? toRefusal(created.reasons) : platformUnavailable();
}

/** Returns undefined if the outcome is still unknown. */
async function lookForAccount(
  db: Db,
  deps: AccountDeps,
  row: AccountRow,
  record: RecordChange,
  now: Date,
): Promise<Settled | undefined> {
  const found = await deps.platform.findClientAccounts(row.account_name);
  if (found.outcome !== 'read') return undefined;
  if (found.result.length > 0) return adopt(db, deps, { row, accounts: found.result, record }, now);
  const { requestMs, reconcileMs, emptyReads } = deps.times;
  const countsFrom = (row.sent_at?.getTime() ?? 0) + requestMs + row.empty_reads * reconcileMs;
  const counts = now.getTime() >= countsFrom;
  if (counts && row.empty_reads + 1 >= emptyReads) await returnToRecorded(db, row, now);
  else await recordEmptyRead(db, row, counts, now);
  return undefined;
}

/** If there are several accounts, adopts the first enabled one. */
async function adopt(
  db: Db,
  deps: AccountDeps,
  {
    row,
    accounts,
    record,
  }: { readonly row: AccountRow; readonly accounts: readonly ClientAccount[]; readonly record: RecordChange },
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
  // If nothing was adopted, another process was faster or the app was purged.
  const account = adopted ?? (await findAccountById(db, row));
  const surplus = listOthers(account?.platform_customer_id ?? '');
  if (surplus.length > 0) deps.reportSurplus({ app_id: row.app_id, customer_ids: surplus });
  return account !== undefined && isReady(account) ? { account, isNew: adopted !== undefined } : undefined;
}

const maxPerRun = 20;

/** A worker job. Searches for accounts whose request got no response, and returns the number found. */
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
    'The ad platform has not confirmed whether it created the account. Send the request again in 15 seconds; this will not create a second account.',
    { members: { campaign_state: 'absent' }, headers: { 'retry-after': '15' } },
  );

export const platformUnavailable = (retryAfterMs = 30_000) =>
  new Problem(
    'unavailable',
    'ad_platform_unavailable',
    "The ad platform is not configured or can't be reached. Try again later, or contact the operator.",
    { retrySafe: true, headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } },
  );

/** Callers choose only a new account's time zone. All other problems are the operator's to fix. */
function toRefusal(reasons: readonly Reason[]): Problem {
  const busy = reasons.find(({ kind }) => kind === 'busy');
  if (busy !== undefined) return platformUnavailable(busy.retryAfterMs);
  if (!reasons.every(({ code }) => code.startsWith('timeZoneError.')))
    return new Problem(
      'unavailable',
      'ad_platform_unavailable',
      'The ad platform rejected the new account because of a problem that only the operator can fix. No account was created. Contact the operator.',
      { headers: { 'retry-after': '300' } },
    );
  return new Problem(
    'bad_request',
    'platform_rejected',
    'The ad platform rejected the new account. Fix the problems listed in `platform_reasons`, then send the request again.',
    { members: { platform_reasons: reasons.map(({ code, message }) => ({ code, message })), account_created: false } },
  );
}
