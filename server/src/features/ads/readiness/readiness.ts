// Checks whether an app can be advertised now: billing, the account, its currency, and the landing page.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { AppAddresses } from '../../../core/identity/app-addresses.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import type { AdPlatform } from '../../../gateways/ad-platform/index.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import type { Outbound } from '../../../kit/outbound/outbound.ts';
import type { Db } from '../../../tables.ts';
import { type AccountDeps, readStatus } from '../accounts/account.ts';
import type { AccountStatus } from '../accounts/contract.ts';
import { currencyOf } from '../accounts/currencies.ts';
import { type CampaignType, isCurrency } from '../budgets/table.ts';
import { findAccount } from '../store/accounts.ts';
import { type AccountRow, isReady } from '../store/rows.ts';
import { readTrackingVerified } from '../store/tracking.ts';
import { businessNameOf } from './business-name.ts';
import type { Blocker, LaunchReadiness } from './contract.ts';
import { readLandingPage } from './landing-page.ts';

/** The workspace's payment state (features/billing). */
export interface BillingState {
  readonly has_payment_method: boolean;
  readonly payment_provider_unavailable: boolean;
  readonly billing_hold: boolean;
}

export interface ReadinessDeps extends AccountDeps {
  /** Checks whether the ad platform can be used. */
  readonly checkAccess: AdPlatform['checkAccess'];
  readonly readBilling: (db: Db, access: AppAccess) => Promise<BillingState>;
  readonly outbound: Outbound;
  readonly addresses: AppAddresses;
  readonly canCreate: readonly CampaignType[];
}

export async function getLaunchReadiness(
  db: Db,
  deps: ReadinessDeps,
  access: AppAccess,
  now: Date,
): Promise<Answer<LaunchReadiness>> {
  const row = await findAccount(db, access);
  const tracking_verified = await readTrackingVerified(db, access);
  const { country_code } = await getWorkspaceRow(db, access);
  const landing_page = deps.addresses.urlOf(access.app.slug);
  const [billing, account, page] = await Promise.all([
    deps.readBilling(db, access),
    readAccountState(db, deps, row, now),
    readLandingPage(deps.outbound, access, landing_page),
  ]);
  const currency_code = row?.currency_code ?? currencyOf(country_code, deps.defaultCurrency);
  const blockers = listBlockers(billing, account, currency_code, page === 'ready');
  const readiness = {
    has_payment_method: billing.has_payment_method,
    payment_provider_unavailable: billing.payment_provider_unavailable,
    currency_code,
    business_name: businessNameOf(access.app.name),
    landing_page,
    landing_page_ready: page === 'ready',
    account_exists: account.exists,
    timezone: row?.timezone ?? 'UTC',
    tracking_verified,
    workspace_billing_hold: billing.billing_hold,
    account_billing_hold: account.isOnHold,
    can_create: [...deps.canCreate],
    ready: blockers.length === 0,
    blockers,
  };
  const partial = [
    ...(page === 'unreadable' ? ['landing_page'] : []),
    ...(!account.isHoldKnown ? ['account_billing_hold'] : []),
  ];
  return withNotes(readiness, { partial, ...(account.asOf && { asOf: account.asOf }) });
}

export interface AccountState {
  readonly exists: boolean;
  /** Whether the platform responded. */
  readonly isLive: boolean;
  readonly isOnHold: boolean;
  readonly isHoldKnown: boolean;
  readonly status?: AccountStatus;
  /** When the account was read, if not by this call. */
  readonly asOf?: Date;
}

/** An app without an account gets one at launch. In the meantime, the platform only has to respond. */
export async function readAccountState(
  db: Db,
  deps: ReadinessDeps,
  row: AccountRow | undefined,
  now: Date,
): Promise<AccountState> {
  if (row === undefined || !isReady(row)) {
    const { outcome } = await deps.checkAccess();
    return { exists: false, isLive: outcome === 'read', isOnHold: false, isHoldKnown: true };
  }
  const { billing_status, isCurrent: isLive, isBillingCurrent, ...read } = await readStatus(db, deps, row, now);
  const isUnpaid = billing_status !== null && billing_status !== 'APPROVED';
  const isOnHold = read.status === 'SUSPENDED' || isUnpaid;
  return { ...read, exists: true, isLive, isOnHold, isHoldKnown: isBillingCurrent };
}

/** Lists the blockers in the order in which a launch checks them. */
function listBlockers(
  { billing_hold, payment_provider_unavailable, has_payment_method }: BillingState,
  { isLive, isOnHold, status }: AccountState,
  currency: string,
  hasLandingPage: boolean,
): Blocker[] {
  const causes: readonly (readonly [Blocker, boolean])[] = [
    ['workspace_billing_hold', billing_hold],
    ['account_billing_hold', isOnHold],
    ['payment_provider_unavailable', payment_provider_unavailable],
    ['payment_method_required', !has_payment_method && !payment_provider_unavailable],
    ['account_not_in_good_standing', status === 'PENDING' || status === 'CLOSED'],
    ['currency_unsupported', !isCurrency(currency)],
    ['landing_page_not_ready', !hasLandingPage],
    ['ad_platform_unavailable', !isLive],
  ];
  return causes.filter(([, applies]) => applies).map(([blocker]) => blocker);
}
