// Entry point for apps: their life cycle from creation to purge, and their shares, files and secrets.
import type { AppAccess } from '../../core/auth/proofs.ts';
import { purgeApps, removeReleasedSlugs } from '../../core/identity/workspaces.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Db } from '../../tables.ts';
import { newFilePath } from './contract.ts';
import { applyTextChanges, maxFileBytes, type TextChange } from './files.ts';
import { purgeRevisions, removeExpiredHistory } from './revisions/purge.ts';
import { findRevisionHeaders, listRevisionFiles, readRevisionFiles, requireKept } from './revisions/revision.ts';
import { type AppDeps, appRoutes } from './routes.ts';
import { readSecrets, rewrapSecrets } from './secrets.ts';
import { hashFiles, listFileSizes, listFilesIn, listSecretNames, listVersions, readFiles } from './store.ts';

export { appArchiveTables } from './archive-rows.ts';

/** An app's files, for features that change them as part of a larger operation. */
export const createAppFiles = (storage: AppDeps['storage']) => ({
  maxFileBytes,
  findPathFault: (path: string): string | undefined => newFilePath.safeParse(path).error?.issues[0]?.message,
  list: async (db: Db, access: AppAccess) => [...(await listVersions(db, access)).values()],
  read: readFiles,
  apply: (db: Db, access: AppAccess, changes: readonly TextChange[], revision: number, now: Date) =>
    applyTextChanges(db, storage, access, { changes, revision }, now),
});

export const apps = (deps: AppDeps & { masterKeyId: string }) => ({
  routes: appRoutes(deps),
  /** The parts of an app's contents that other features read. */
  contents: { listFilesIn, readFiles, listSecretNames },
  /** The files and headers of any revision that is kept. If it is not, they throw 404 `revision_not_found`. */
  keptRevisions: {
    listFiles: listRevisionFiles,
    readFiles: readRevisionFiles,
    findHeaders: findRevisionHeaders,
    require: requireKept,
  },
  /** The files that security scans read. */
  scannedFiles: { list: listFileSizes, read: readFiles, hash: hashFiles },
  /** For requests that the app's automations and workflows send. The values must never appear in a response. */
  readSecrets: (db: Db, app: { readonly id: string }, names: readonly string[]) =>
    readSecrets(db, deps.secrets, app, names),
  /** The values of all secrets, so callers can redact them wherever they appear. */
  listSecretValues: async (db: Db, access: AppAccess): Promise<string[]> => {
    const names = await listSecretNames(db, access);
    return [...(await readSecrets(db, deps.secrets, access.app, names)).values()];
  },
  jobs: [
    { name: 'purge revisions', everyMs: 60_000, run: purgeRevisions },
    { name: 'purge history of expired apps', everyMs: 60 * 60 * 1000, run: removeExpiredHistory },
    { name: 'purge apps', everyMs: 60 * 60 * 1000, run: purgeApps },
    { name: 'remove released slugs', everyMs: 60 * 60 * 1000, run: removeReleasedSlugs },
    {
      name: 'rewrap app secrets',
      everyMs: 60_000,
      run: (db) => rewrapSecrets(db, deps.secrets, deps.masterKeyId),
    },
  ] satisfies Job[],
});
