// A session's checkpoints. A checkpoint is the tree after a step, stored as a git bundle in the object storage, so
// a worker on any machine can continue after a crash.
import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type StorageQuota, serviceCaller } from '../../../core/storage/quota.ts';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import type { Clock } from '../../../kit/clock.ts';
import { type BareRepository, BundleRefused } from '../../../kit/git/types.ts';
import { newId } from '../../../kit/ids.ts';
import { Problem } from '../../../kit/problem.ts';
import { StorageUnavailable } from '../../../kit/unavailable.ts';
import type { Db } from '../../../tables.ts';
import { asWorker } from '../session/session.ts';
import { findCheckpoint, insertCheckpoint, removeCheckpoint } from '../store/checkpoints.ts';
import type { SessionRow } from '../store/sessions.ts';

export interface CheckpointDeps {
  readonly objectStorage: ObjectStorage;
  readonly storage: StorageQuota;
  readonly clock: Clock;
}

const maxBundleBytes = 200 * 1024 * 1024;

/** Must match the key that the table's trigger generates. */
const toKey = (sessionId: string, id: string): string => `coding/${sessionId}/${id}.bundle`;

export interface CheckpointPlace {
  readonly repository: BareRepository;
  /** A commit that the worker will have fetched before it restores the checkpoint. */
  readonly base: string;
  /** Holds the bundle while it is written or read. */
  readonly folder: string;
}

/**
 * Returns false if the checkpoint could not be stored because the storage is unavailable or the workspace's quota is
 * used up. The session continues, but this work is lost if its worker crashes.
 */
export async function saveCheckpoint(
  db: Db,
  { objectStorage, storage, clock }: CheckpointDeps,
  {
    session,
    place: { repository, base, folder },
    step,
    tree,
  }: { readonly session: SessionRow; readonly place: CheckpointPlace; readonly step: number; readonly tree: string },
): Promise<boolean> {
  const file = join(folder, 'checkpoint.bundle');
  try {
    await repository.createBundle(file, tree, base);
    const { size: size_bytes } = await stat(file);
    if (size_bytes > maxBundleBytes) return false;
    const { workspace_id, turn } = session;
    const now = clock.now();
    await storage.admit(db, { workspace_id, caller: serviceCaller }, size_bytes, now);
    const id = newId();
    await asWorker(db, session, (db) => insertCheckpoint(db, session, { id, turn, step, tree, size_bytes }, now));
    try {
      await objectStorage.put(toKey(session.id, id), createReadStream(file));
    } catch (error) {
      await asWorker(db, session, (db) => removeCheckpoint(db, session, id)); // the row has no object to restore
      throw error;
    }
    return true;
  } catch (error) {
    if (error instanceof StorageUnavailable || error instanceof Problem) return false;
    throw error;
  } finally {
    await rm(file, { force: true });
  }
}

/** Returns whether the repository now has the tree. */
export async function restoreCheckpoint(
  db: Db,
  { objectStorage }: CheckpointDeps,
  session: SessionRow,
  { repository, folder }: CheckpointPlace,
  tree: string,
): Promise<boolean> {
  const row = await findCheckpoint(db, session, tree);
  const stored = row && (await objectStorage.get(toKey(session.id, row.id)));
  if (stored === undefined) return false;
  const file = join(folder, 'restored.bundle');
  try {
    await pipeline(stored.content, createWriteStream(file, { mode: 0o600 }));
    return (await repository.readBundle(file, maxBundleBytes)) === tree;
  } catch (error) {
    if (error instanceof BundleRefused) return false;
    throw error;
  } finally {
    await rm(file, { force: true });
  }
}
