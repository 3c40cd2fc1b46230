// Owns the storage quota: whoever adds bytes asks here first. What shrinks or deletes does not ask.
//
// Asking usually costs no query: each process keeps what it has read of a workspace, and adds the bytes that it admits. What
// other processes write meanwhile is seen when the usage is read again, so a workspace may exceed its quota by what it
// writes in that time. Before a refusal the usage is always read afresh.
//
//   used, of a quota of 500 MB   how long this is trusted
//   up to 400 MB (80 %)          60 s
//   above                         5 s
import { LatestMap } from '../../kit/latest-map.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { isOutsider } from '../auth/caller.ts';
import type { DataAccess, WorkspaceAccess } from '../auth/proofs.ts';
import { readStorageUsage, type StorageUsage } from './usage.ts';

export interface StorageQuota {
  /**
   * Refuses with 402 `storage_quota_exceeded` if `bytes` more would exceed the workspace's quota. Returns undefined if
   * nothing has to be read for that, so that the caller need not wait. `share`: of the quota, for what must leave room for the rest.
   */
  admit(db: Db, access: StorageAccess, bytes: number, now: Date, share?: number): Promise<void> | undefined;
}

type StorageAccess = Pick<WorkspaceAccess | DataAccess, 'workspace_id' | 'caller'>;

/** For what a worker stores: nobody is told how much the workspace stores. */
export const serviceCaller = {
  kind: 'anonymous',
  credential_id: null,
  user_id: null,
  app_user_id: null,
  email: null,
  request_id: 'service',
  ip: '',
} as const;

interface KnownUsage {
  used: number;
  readonly quota: number;
  readonly readAt: number;
}

const maxKnown = 10_000;
const trustedMs = 60_000;
const trustedNearQuotaMs = 5_000;
const nearQuota = 0.8;

export function createStorageQuota(): StorageQuota {
  const knownUsages = new LatestMap<string, KnownUsage>(maxKnown);

  const keep = (workspaceId: string, { used_bytes, quota_bytes }: StorageUsage, bytes: number, now: Date) => {
    const quota = quota_bytes ?? Number.POSITIVE_INFINITY;
    knownUsages.set(workspaceId, { used: used_bytes + bytes, quota, readAt: now.getTime() });
  };

  const readAndAdmit = async (db: Db, access: StorageAccess, bytes: number, now: Date, share: number) => {
    const usage = await readStorageUsage(db, access.workspace_id);
    if (usage.quota_bytes !== null && usage.used_bytes + bytes > usage.quota_bytes * share)
      throw quotaExceeded(access, usage);
    keep(access.workspace_id, usage, bytes, now);
  };

  return {
    admit(db, access, bytes, now, share = 1) {
      if (bytes <= 0) return undefined;
      const known = knownUsages.get(access.workspace_id);
      if (known === undefined || !isEnough(known, bytes, now, share))
        return readAndAdmit(db, access, bytes, now, share);
      known.used += bytes;
      return undefined;
    },
  };
}

function isEnough({ used, quota, readAt }: KnownUsage, bytes: number, now: Date, share: number): boolean {
  const ageMs = Math.abs(now.getTime() - readAt);
  return used + bytes <= quota * share && ageMs < (used > quota * nearQuota ? trustedNearQuotaMs : trustedMs);
}

/** Users of an app and strangers do not learn how much its workspace stores, or its plan. */
function quotaExceeded({ caller }: StorageAccess, { quota_bytes, used_bytes }: StorageUsage): Problem {
  return new Problem(
    'payment_required',
    'storage_quota_exceeded',
    "This would exceed the workspace's storage quota. Delete records or files, or ask the operator for a higher quota.",
    { members: isOutsider(caller) ? {} : { quota_bytes, used_bytes } },
  );
}
