// The manifest of a back-up: what it holds, and what it takes to restore it. It is written last, so a folder with a manifest
// is complete.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../config.ts';
import type { RememberedKey } from '../known-keys.ts';

export const manifestFile = 'manifest.json';
export const dumpFile = 'database.dump';
export const objectsFolder = 'objects';

export interface FileDigest {
  readonly size: number;
  readonly sha256: string;
}

export interface ChainHead {
  /** Null for the installation's own chain. */
  readonly workspace_id: string | null;
  readonly last_sequence: number;
  readonly head_hash: string;
}

export interface Manifest {
  readonly format: 1;
  readonly release: string;
  /** The commit of the installation, if it is a clone. */
  readonly commit: string | null;
  /** All data are those of this moment. */
  readonly taken_at: string;
  readonly database: string;
  /** That of the server's data, so back-ups of another installation are told apart. */
  readonly system_identifier: string;
  readonly server_version: number;
  readonly pg_dump_version: number;
  readonly latest_migration: string;
  /** The keys that the database was used with. Only the same key computes the same `probe`. */
  readonly keys: readonly RememberedKey[];
  /** How many encrypted secrets need each key of MASTER_KEYS. */
  readonly secrets: Readonly<Record<string, number>>;
  readonly audit_chains: readonly ChainHead[];
  readonly dump: FileDigest;
  /** The stored objects by key. Null if they were left out, because something else keeps them. */
  readonly objects: Readonly<Record<string, FileDigest>> | null;
  /** Objects that rows name, but that were not in the storage. */
  readonly missing_objects: readonly string[];
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The last field is the digest of the text without it, so damage to the manifest itself is noticed. */
export function formatManifest(manifest: Manifest): string {
  const text = JSON.stringify(manifest, null, 1);
  return `${JSON.stringify({ ...manifest, manifest_sha256: digest(text) }, null, 1)}\n`;
}

/** Throws a ConfigError if the folder is no complete back-up, or its manifest was changed. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, manifestFile);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(
      error.code === 'ENOENT' || error.code === 'ENOTDIR'
        ? `${folder} is no complete back-up: it has no ${manifestFile}. Name the folder of one, such as plinth-20261119T020000Z.`
        : `${path} can't be read (${error.code}).`,
    );
  });
  const manifest = parseManifest(text);
  if (manifest === undefined)
    throw new ConfigError(`${path} was damaged or changed after it was written. Use another back-up.`);
  if (manifest.format !== 1)
    throw new ConfigError(
      `${path} has a format that this release does not know. Use the release that wrote it, or a newer one.`,
    );
  return manifest;
}

function parseManifest(text: string): Manifest | undefined {
  try {
    const { manifest_sha256: _, ...manifest } = JSON.parse(text) as Manifest & { manifest_sha256: string };
    return formatManifest(manifest) === text ? manifest : undefined;
  } catch {
    return undefined;
  }
}
