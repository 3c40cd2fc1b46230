// The detection of closed accounts. The platform refuses all requests for a closed account and shows none of its
// ads.
import type { Change, Reading } from '../../../gateways/ad-platform/index.ts';
import type { Db } from '../../../tables.ts';
import { findAccount } from '../store/accounts.ts';

const notEnabled = 'CUSTOMER_NOT_ENABLED';

/**
 * Whether the platform reported that the account is not enabled, and the manager account last showed it as closed. Both
 * are needed, because a suspended account gives the same error and a closed account may have been reopened.
 */
export async function isClosedBy(
  db: Db,
  answer: Change<unknown> | Reading<unknown>,
  { workspace_id, app_id }: { readonly workspace_id: string; readonly app_id: string },
): Promise<boolean> {
  const isRefusal =
    answer.outcome === 'refused'
      ? answer.reasons.some(({ code }) => code.endsWith(notEnabled))
      : answer.outcome === 'unavailable' && answer.reason.endsWith(notEnabled);
  return isRefusal && (await findAccount(db, { app: { workspace_id, id: app_id } }))?.status === 'CLOSED';
}

export const accountClosed = 'The account is closed on the ad platform, so its ads are not shown.';
