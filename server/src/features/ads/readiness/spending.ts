// Checks whether an app may spend on ads now: there is no hold, payment is set up, and the account is usable.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import {
  type AboutCampaign,
  accountBillingHold,
  accountNotActive,
  paymentMethodRequired,
  paymentProviderUnavailable,
  workspaceBillingHold,
} from '../problems.ts';
import type { AccountRow } from '../store/rows.ts';
import { type ReadinessDeps, readAccountState } from './readiness.ts';

/**
 * Checks in this order: holds, the payment provider, the card, the account. Returns whether the ad platform responded.
 * If not, the account state is the last known one. `about` is the campaign state to report in a refusal.
 */
export async function requireMaySpend(
  db: Db,
  deps: ReadinessDeps,
  access: AppAccess,
  { row, about }: { readonly row: AccountRow | undefined; readonly about: AboutCampaign },
  now: Date,
): Promise<{ readonly isPlatformLive: boolean }> {
  const [billing, account] = await Promise.all([deps.readBilling(db, access), readAccountState(db, deps, row, now)]);
  if (billing.billing_hold) throw workspaceBillingHold(about);
  if (account.isOnHold) throw accountBillingHold(about);
  if (billing.payment_provider_unavailable) throw paymentProviderUnavailable();
  if (!billing.has_payment_method) throw paymentMethodRequired();
  if (account.status === 'PENDING' || account.status === 'CLOSED') throw accountNotActive();
  return { isPlatformLive: account.isLive };
}
