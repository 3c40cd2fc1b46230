// Publishes, rolls back and unpublishes an app. File contents are uploaded first. Then a single transaction
// switches the live deployment. If the process crashes before that, the old version stays live.
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { nameCaller } from '../../core/identity/accounts.ts';
import { lockApp, saveApp, unpublished } from '../../core/identity/apps.ts';
import type { Publish } from '../../events.ts';
import { transaction } from '../../kit/db/database.ts';
import { createFairGate, type FairGate } from '../../kit/fair-gate.ts';
import { type Notes, unchanged, withNotes } from '../../kit/http/answer.ts';
import { orBusy } from '../../kit/http/request/turn.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { Manifest } from './contract.ts';
import { filesChanging, inShare, prepareSnapshot, type SnapshotDeps } from './snapshot.ts';
import { findDeployment, getFiles, insertDeployment, lockStored, removeOldDeployments } from './store.ts';
import { listWarnings, type WarningDeps, type Warnings } from './warnings.ts';

const keptDeployments = 50;

export interface PublishDeps extends SnapshotDeps, WarningDeps {
  readonly publish: Publish;
  /** False if apps would be on the host of the API, and the operator has not allowed that. */
  readonly mayPublish: boolean;
}

/** The version that is about to go live: a new snapshot, or an existing deployment. */
export interface Prepared {
  readonly deploymentId: string | undefined;
  readonly revision: number;
  readonly files: Manifest;
  readonly warnings: Warnings;
}

/** Each publish uses up to 12 MiB of memory, so only a few run at the same time, and only one per workspace. */
export const createPublishGate = (): FairGate =>
  createFairGate({ inAll: 3, perOwner: 1, maxWaitingOfOwner: 20, maxWaitMs: 60_000 });

/** Uploads the current files, or finds the deployment to roll back to. Visitors see no change yet. */
export async function preparePublish(
  db: Db,
  deps: PublishDeps,
  access: AppAccess,
  { deploymentId, gate }: { readonly deploymentId: string | undefined; readonly gate: FairGate },
  now: Date,
): Promise<Prepared> {
  if (!deps.mayPublish) throw appsDomainMissing();
  if (deploymentId !== undefined) {
    const { id, revision, files: json } = await getDeployment(db, access, deploymentId);
    const files = json as Manifest;
    const warnings = await inShare(access, deps.shares, () => listWarnings(db, deps, access, { files, leftOut: [] }));
    return { deploymentId: id, revision, files, warnings };
  }
  const leave = await orBusy(() => gate.enter(access.workspace_id));
  try {
    const snapshot = await prepareSnapshot(db, deps, access, now);
    const warnings = await inShare(access, deps.shares, () => listWarnings(db, deps, access, snapshot));
    return { ...snapshot, deploymentId: undefined, warnings };
  } finally {
    leave();
  }
}

export const appsDomainMissing = () =>
  new Problem(
    'conflict',
    'apps_domain_missing',
    "This installation has no domain for published apps, so apps can't be published or previewed. Ask the operator to set APPS_DOMAIN.",
    { retrySafe: false },
  );

async function getDeployment(db: Db, access: AppAccess, id: string) {
  const deployment = await findDeployment(db, access, id);
  if (deployment === undefined) throw notFound('deployment_not_found');
  return deployment;
}

export function publishApp(db: Db, deps: PublishDeps, access: AppAccess, prepared: Prepared, now: Date) {
  return transaction(db, async (db) => {
    const app = await lockApp(db, access);
    const { live_deployment_id: liveId, published_revision, published_at } = app;
    const before = await getFiles(db, access, liveId);
    const { warnings, isTruncated, isPartial } = prepared.warnings;
    const present = (deployment_id: string, at: Date, notes: Notes = {}) => {
      const answer = {
        app_id: app.id,
        deployment_id,
        revision: prepared.revision,
        url: deps.addresses.urlOf(app.slug),
        deployed_at: at.toISOString(),
        changes: countChanges(before, prepared.files),
        warnings,
      };
      const aboutWarnings = {
        ...(isTruncated && { truncated: true as const }),
        partial: isPartial ? ['warnings'] : [],
      };
      return withNotes(answer, { ...notes, ...aboutWarnings });
    };
    const isLive =
      prepared.deploymentId === undefined ? prepared.revision === published_revision : prepared.deploymentId === liveId;
    if (isLive && liveId !== null && published_at !== null) return present(liveId, published_at, { changed: false });

    const published_by = await nameCaller(db, access);
    const id = await getOrInsertDeployment(
      db,
      deps,
      access,
      { prepared, published: { published_revision, published_by } },
      now,
    );
    const { revision } = prepared;
    await saveApp(db, access, {
      live_deployment_id: id,
      published_revision: revision,
      published_at: now,
      published_by,
      updated_date: now,
    });
    await removeOldDeployments(db, access, keptDeployments, id);
    await audit(
      db,
      access,
      {
        type: 'app.published',
        target: { kind: 'app', id: app.id },
        app_id: app.id,
        before: { deployment_id: liveId, revision: published_revision },
        after: { deployment_id: id, revision },
      },
      now,
    );
    const { workspace_id } = app;
    await deps.publish(db, 'app.published', { workspace_id, app_id: app.id, deployment_id: id, revision }, now);
    return present(id, now);
  });
}

/** Throws 409 if a concurrent publish has already published newer files, or if blobs were swept in the meantime. */
async function getOrInsertDeployment(
  db: Db,
  { storage }: PublishDeps,
  access: AppAccess,
  {
    prepared: { deploymentId, revision, files },
    published: { published_revision, published_by },
  }: { readonly prepared: Prepared; readonly published: { published_revision: number | null; published_by: string } },
  now: Date,
): Promise<string> {
  if (deploymentId !== undefined) return (await getDeployment(db, access, deploymentId)).id; // may have been removed
  if (published_revision !== null && published_revision > revision) throw filesChanging(published_revision);
  const blobs = new Set(Object.values(files).map(({ blob }) => blob));
  if ((await lockStored(db, access, [...blobs])) < blobs.size) throw filesChanging(revision);
  const json = JSON.stringify(files);
  await storage.admit(db, access, Buffer.byteLength(json), now);
  return insertDeployment(db, access, { revision, files: json, created_by: published_by }, now);
}

function countChanges(before: Manifest, after: Manifest) {
  const paths = Object.keys(after);
  const known = paths.filter((path) => Object.hasOwn(before, path));
  return {
    added: paths.length - known.length,
    changed: known.filter((path) => before[path]?.sha256 !== after[path]?.sha256).length,
    removed: Object.keys(before).filter((path) => !Object.hasOwn(after, path)).length,
  };
}

/** Afterwards the app's address returns 404. The deployments are kept. */
export function unpublishApp(db: Db, access: AppAccess, now: Date) {
  return transaction(db, async (db) => {
    const { id, live_deployment_id, published_revision } = await lockApp(db, access);
    if (live_deployment_id === null) return unchanged({ success: true } as const);
    await saveApp(db, access, { ...unpublished, updated_date: now });
    const before = { deployment_id: live_deployment_id, revision: published_revision };
    await audit(db, access, { type: 'app.unpublished', target: { kind: 'app', id }, app_id: id, before }, now);
    return { success: true } as const;
  });
}
