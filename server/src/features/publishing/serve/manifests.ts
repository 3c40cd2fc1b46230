// Finds the file of the live deployment that an address refers to. An ordinary app's manifest is kept in memory.
// For a large app, parsing thousands of entries would block the process, so only the few entries that an address can
// refer to are read from the database and cached.
import { createByteCache } from '../../../kit/byte-cache.ts';
import { createFairGate } from '../../../kit/fair-gate.ts';
import type { Db } from '../../../tables.ts';
import type { PublishedFile } from '../contract.ts';
import { findFiles, findSmallManifest } from '../store.ts';
import { type Files, listCandidates, type Resolved, resolvePath } from './path.ts';

/** About 400 files, which are parsed in less than a millisecond. */
const maxManifestBytes = 64 * 1024;
const manifestCacheBytes = 16 * 1024 * 1024;
const lookupCacheBytes = 8 * 1024 * 1024;
/** An entry's approximate memory use. */
const bytesPerFile = 500;

interface LiveDeployment {
  /** The app's id. */
  readonly id: string;
  readonly deployment_id: string;
}

type Found = Resolved<PublishedFile>;

export interface Manifests {
  resolve(deployment: LiveDeployment, segments: readonly string[]): Found | Promise<Found>;
}

export function createManifests(db: Db): Manifests {
  const manifests = createByteCache<Files | 'large'>(manifestCacheBytes, (files) =>
    files === 'large' ? 100 : 100 + files.size * bytesPerFile,
  );
  const lookups = createByteCache<Files>(
    lookupCacheBytes,
    (files, key) => 100 + key.length + files.size * bytesPerFile,
  );
  // Limits lookups, because the database reads the whole manifest to find an entry.
  const gate = createFairGate({ inAll: 2, perOwner: 1, maxWaitingOfOwner: 200, maxWaitMs: 5_000 });

  async function inTurn<Result>(appId: string, read: () => Promise<Result | undefined>): Promise<Result> {
    const leave = await gate.enter(appId);
    try {
      const found = await read();
      // Another deployment has gone live in the meantime, and this one has been removed.
      if (found === undefined) throw new Error('the deployment no longer exists');
      return found;
    } finally {
      leave();
    }
  }

  const loadManifest = (deployment: LiveDeployment) =>
    inTurn(deployment.id, async () => {
      const files = await findSmallManifest(db, deployment, maxManifestBytes);
      return files && (files === 'large' ? files : new Map(Object.entries(files)));
    });

  const lookUp = (deployment: LiveDeployment, segments: readonly string[]) =>
    inTurn(deployment.id, () => findFiles(db, deployment, listCandidates(segments)));

  function resolveIn(
    files: Files | 'large',
    deployment: LiveDeployment,
    segments: readonly string[],
  ): Found | Promise<Found> {
    if (files !== 'large') return resolvePath(files, segments);
    const key = `${deployment.deployment_id} ${segments.join('/')}`;
    const found = lookups.get(deployment.id, key, () => lookUp(deployment, segments));
    return found instanceof Promise ? found.then((few) => resolvePath(few, segments)) : resolvePath(found, segments);
  }

  return {
    resolve(deployment, segments) {
      const files = manifests.get(deployment.id, deployment.deployment_id, () => loadManifest(deployment));
      return files instanceof Promise
        ? files.then((loaded) => resolveIn(loaded, deployment, segments))
        : resolveIn(files, deployment, segments);
    },
  };
}
