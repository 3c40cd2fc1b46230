// Reads an archive, which may come from an untrusted source. The archive is streamed, with limits on its size.
// It is read twice, because the manifest is at its end, and no row is used before all files have been checked against
// it.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { createGunzip } from 'node:zlib';
import { findJsonExcess } from '../json-excess.ts';
import { isStorableText } from '../text.ts';
import { ArchiveError } from './archive-error.ts';
import { type ArchiveFile, archiveFormat, Manifest, manifestName, nameFile } from './manifest.ts';
import { readTar, type TarEntry } from './tar.ts';

export type Row = Record<string, unknown>;

export interface ArchiveLimits {
  readonly unpackedBytes: number;
  /** The maximum ratio of unpacked to packed size. It is not checked for the first 100 MiB. */
  readonly ratio: number;
  readonly files: number;
}

const mebibyte = 1024 * 1024;
export const defaultLimits: ArchiveLimits = { unpackedBytes: 10 * 1024 * mebibyte, ratio: 100, files: 100_000 };
export const anySize: ArchiveLimits = {
  ...defaultLimits,
  unpackedBytes: Number.POSITIVE_INFINITY,
  ratio: Number.POSITIVE_INFINITY,
};

const freeBytes = 100 * mebibyte;
const maxManifestBytes = 16 * mebibyte;
const maxManifestValues = 1_000_000;
// PostgreSQL's output for a 256 KiB record can be 50 times as long, because it prints 1e308 with 309 digits.
const maxLineBytes = 16 * mebibyte;
const batchRows = 500;
const batchBytes = mebibyte;

/** Reads the whole archive and returns its manifest. Throws if any file doesn't match it. `tables` is in file order. */
export async function checkArchive(file: string, tables: readonly string[], limits: ArchiveLimits): Promise<Manifest> {
  const found: Record<string, ArchiveFile[]> = Object.fromEntries(tables.map((table) => [table, []]));
  let manifest: Manifest | undefined;
  for await (const { table, entry } of readFiles(file, tables, limits)) {
    if (table === undefined) manifest = await readManifest(entry);
    else found[table]?.push(await describeFile(entry));
  }
  if (manifest === undefined) throw new ArchiveError(`${manifestName} is missing`);
  for (const table of new Set([...tables, ...Object.keys(manifest.tables)])) {
    if (!isDeepStrictEqual(manifest.tables[table], found[table]))
      throw new ArchiveError(`the files of ${table} do not match ${manifestName}`);
  }
  return manifest;
}

/** Parsed rows from one file. `firstLine` is the line number of the first row. */
export interface RowBatch {
  readonly table: string;
  readonly file: string;
  readonly firstLine: number;
  readonly rows: readonly Row[];
}

/** Reads a checked archive's rows in batches of at most 500 rows and about one mebibyte. */
export async function* readRows(
  file: string,
  tables: readonly string[],
  limits: ArchiveLimits,
): AsyncGenerator<RowBatch> {
  for await (const { table, entry } of readFiles(file, tables, limits)) {
    if (table !== undefined) yield* readBatches(table, entry);
    else for await (const _ of entry.content); // skips the manifest, which has already been read
  }
}

async function* readBatches(table: string, { name, content }: TarEntry): AsyncGenerator<RowBatch> {
  let [rows, bytes, firstLine]: [Row[], number, number] = [[], 0, 1];
  for await (const line of readLines(content, name)) {
    rows.push(parseRow(line, `${name} line ${firstLine + rows.length}`));
    bytes += line.length;
    if (rows.length < batchRows && bytes < batchBytes) continue;
    yield { table, file: name, firstLine, rows };
    [rows, bytes, firstLine] = [[], 0, firstLine + rows.length];
  }
  if (rows.length > 0) yield { table, file: name, firstLine, rows };
}

const newline = 0x0a;

async function* readLines(content: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let [parts, bytes]: [Buffer[], number] = [[], 0];
  for await (const chunk of content) {
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(newline, start);
      const part = chunk.subarray(start, end < 0 ? chunk.length : end);
      parts.push(part);
      bytes += part.length;
      if (bytes > maxLineBytes) throw new ArchiveError(`${name} contains a line longer than ${maxLineBytes} bytes`);
      start += part.length + 1;
      if (end < 0) continue;
      yield parts.length === 1 ? part : Buffer.concat(parts);
      [parts, bytes] = [[], 0];
    }
  }
  if (bytes > 0) throw new ArchiveError(`${name} does not end with a complete line`);
}

function parseRow(line: Buffer, at: string): Row {
  const row = parseJson(line, at);
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new ArchiveError(`${at} is not an object`);
  return row as Row;
}

function parseJson(bytes: Buffer, at: string, maxValues?: number): unknown {
  if (!isUtf8(bytes)) throw new ArchiveError(`${at} is not valid UTF-8`);
  const excess = findJsonExcess(bytes, maxValues);
  if (excess !== undefined) throw new ArchiveError(`${at} ${excess.problem}`);
  const text = bytes.toString('utf8');
  // In valid JSON, text that PostgreSQL can't store is always escaped with `\u`.
  const refuseUnstorable = (key: string, value: unknown) => {
    if (!isStorableText(key) || (typeof value === 'string' && !isStorableText(value)))
      throw new ArchiveError(`${at} contains text that can't be stored: a NUL character or an unpaired surrogate`);
    return value;
  };
  try {
    return JSON.parse(text, text.includes('\\u') ? refuseUnstorable : undefined);
  } catch (error) {
    throw error instanceof ArchiveError ? error : new ArchiveError(`${at} is not valid JSON`);
  }
}

async function readManifest({ content, size }: TarEntry): Promise<Manifest> {
  if (size > maxManifestBytes) throw new ArchiveError(`${manifestName} is larger than ${maxManifestBytes} bytes`);
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  const json = parseJson(Buffer.concat(parts), manifestName, maxManifestValues);
  const { format } = Object(json);
  if (format !== archiveFormat)
    throw new ArchiveError(
      `its format is not ${archiveFormat}. Export it again with the release that you are importing with`,
    );
  const manifest = Manifest.safeParse(json);
  if (!manifest.success) throw new ArchiveError(`${manifestName} is not in the export format`);
  return manifest.data;
}

async function describeFile({ name, content }: TarEntry): Promise<ArchiveFile> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const part of content) {
    hash.update(part);
    for (let at = part.indexOf(newline); at >= 0; at = part.indexOf(newline, at + 1)) rows += 1;
  }
  return { file: name, rows, sha256: hash.digest('hex') };
}

/** Yields an archive's files. `table` is undefined for the manifest. Throws if a file is unknown or out of order. */
async function* readFiles(
  file: string,
  tables: readonly string[],
  limits: ArchiveLimits,
): AsyncGenerator<{ table: string | undefined; entry: TarEntry }> {
  let [at, number, files] = [0, 0, 0]; // the previous file was file `number` of tables[at]
  for await (const entry of readTar(unpack(file, limits))) {
    files += 1;
    if (files > limits.files) throw new ArchiveError(`it contains more than ${limits.files} files`);
    const next = tables.findIndex(
      (table, index) => index >= at && entry.name === nameFile(table, index === at ? number + 1 : 1),
    );
    const isManifest = entry.name === manifestName && at < tables.length;
    if (next < 0 && !isManifest)
      throw new ArchiveError(`file ${files} is unknown, repeated or out of order: ${entry.name}`);
    [at, number] = isManifest ? [tables.length, 0] : [next, next === at ? number + 1 : 1];
    yield { table: tables[at], entry };
  }
}

async function* unpack(file: string, limits: ArchiveLimits): AsyncGenerator<Buffer> {
  const packed = createReadStream(file);
  const unpacked = createGunzip({ chunkSize: 64 * 1024 });
  pipeline(packed, unpacked, () => {}); // the loop below receives the errors
  let bytes = 0;
  try {
    for await (const chunk of unpacked) {
      bytes += chunk.length;
      if (bytes > limits.unpackedBytes) throw new ArchiveError(`it unpacks to more than ${limits.unpackedBytes} bytes`);
      if (bytes > freeBytes && bytes > limits.ratio * packed.bytesRead)
        throw new ArchiveError(`it unpacks to more than ${limits.ratio} times its size`);
      yield chunk;
    }
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    throw /^Z_/.test(code) ? new ArchiveError('it is not a gzip file, or it is damaged or truncated') : error;
  }
}
