// The storage quota. Every operation that adds bytes is checked here first. Operations that only free space are
// not checked.
//
// A check usually needs no query. Each process caches the usage it has read for a workspace, and adds the bytes that it
// admits. It notices other processes' writes only when it reads the usage again, so a workspace may exceed its quota by
// the amount written in the meantime. The usage is always read again before a request is refused.
//
//   used, of a quota of 500 MB   trusted for
//   up to 400 MB (80 %)          60 s
//   above                         5 s
//
// A change of a record that does not grow adds nothing, unless a webhook is sent it (delivered.ts).
//
// If the quota is full, the oldest revisions of the workspace's apps are given up (history.ts).
import { LatestMap } from '../../kit/latest-map.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { DataAccess, WorkspaceAccess } from '../auth/proofs.ts';
import { isOutsider } from '../auth/request/caller.ts';
import { createDelivered, type StoredEvents } from './delivered.ts';
import { freeHistory } from './history.ts';
import { readStorageUsage, type StorageUsage } from './usage.ts';

export interface StorageQuota {
  /**
   * Throws 402 `storage_quota_exceeded` if another `bytes` bytes would exceed the workspace's quota. Returns undefined
   * if no query is needed, so the caller need not wait. `share` is the fraction of the quota that may be used, for data
   * that must leave room for other data.
   */
  admit(db: Db, access: StorageAccess, bytes: number, now: Date, share?: number): Promise<void> | undefined;
  /** Does the same for events of an app's records, if one of its webhooks is sent them. */
  admitEvents(db: Db, access: StorageAccess, events: StoredEvents, now: Date): Promise<void> | undefined;
  /** Returns false instead of refusing. No revision is removed to make space. */
  hasSpace(db: Db, workspaceId: string, bytes: number, now: Date): Promise<boolean> | boolean;
}

export type StorageAccess = Pick<WorkspaceAccess | DataAccess, 'workspace_id' | 'caller'>;

/** The caller for data that a worker stores. An error for this caller does not reveal the workspace's usage. */
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

  /** How many bytes could last not be freed in a workspace, and when, so a full workspace is not searched each time. */
  const vainSearches = new LatestMap<string, { readonly bytes: number; readonly at: number }>(maxKnown);

  const freeHistoryFor = async (
    db: Db,
    { workspace_id }: StorageAccess,
    missing: number,
    now: Date,
  ): Promise<boolean> => {
    const vain = vainSearches.get(workspace_id);
    if (vain !== undefined && missing >= vain.bytes && Math.abs(now.getTime() - vain.at) < trustedNearQuotaMs)
      return false;
    const isFreed = await freeHistory(db, workspace_id, missing);
    if (!isFreed) vainSearches.set(workspace_id, { bytes: missing, at: now.getTime() });
    return isFreed;
  };

  const readAndAdmit = async (db: Db, access: StorageAccess, bytes: number, share: number, now: Date) => {
    let usage = await readStorageUsage(db, access.workspace_id);
    const countMissing = () =>
      usage.quota_bytes === null ? 0 : Math.ceil(usage.used_bytes + bytes - usage.quota_bytes * share);
    // Data that must leave room for other data does not drive out revisions.
    if (share === 1 && countMissing() > 0 && (await freeHistoryFor(db, access, countMissing(), now)))
      usage = await readStorageUsage(db, access.workspace_id);
    if (countMissing() > 0) throw quotaExceeded(access, usage);
    keep(access.workspace_id, usage, bytes, now);
  };

  const admitKnown = (workspaceId: string, bytes: number, now: Date, share: number): boolean => {
    const known = knownUsages.get(workspaceId);
    if (known === undefined || !isEnough(known, bytes, now, share)) return false;
    known.used += bytes;
    return true;
  };
  const delivered = createDelivered(maxKnown);

  return {
    admit(db, access, bytes, now, share = 1) {
      if (bytes <= 0 || admitKnown(access.workspace_id, bytes, now, share)) return undefined;
      return readAndAdmit(db, access, bytes, share, now);
    },
    async hasSpace(db, workspaceId, bytes, now) {
      if (admitKnown(workspaceId, bytes, now, 1)) return true;
      const usage = await readStorageUsage(db, workspaceId);
      const isFree = usage.quota_bytes === null || usage.used_bytes + bytes <= usage.quota_bytes;
      keep(workspaceId, usage, isFree ? bytes : 0, now);
      return isFree;
    },
    // While there is space, events count as if a webhook was sent them. What is read next corrects that.
    admitEvents(db, access, events, now) {
      if (events.bytes <= 0 || admitKnown(access.workspace_id, events.bytes, now, 1)) return undefined;
      if (delivered.isKnownToBeNone(events, now)) return undefined;
      return delivered.read(db, access, events, now).then((isDelivered) => {
        if (isDelivered) return readAndAdmit(db, access, events.bytes, 1, now);
      });
    },
  };
}

function isEnough({ used, quota, readAt }: KnownUsage, bytes: number, now: Date, share: number): boolean {
  const ageMs = Math.abs(now.getTime() - readAt);
  return used + bytes <= quota * share && ageMs < (used > quota * nearQuota ? trustedNearQuotaMs : trustedMs);
}

/** The workspace's usage and quota are not revealed to app users and strangers. */
function quotaExceeded({ caller }: StorageAccess, { quota_bytes, used_bytes }: StorageUsage): Problem {
  return new Problem(
    'payment_required',
    'storage_quota_exceeded',
    "This would exceed the workspace's storage quota. Delete records, or ask the operator for a higher quota; deleted files count as long as a kept revision has them.",
    { members: isOutsider(caller) ? {} : { quota_bytes, used_bytes } },
  );
}
