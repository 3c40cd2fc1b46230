// Owns what follows from a closed account: the platform refuses everything in it, and nothing in it is served.
import type { Change, Reading } from '../../../gateways/ad-platform/index.ts';
import type { Db } from '../../../tables.ts';
import { findAccount } from '../store/accounts.ts';

const notEnabled = 'CUSTOMER_NOT_ENABLED';

/**
 * Whether the platform has answered that the account is not enabled, and the manager account showed it as closed when it was last read.
 * Only both together are enough: a suspended account answers the same, and a closed one may have been opened again.
 */
export async function isClosedBy(
  answer: Change<unknown> | Reading<unknown>,
  db: Db,
  { workspace_id, app_id }: { readonly workspace_id: string; readonly app_id: string },
): Promise<boolean> {
  const isRefusal =
    answer.outcome === 'refused'
      ? answer.reasons.some(({ code }) => code.endsWith(notEnabled))
      : answer.outcome === 'unavailable' && answer.reason.endsWith(notEnabled);
  return isRefusal && (await findAccount(db, { app: { workspace_id, id: app_id } }))?.status === 'CLOSED';
}

export const accountClosed = 'The account is closed at the ad platform. Nothing in it is served.';
