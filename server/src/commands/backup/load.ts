// Loads a back-up into an empty database and compares what is then there with the manifest. Each difference is a sentence.
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { verifyAllChains } from '../../app/audit-chains.ts';
import { type Config, ConfigError } from '../../config.ts';
import { listNamedObjects } from '../../core/backups/named-objects.ts';
import { openStorage } from '../../gateways/storage/index.ts';
import { readMigrations } from '../../kit/db/migrate.ts';
import { migrationsFolder, version } from '../../release.ts';
import type { Db } from '../../tables.ts';
import { listFaultsOf } from '../known-keys.ts';
import { type ChainHead, dumpFile, type Manifest, objectsFolder } from './manifest.ts';
import { digestObject, digestOf, forEach, isSame } from './objects.ts';
import type { Progress } from './progress.ts';

export interface Work {
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** Throws a ConfigError if this release is older than the one that made the back-up. */
export async function requireKnownRelease({ release, latest_migration }: Manifest): Promise<void> {
  const known = await readMigrations(migrationsFolder);
  if (latest_migration === '' || known.some(({ name }) => name === latest_migration)) return;
  throw new ConfigError(
    `The back-up is of a newer release (${release}, with the migration ${latest_migration}) than this one (${version}). Install that release, or a newer one.`,
  );
}

/** Lists what is wrong with the configured keys. */
export const listKeyFaultsOf = ({ keys, secrets }: Manifest, config: Config): string[] =>
  listFaultsOf(
    keys,
    config,
    Object.entries(secrets).map(([key_id, count]) => ({ key_id, count })),
  );

/** Lists the files whose content is not that of the manifest. */
export async function listDamagedFiles(folder: string, manifest: Manifest, work: Work): Promise<string[]> {
  const faults: string[] = [];
  const path = join(folder, dumpFile);
  work.progress.begin('reading the files of the back-up');
  const dump = await digestOf(createReadStream(path)).catch((error: NodeJS.ErrnoException) => {
    faults.push(`${path} can't be read (${error.code}).`);
    return manifest.dump;
  });
  if (!isSame(dump, manifest.dump)) faults.push(describeDamage(path));
  const objects = openStorage({ folder: join(folder, objectsFolder) });
  await forEach(Object.entries(manifest.objects ?? {}), work.signal, async ([key, expected]) => {
    const name = join(folder, objectsFolder, key);
    const found = await digestObject(objects, key);
    if (found === undefined) faults.push(`${name} is missing.`);
    else if (!isSame(found, expected)) faults.push(describeDamage(name));
  });
  return faults.sort();
}

const describeDamage = (path: string): string =>
  `${path} was damaged or changed: its SHA-256 is not that of the manifest.`;

/** Lists the differences between the audit chains of the manifest and those of the database, all of which are checked. */
export async function listChainDifferences(db: Db, manifest: Manifest, { progress }: Work): Promise<string[]> {
  const differences: string[] = [];
  const left = new Map(manifest.audit_chains.map((chain) => [chain.workspace_id, chain]));
  let checked = 0;
  progress.begin('verifying audit chains', () => `${checked} of ${manifest.audit_chains.length}`);
  for await (const chain of verifyAllChains(db)) {
    const expected = left.get(chain.workspace_id);
    left.delete(chain.workspace_id);
    checked += 1;
    if (chain.broken_at !== null) differences.push(`${nameChain(chain)} is broken at entry ${chain.broken_at}.`);
    else if (expected === undefined) differences.push(`${nameChain(chain)} is not in the manifest.`);
    else if (expected.last_sequence !== chain.last_sequence || expected.head_hash !== chain.head_hash)
      differences.push(`${nameChain(chain)} does not end as in the manifest.`);
  }
  return [...differences, ...[...left.values()].map((chain) => `${nameChain(chain)} is not in the database.`)];
}

const nameChain = ({ workspace_id }: Pick<ChainHead, 'workspace_id'>): string =>
  workspace_id === null ? 'The audit chain of the installation' : `The audit chain of the workspace ${workspace_id}`;

/** Lists the objects that rows of the database name, but that the back-up does not have. */
export async function listUnknownObjects(db: Db, { objects, missing_objects }: Manifest): Promise<string[]> {
  if (objects === null) return [];
  const missing = new Set(missing_objects);
  const named = await listNamedObjects(db);
  return named
    .filter(({ key }) => objects[key] === undefined && !missing.has(key))
    .map(({ key }) => `The database names the object ${key}, which is not in the back-up.`);
}
