// Restores a back-up into a scratch database, compares it with its manifest, and records the outcome for /metrics.
import { basename, join, resolve } from 'node:path';
import { type Config, ConfigError, readConfig } from '../../config.ts';
import { tryVerifyLock } from '../../core/backups/lock.ts';
import {
  createDatabase,
  dropDatabase,
  listUnusedDatabases,
  mayCreateDatabases,
  readServerFacts,
} from '../../core/backups/snapshot.ts';
import { recordVerified, recordVerifyFailed } from '../../core/backups/state.ts';
import type { Db } from '../../tables.ts';
import { explainFailure } from '../failures.ts';
import { migrateAll, migrateUrl } from '../migrate.ts';
import { findBackup } from './folder.ts';
import {
  listChainDifferences,
  listDamagedFiles,
  listKeyFaultsOf,
  listUnknownObjects,
  requireKnownRelease,
  type Work,
} from './load.ts';
import { dumpFile, type Manifest, readManifest } from './manifest.ts';
import { requireProgram, restoreDatabase } from './programs.ts';
import { showProgress } from './progress.ts';
import { requireOwner, untilInterrupted, withOwner } from './session.ts';

export async function verifyBackup(path: string): Promise<void> {
  const config = readConfig();
  await untilInterrupted('The back-up was not verified.', (signal) =>
    withOwner(config, async (db) => {
      await requireOwner(db);
      if (!(await tryVerifyLock(db)))
        throw new ConfigError('Another back-up of this database is being verified. Wait until that has ended.');
      const folder = await findBackup(path, await readServerFacts(db));
      const name = basename(resolve(folder));
      const progress = showProgress();
      try {
        await requireRights(db);
        const manifest = await verify(db, config, folder, { signal, progress });
        await recordVerified(db, name, new Date());
        progress.end();
        console.log(
          `${folder} is whole: ${manifest.audit_chains.length} audit chains and ${Object.keys(manifest.objects ?? {}).length} objects are those of its manifest.`,
        );
      } catch (error) {
        // A verification that was interrupted says nothing about the back-up.
        if (!signal.aborted) await recordVerifyFailed(db, name, new Date());
        throw error;
      } finally {
        progress.end();
      }
    }),
  );
}

async function requireRights(db: Db): Promise<void> {
  const { role, may } = await mayCreateDatabases(db);
  if (!may)
    throw new ConfigError(
      `--verify restores into a database of its own, and the role "${role}" may not create one. As a superuser of PostgreSQL, run: alter role "${role}" createdb`,
    );
}

/** Throws a ConfigError that lists the differences, if there are any. */
async function verify(db: Db, config: Config, folder: string, work: Work): Promise<Manifest> {
  const manifest = await readManifest(folder);
  await requireKnownRelease(manifest);
  refuseDifferences(folder, [
    ...listKeyFaultsOf(manifest, config),
    ...(await listDamagedFiles(folder, manifest, work)),
  ]);
  const { pg_dump_version } = manifest;
  await requireProgram('pg_restore', pg_dump_version, `the back-up was made with ${pg_dump_version}`);
  await withScratchDatabase(db, config, async (url) => {
    work.progress.begin('restoring into a scratch database');
    await restoreDatabase(url, join(folder, dumpFile), work.signal);
    await migrateAll(url);
    const differences = await withOwner(
      config,
      async (scratch) => [
        ...(await listChainDifferences(scratch, manifest, work)),
        ...(await listUnknownObjects(scratch, manifest)),
      ],
      url,
    );
    refuseDifferences(folder, differences);
  });
  return manifest;
}

function refuseDifferences(folder: string, differences: readonly string[]): void {
  if (differences.length > 0)
    throw new ConfigError([`${folder} can't be restored as it is:`, ...differences].join('\n  '));
}

const maxNameLength = 63;

/** Runs `work` with the URL of a new database, and drops it afterwards. */
async function withScratchDatabase<Result>(
  db: Db,
  config: Config,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const suffix = '_verify_';
  const { database } = await readServerFacts(db);
  const prefix = database.slice(0, maxNameLength - suffix.length - 8) + suffix;
  for (const abandoned of await listUnusedDatabases(db, prefix)) await dropDatabase(db, abandoned);
  const name = prefix + process.pid;
  await createDatabase(db, name);
  try {
    const url = new URL(migrateUrl(config));
    url.pathname = `/${name}`;
    return await work(url.href);
  } catch (error) {
    const explained = explainFailure(error);
    throw explained === undefined ? error : new ConfigError(explained);
  } finally {
    await dropDatabase(db, name);
  }
}
