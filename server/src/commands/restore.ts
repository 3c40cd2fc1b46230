// `plinth restore`, which loads a back-up into an empty database and the storage, and compares the result with its manifest.
// What can be refused is refused before anything is written.
import { join } from 'node:path';
import pg from 'pg';
import { toStorageSettings } from '../app/settings.ts';
import { type Config, ConfigError, keyNames, readConfig, setSettings, settingText } from '../config.ts';
import { listRelations, readServerFacts } from '../core/backups/snapshot.ts';
import { type ObjectStorage, openStorage } from '../gateways/storage/index.ts';
import type { Db } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { openKeysFile } from './backup/keys-file.ts';
import {
  listChainDifferences,
  listDamagedFiles,
  listKeyFaultsOf,
  listUnknownObjects,
  requireKnownRelease,
  type Work,
} from './backup/load.ts';
import { dumpFile, type Manifest, objectsFolder, readManifest } from './backup/manifest.ts';
import { copyObject, digestObject, forEach, isSame } from './backup/objects.ts';
import { readPassphrase } from './backup/passphrase.ts';
import { requireProgram, restoreDatabase } from './backup/programs.ts';
import { showProgress } from './backup/progress.ts';
import { untilInterrupted, withOwner } from './backup/session.ts';
import { formatDatabaseCommand, refuseFaults } from './failures.ts';
import { migrateAll, migrateUrl } from './migrate.ts';
import { restoreUsage } from './usages.ts';

export async function restore(args: string[]): Promise<void> {
  const options = { keys: { type: 'string' } } as const;
  const { values, words } = parseArguments(args, { usage: restoreUsage, options, maxWords: 1 });
  const [folder] = words;
  if (folder === undefined) throw new UsageError(restoreUsage);
  if (values.keys !== undefined) await takeKeysFrom(values.keys);
  const config = readConfig();
  const manifest = await readManifest(folder);
  await requireKnownRelease(manifest);
  refuseFaults(listKeyFaultsOf(manifest, config));
  const storage = openStorage(toStorageSettings(config));
  const progress = showProgress();
  try {
    const differences = await untilInterrupted(interrupted, (signal) =>
      load({ folder, manifest, config, storage, signal, progress }),
    );
    progress.end();
    report(folder, manifest, differences);
  } finally {
    progress.end();
    storage.close();
  }
  if (values.keys !== undefined)
    console.log(
      `Processes need the keys, too. To print them as lines for .env, run: plinth keys unlock ${values.keys}`,
    );
}

const interrupted =
  'The database may be incomplete: drop it, and create it again before the next attempt. Objects that were copied stay.';

/** Uses the keys of the file. Throws a ConfigError if others are configured: processes would start with those. */
async function takeKeysFrom(file: string): Promise<void> {
  const keys = await openKeysFile(file, await readPassphrase({ isNew: false }));
  for (const name of keyNames) {
    const configured = settingText(name);
    if (configured !== undefined && configured !== keys[name])
      throw new ConfigError(`${name} is set, but not to the keys in ${file}. Remove one of them.`);
  }
  setSettings(keys);
}

interface Restoring extends Work {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly config: Config;
  readonly storage: ObjectStorage;
}

/** Returns the differences between the back-up and what is then there. */
async function load(restoring: Restoring): Promise<string[]> {
  const { folder, manifest, config, signal, progress } = restoring;
  requireOneDatabase(config);
  await requireRunRole(config);
  await withOwner(config, (db) => requireSuitable(db, restoring));
  refuseFaults(await listDamagedFiles(folder, manifest, restoring));
  refuseFaults(await listConflicts(restoring));
  progress.begin('restoring the database');
  try {
    await restoreDatabase(migrateUrl(config), join(folder, dumpFile), signal);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${error.message}\nThe database is incomplete: drop it, and create it again.`);
  }
  await putObjects(restoring);
  progress.begin('applying migrations and granting rights');
  await migrateAll(migrateUrl(config), config.DATABASE_URL);
  return withOwner(config, async (db) => [
    ...(await listChainDifferences(db, manifest, restoring)),
    ...(await listUnknownObjects(db, manifest)),
    ...(await listObjectDifferences(restoring)),
  ]);
}

/** Two URLs for different databases would restore one and give rights on the other. */
function requireOneDatabase(config: Config): void {
  const [owners, runs] = [migrateUrl(config), config.DATABASE_URL].map((url) => new pg.Client(url).database);
  if (owners !== runs)
    throw new ConfigError(
      `MIGRATE_DATABASE_URL names the database "${owners}", and DATABASE_URL "${runs}". Set both to the database that is to be restored.`,
    );
}

/** A role that does not exist, or another password, would otherwise show only after everything is loaded. */
async function requireRunRole({ DATABASE_URL }: Config): Promise<void> {
  const client = new pg.Client(DATABASE_URL);
  await client.connect();
  await client.end();
}

async function requireSuitable(db: Db, { manifest, config }: Restoring): Promise<void> {
  const { database, server_version } = await readServerFacts(db);
  const relations = await listRelations(db);
  if (relations.length > 0)
    throw new ConfigError(
      `The database "${database}" is not empty: it has ${relations[0]} and ${relations.length - 1} others. Restore into a new one: ${formatDatabaseCommand('createdb', migrateUrl(config))}`,
    );
  if (server_version < manifest.server_version)
    throw new ConfigError(
      `This is PostgreSQL ${server_version}, and the back-up is of PostgreSQL ${manifest.server_version}. Restore it on that version or a newer one.`,
    );
  const { pg_dump_version } = manifest;
  await requireProgram('pg_restore', pg_dump_version, `the back-up was made with ${pg_dump_version}`);
}

/** Objects that are there already are kept if they are the same. */
async function listConflicts({ manifest, storage, signal, progress }: Restoring): Promise<string[]> {
  const faults: string[] = [];
  progress.begin('looking at the storage');
  await forEach(Object.entries(manifest.objects ?? {}), signal, async ([key, expected]) => {
    const found = await digestObject(storage, key);
    if (found !== undefined && !isSame(found, expected))
      faults.push(
        `The storage has another object with the key ${key}. Set STORAGE_FOLDER or STORAGE_S3_BUCKET to an empty one.`,
      );
  });
  return faults.sort();
}

async function putObjects({ folder, manifest, storage, signal, progress }: Restoring): Promise<void> {
  const from = openStorage({ folder: join(folder, objectsFolder) });
  const keys = Object.keys(manifest.objects ?? {});
  let done = 0;
  progress.begin('copying objects', () => `${done} of ${keys.length}`);
  await forEach(keys, signal, async (key, signal) => {
    await copyObject(from, storage, key, signal);
    done += 1;
  });
}

/** Reads the objects back. */
async function listObjectDifferences({ manifest, storage, signal, progress }: Restoring): Promise<string[]> {
  const differences: string[] = [];
  progress.begin('comparing objects');
  await forEach(Object.entries(manifest.objects ?? {}), signal, async ([key, expected]) => {
    if (!isSame(await digestObject(storage, key), expected))
      differences.push(`The object ${key} in the storage is not that of the back-up.`);
  });
  return differences.sort();
}

/** Throws a ConfigError if there are differences. */
function report(folder: string, manifest: Manifest, differences: readonly string[]): void {
  const { audit_chains, objects, missing_objects, taken_at } = manifest;
  if (differences.length > 0)
    throw new ConfigError([`${folder} was restored, but not all is as in its manifest:`, ...differences].join('\n  '));
  const lines = [
    `Restored ${folder}, with the data of ${taken_at}.`,
    `${audit_chains.length} audit chains were verified and end as in the manifest. ${
      objects === null
        ? 'Stored objects are not in this back-up: restore them by the means that keeps them.'
        : `${Object.keys(objects).length} objects have the digests of the manifest.`
    }`,
    ...(missing_objects.length > 0
      ? [`${missing_objects.length} objects were missing when the back-up was made: missing_objects in its manifest.`]
      : []),
    'Next, start an API process and check it. Start workers only when no process of the old installation runs any more.',
    `Webhooks and mails that were sent after ${taken_at} may be sent again. What was revoked or removed since is back.`,
  ];
  console.log(lines.join('\n'));
}
