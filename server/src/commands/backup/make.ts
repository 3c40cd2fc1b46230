// Makes a back-up: a dump of the database as of one moment, then the objects that its rows name, then the manifest. No object
// that the dump names is removed meanwhile.
import { createReadStream } from 'node:fs';
import { chmod, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listWholeChains } from '../../app/audit-chains.ts';
import { toStorageSettings } from '../../app/settings.ts';
import { type Config, ConfigError, readConfig } from '../../config.ts';
import { hasBackupLock, tryBackupLock } from '../../core/backups/lock.ts';
import { listNamedObjects, type NamedObject } from '../../core/backups/named-objects.ts';
import { findLatestMigration, readServerFacts, type ServerFacts, withSnapshot } from '../../core/backups/snapshot.ts';
import { hasTable, recordBackup } from '../../core/backups/state.ts';
import { openStorage } from '../../gateways/storage/index.ts';
import { countSecretsByKey } from '../../kit/secret-use.ts';
import { readCommit, version } from '../../release.ts';
import type { Db } from '../../tables.ts';
import { refuseFaults } from '../failures.ts';
import { listFaultsOf, readKnownKeys } from '../known-keys.ts';
import { migrateUrl } from '../migrate.ts';
import { createUnfinished, finish, flush, nameBackup, removeOldest } from './folder.ts';
import { writeKeysFile } from './keys-file.ts';
import { dumpFile, type FileDigest, formatManifest, type Manifest, manifestFile, objectsFolder } from './manifest.ts';
import { copyObject, digestOf, forEach } from './objects.ts';
import { readPassphrase } from './passphrase.ts';
import { dumpDatabase, requireProgram } from './programs.ts';
import { formatBytes, type Progress, showProgress } from './progress.ts';
import { requireOwner, untilInterrupted, withOwner } from './session.ts';

interface Choices {
  /** How many back-ups of this database are kept. Undefined for all. */
  readonly keep: number | undefined;
  /** Where a copy of the keys is written. */
  readonly keysFile: string | undefined;
  /** Leaves the objects out, because something else keeps them. */
  readonly skipObjects: boolean;
  /** Makes the back-up although objects are missing in the storage. */
  readonly allowMissing: boolean;
}

export async function makeBackup(directory: string, choices: Choices): Promise<void> {
  const config = readConfig();
  const { keysFile, keep } = choices;
  const passphrase = keysFile === undefined ? undefined : await readPassphrase({ isNew: true });
  const { folder, name, manifest } = await untilInterrupted('Nothing of the back-up was kept.', (signal) =>
    withOwner(config, async (db) => {
      await requireOwner(db);
      if (!(await tryBackupLock(db)))
        throw new ConfigError('Another back-up of this database is running. Wait until it has ended.');
      const made = await writeBackup(db, config, { ...choices, directory, signal });
      await recordBackup(db, made.name, new Date(made.manifest.taken_at));
      return made;
    }),
  );
  printSummary(folder, manifest);
  if (keysFile !== undefined && passphrase !== undefined) {
    await writeKeysFile(keysFile, passphrase, new Date());
    console.log(`Wrote the keys to ${keysFile}, encrypted with the passphrase. Keep the two apart from the back-up.`);
  }
  const removed = keep === undefined ? [] : await removeOldest(directory, name, keep, manifest);
  if (removed.length > 0) console.log(`Removed the oldest: ${removed.join(', ')}.`);
}

interface Writing extends Choices {
  readonly directory: string;
  readonly signal: AbortSignal;
}

async function writeBackup(db: Db, config: Config, { directory, signal, ...choices }: Writing) {
  const server = await readServerFacts(db);
  const pgDump = await requireProgram('pg_dump', server.server_version, `the server is ${server.server_version}`);
  const unfinished = await createUnfinished(directory);
  const progress = showProgress();
  try {
    const read = await writeDump(db, config, { folder: unfinished, signal, progress });
    const objects = choices.skipObjects
      ? { objects: null, missing_objects: [] }
      : await copyObjects(config, read.named, { folder: unfinished, signal, progress, ...choices });
    const manifest = toManifest(server, pgDump, { ...read, ...objects, commit: await readCommit() });
    await requireLock(db);
    signal.throwIfAborted();
    await writeFile(join(unfinished, manifestFile), formatManifest(manifest), { mode: 0o600, flush: true });
    const name = nameBackup(read.taken_at);
    return { folder: await finish(unfinished, directory, name), name, manifest };
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true }).catch(() => {}); // without a manifest it is no back-up
    throw error;
  } finally {
    progress.end();
  }
}

/** Without the lock, workers may have removed objects before they were copied. */
async function requireLock(db: Db): Promise<void> {
  if (!(await hasBackupLock(db).catch(() => false)))
    throw new ConfigError(
      'The connection to PostgreSQL was lost while the back-up was made, and with it the lock that keeps workers from removing objects. No back-up was made. Find out what ended the connection, and run the command again.',
    );
}

interface Place {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** Dumps the database, and reads from the same snapshot what the manifest says of it. */
function writeDump(db: Db, config: Config, { folder, signal, progress }: Place) {
  const file = join(folder, dumpFile);
  return withSnapshot(db, async ({ id, taken_at }) => {
    const keys = (await hasTable(db, 'known_keys')) ? await readKnownKeys(db) : [];
    const secrets = await countSecretsByKey(db);
    // A copy of the keys would be that of other keys, and nobody would notice until the restore.
    refuseFaults(listFaultsOf(keys, config, secrets));
    const chains = await listWholeChains(db);
    const named = await listNamedObjects(db);
    const latest_migration = await findLatestMigration(db);
    progress.begin('dumping the database', async () => formatBytes((await stat(file)).size));
    await dumpDatabase(migrateUrl(config), id, file, signal);
    await chmod(file, 0o600);
    await flush(file);
    const dump = await digestOf(createReadStream(file));
    return { taken_at, keys, secrets, chains, named, latest_migration, dump };
  });
}

type Copying = Place & Pick<Choices, 'allowMissing'>;

async function copyObjects(
  config: Config,
  named: readonly NamedObject[],
  { folder, signal, progress, allowMissing }: Copying,
): Promise<Pick<Manifest, 'objects' | 'missing_objects'>> {
  const from = openStorage(toStorageSettings(config));
  const to = openStorage({ folder: join(folder, objectsFolder) });
  const copied = new Map<string, FileDigest>();
  const missing: NamedObject[] = [];
  const damaged: string[] = [];
  progress.begin('copying objects', () => `${copied.size} of ${named.length}`);
  try {
    await forEach(named, signal, async (object, signal) => {
      const digest = await copyObject(from, to, object.key, signal);
      if (digest === undefined) missing.push(object);
      else copied.set(object.key, digest);
      if (digest !== undefined && object.sha256 !== null && digest.sha256 !== object.sha256) damaged.push(object.key);
    });
  } finally {
    from.close();
  }
  if (copied.size > 0) await rmdir(join(folder, objectsFolder, '.unfinished'));
  const lost = missing.filter(({ is_stored }) => is_stored).map(({ key }) => key);
  if (lost.length + damaged.length > 0 && !allowMissing) throw new ConfigError(describeLost(lost, damaged, config));
  const inOrder = named.flatMap(({ key }) => {
    const digest = copied.get(key);
    return digest === undefined ? [] : [[key, digest] as const];
  });
  return { objects: Object.fromEntries(inOrder), missing_objects: missing.map(({ key }) => key).sort() };
}

function describeLost(lost: readonly string[], damaged: readonly string[], config: Config): string {
  const place =
    config.STORAGE_S3_BUCKET === undefined
      ? `STORAGE_FOLDER (${config.STORAGE_FOLDER})`
      : `the bucket ${config.STORAGE_S3_BUCKET}`;
  const faults = [
    ...(lost.length > 0 ? [`${place} lacks ${lost.length} objects that the database names, such as ${lost[0]}.`] : []),
    ...(damaged.length > 0
      ? [`${damaged.length} objects in ${place} differ from what the database says of them, such as ${damaged[0]}.`]
      : []),
  ];
  return `${faults.join(' ')} See whether it is the storage of this database. If the objects are lost for good, run the command with --allow-missing. No back-up was made.`;
}

type Found = Awaited<ReturnType<typeof writeDump>> & Pick<Manifest, 'objects' | 'missing_objects' | 'commit'>;

const toManifest = (server: ServerFacts, pg_dump_version: number, found: Found): Manifest => ({
  format: 1,
  release: version,
  commit: found.commit,
  taken_at: found.taken_at.toISOString(),
  database: server.database,
  system_identifier: server.system_identifier,
  server_version: server.server_version,
  pg_dump_version,
  latest_migration: found.latest_migration,
  keys: found.keys,
  secrets: sumByKey(found.secrets),
  audit_chains: found.chains.map(({ workspace_id, last_sequence, last_hash }) => ({
    workspace_id,
    last_sequence,
    head_hash: last_hash,
  })),
  dump: found.dump,
  objects: found.objects,
  missing_objects: found.missing_objects,
});

function sumByKey(uses: readonly { key_id: string; count: number }[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { key_id, count } of uses) sums[key_id] = (sums[key_id] ?? 0) + count;
  return sums;
}

function printSummary(folder: string, { dump, objects, missing_objects, audit_chains, keys, secrets }: Manifest): void {
  const sizes = Object.values(objects ?? {}).map(({ size }) => size);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const stored = objects === null ? 'no objects' : `${sizes.length} objects (${formatBytes(total)})`;
  console.log(`Wrote ${folder}: database (${formatBytes(dump.size)}), ${stored}, ${audit_chains.length} audit chains.`);
  if (objects === null)
    console.log('The stored objects are not in it, as --skip-objects asks. Restore them by the means that keeps them.');
  if (missing_objects.length > 0)
    console.log(
      `${missing_objects.length} objects that the database names were not in the storage. The manifest lists them.`,
    );
  const idsOf = (setting: string) =>
    keys.filter((key) => key.setting === setting && !key.is_forgotten).map(({ key_id }) => key_id);
  const needed = {
    MASTER_KEYS: [...new Set([...idsOf('MASTER_KEYS'), ...Object.keys(secrets)])],
    TOKEN_PEPPERS: idsOf('TOKEN_PEPPERS'),
  };
  // A database from a release that did not remember keys may name none.
  const named = Object.entries(needed).flatMap(([name, ids]) => (ids.length === 0 ? [] : `${name} ${ids.join(', ')}`));
  console.log(`The keys are not in it. Without them it can't be used: ${named.join('; ') || 'those of .env'}.`);
}
