// Compares two kept revisions of an app: files, schemas and headers.
import { isUtf8 } from 'node:buffer';
import canonicalize from 'canonicalize';
import type { AppReach } from '../../../core/auth/proofs.ts';
import { hold } from '../../../kit/process-time.ts';
import { diffFile, maxCompared } from '../../../kit/text-edit/diff.ts';
import type { Db } from '../../../tables.ts';
import type { EntityChange, HeaderChange, RevisionChange } from './contract.ts';
import {
  compareFiles,
  type FileComparison,
  findHeadersOf,
  type Headers,
  listSchemasOf,
  readFilesOf,
  type SchemaDocument,
  type StoredVersion,
} from './store.ts';

export interface Comparison {
  readonly before: number;
  readonly after: number;
}

export interface Differences {
  readonly changes: RevisionChange[];
  readonly entity_changes: EntityChange[];
  readonly header_changes: HeaderChange | null;
  /** Whether more files differ than `changes` lists. */
  readonly isTruncated: boolean;
}

export const noDifferences: Differences = { changes: [], entity_changes: [], header_changes: null, isTruncated: false };

const maxChanges = 1_000;

export async function compareRevisions(db: Db, access: AppReach, comparison: Comparison): Promise<Differences> {
  const files = await compareFiles(db, access, comparison, maxChanges);
  return {
    changes: await showChanges(db, access, comparison, files.slice(0, maxChanges)),
    entity_changes: await compareSchemas(db, access, comparison),
    header_changes: presentHeaders(await compareHeaders(db, access, comparison)),
    isTruncated: files.length > maxChanges,
  };
}

// ---- files

const shown = { fileBytes: 256 * 1024, readBytes: 4 * 1024 * 1024, fileCharacters: 60_000, characters: 400_000 };

async function showChanges(
  db: Db,
  access: AppReach,
  { before, after }: Comparison,
  files: readonly FileComparison[],
): Promise<RevisionChange[]> {
  const paths = takeWhileSmall(files);
  const [old, current] = [
    byPath(await readFilesOf(db, access, before, paths)),
    byPath(await readFilesOf(db, access, after, paths)),
  ];
  const deadline = performance.now() + maxCompared.totalMs;
  let remaining = shown.characters;
  const read = new Set(paths);
  return files.map((file) => {
    const limits = {
      timeoutMs: Math.max(0, deadline - performance.now()),
      maxCharacters: Math.min(remaining, shown.fileCharacters),
    };
    const versions = { before: old.get(file.path), after: current.get(file.path) };
    const { diff, diff_cut } = read.has(file.path)
      ? hold(() => showDiff(file, versions, limits))
      : { diff: null, diff_cut: true };
    remaining -= diff?.length ?? 0;
    const { path, before_sha256, after_sha256 } = file;
    return { path, kind: kindOf(file), before_sha256, after_sha256, diff, diff_cut };
  });
}

const byPath = (files: readonly StoredVersion[]) => new Map(files.map((file) => [file.path, file]));

const kindOf = ({ before_sha256, after_sha256 }: FileComparison) =>
  before_sha256 === null ? 'added' : after_sha256 === null ? 'removed' : 'changed';

/** The paths of the files that are small enough to be compared, up to a limit on the bytes that are read. */
function takeWhileSmall(files: readonly FileComparison[]): string[] {
  let bytes = 0;
  return files
    .filter(({ before_size, after_size }) => {
      const size = (before_size ?? 0) + (after_size ?? 0);
      if (size > shown.fileBytes || bytes + size > shown.readBytes) return false;
      bytes += size;
      return true;
    })
    .map(({ path }) => path);
}

type Limits = Parameters<typeof diffFile>[1];

/** A file that is not text has no diff, and nothing of it is cut. */
function showDiff(
  { path }: FileComparison,
  { before, after }: { before: StoredVersion | undefined; after: StoredVersion | undefined },
  limits: Limits,
): { diff: string | null; diff_cut: boolean } {
  const [oldText, newText] = [before && toText(before), after && toText(after)];
  if (oldText === null || newText === null) return { diff: null, diff_cut: false };
  const texts = { path, existed: before !== undefined, before: oldText ?? null, after: newText ?? null };
  const { text, cut } = diffFile(texts, limits);
  return { diff: text, diff_cut: cut !== undefined };
}

const toText = ({ content, encoding }: StoredVersion): string | null =>
  encoding === 'base64' || content.includes(0) || !isUtf8(content) ? null : content.toString('utf8');

// ---- schemas and headers

export async function compareSchemas(db: Db, access: AppReach, { before, after }: Comparison): Promise<EntityChange[]> {
  const [old, now] = [await readSchemas(db, access, before), await readSchemas(db, access, after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .toSorted()
    .map((name) => ({ name, before: old.get(name) ?? null, after: now.get(name) ?? null }))
    .filter(({ before, after }) => canonicalize(before) !== canonicalize(after));
}

const readSchemas = async (db: Db, access: AppReach, revision: number): Promise<Map<string, SchemaDocument>> =>
  new Map((await listSchemasOf(db, access, revision)).map(({ name, document }) => [name, document]));

interface ComparedHeaders {
  readonly before: Headers;
  readonly after: Headers;
}

const presentHeaders = (headers: ComparedHeaders | null): HeaderChange | null =>
  headers && { before: { ...headers.before }, after: { ...headers.after } };

const noHeaders: Headers = {
  csp: null,
  hsts: null,
  frame_options: null,
  content_type_options: null,
  referrer_policy: null,
  permissions_policy: null,
};

export async function compareHeaders(
  db: Db,
  access: AppReach,
  comparison: Comparison,
): Promise<ComparedHeaders | null> {
  const read = async (revision: number) => ({ ...((await findHeadersOf(db, access, revision)) ?? noHeaders) });
  const [before, after] = [await read(comparison.before), await read(comparison.after)];
  return canonicalize(before) === canonicalize(after) ? null : { before, after };
}
