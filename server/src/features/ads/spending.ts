// Owns whether an app may spend on ads now: nobody holds it back, somebody pays, and its account can be used.
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import type { AccountRow } from './accounts/contract.ts';
import {
  type AboutCampaign,
  accountBillingHold,
  accountNotActive,
  paymentMethodRequired,
  paymentProviderUnavailable,
  workspaceBillingHold,
} from './problems.ts';
import { type ReadinessDeps, readAccountState } from './readiness/readiness.ts';

/**
 * Refuses in this order: holds, the payment provider, the card, the account. Returns whether the ad platform answered; if not, the
 * account is as it was last read. `about` is what a refusal says of the campaign.
 */
export async function requireMaySpend(
  db: Db,
  deps: ReadinessDeps,
  access: AppAccess,
  row: AccountRow | undefined,
  about: AboutCampaign,
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
