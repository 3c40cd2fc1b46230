// A scan's input, and the input's hash, which shows whether a result still matches the current app.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AppReach } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import type { ScanFile } from './finding.ts';

export interface ListedFile {
  readonly path: string;
  readonly size: number;
}

interface Hashed {
  readonly hash: string;
  readonly count: number;
}

/** One of the app's entities, with its saved schema. */
export interface ScannedSchema {
  readonly name: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly revision: number;
}

export interface InputDeps {
  readonly files: {
    list(db: Db, access: AppReach): Promise<readonly ListedFile[]>;
    read(db: Db, access: AppReach, paths: readonly string[]): Promise<readonly { path: string; content: Buffer }[]>;
    hash(db: Db, access: AppReach): Promise<Hashed>;
  };
  readonly schemas: {
    list(db: Db, access: AppReach): Promise<readonly ScannedSchema[]>;
    hash(db: Db, access: AppReach): Promise<Hashed>;
  };
  readonly readSecuritySettings: (
    db: Db,
    access: AppReach,
  ) => Promise<{ readonly static_code_enabled: boolean; readonly headers: object }>;
}

export interface Input {
  readonly hash: string;
  /** Whether the app has neither files nor schemas. */
  readonly isEmpty: boolean;
}

/** Hashes the files, the schemas with their rules, the headers in the settings, and whether the app is published. */
export async function hashInput(
  db: Db,
  { files, schemas, readSecuritySettings }: InputDeps,
  access: AppReach,
): Promise<Input> {
  const [hashedFiles, hashedSchemas] = [await files.hash(db, access), await schemas.hash(db, access)];
  const { headers } = await readSecuritySettings(db, access);
  const parts = [hashedFiles.hash, hashedSchemas.hash, canonicalize(headers), String(isPublished(access))];
  return {
    hash: createHash('sha256').update(parts.join('\0')).digest('hex'),
    isEmpty: hashedFiles.count === 0 && hashedSchemas.count === 0,
  };
}

export const isPublished = ({ app }: AppReach): boolean => app.live_deployment_id !== null;

const maxBatchFiles = 100;
const maxBatchBytes = 8 * 1024 * 1024;

/**
 * Reads text files in batches, ordered by path. Whether a file is text depends on its content, because the declared
 * encoding comes from the uploader. `onUnread` is called for a file that is not text despite its name.
 */
export async function* readTextFiles(
  db: Db,
  { files }: InputDeps,
  access: AppReach,
  listed: readonly ListedFile[],
  onUnread: (path: string) => void = () => {},
): AsyncGenerator<ScanFile> {
  for (const batch of toBatches(listed)) {
    const read = await files.read(
      db,
      access,
      batch.map(({ path }) => path),
    );
    for (const { path, content } of read)
      if (isText(content)) yield { path, content: content.toString('utf8') };
      else if (textNames.test(path)) onUnread(path);
  }
}

const isText = (content: Buffer): boolean => !content.subarray(0, 8_192).includes(0) && isUtf8(content);

const textNames =
  /\.(?:[cm]?[jt]sx?|json|ya?ml|toml|env|html?|vue|svelte|astro|css|md|txt|sh|sql|py|rb|go|php|lock|npmrc)$|(?:^|\/)\.env[^/]*$/i;

function* toBatches(files: readonly ListedFile[]): Generator<ListedFile[]> {
  let batch: ListedFile[] = [];
  let bytes = 0;
  for (const file of files) {
    if (batch.length === maxBatchFiles || (batch.length > 0 && bytes + file.size > maxBatchBytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(file);
    bytes += file.size;
  }
  if (batch.length > 0) yield batch;
}
