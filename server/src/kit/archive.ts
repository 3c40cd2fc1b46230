// Owns the format of an export: a gzipped tar of JSON lines, a few files per table, and a manifest with their row
// counts and hashes. The hashes detect damage and missing files, not manipulation: an import must check the contents.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';

export type Row = Record<string, unknown>;

interface Chunk {
  readonly file: string;
  readonly rows: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly format: 'plinth-export/1';
  readonly tables: Readonly<Record<string, readonly Chunk[]>>;
  /** Descriptions of what the archive does not contain. */
  readonly left_out: readonly string[];
  readonly [more: string]: unknown;
}

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

/** Holds one chunk of rows in memory at a time. Returns the number of rows per table. */
export async function writeArchive(
  file: string,
  chunks: AsyncIterable<{ table: string; rows: readonly Row[] }>,
  about: { left_out: readonly string[]; [more: string]: unknown },
): Promise<Record<string, number>> {
  const archive = pack();
  const written = pipeline(archive, createGzip(), createWriteStream(file, { mode: 0o600 }));
  const add = (name: string, text: string) =>
    new Promise<void>((resolve, reject) =>
      archive.entry({ name }, text, (error) => (error ? reject(error) : resolve())),
    );
  const tables: Record<string, Chunk[]> = {};
  for await (const { table, rows } of chunks) {
    tables[table] ??= [];
    const part = tables[table];
    if (rows.length === 0) continue;
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const chunk = { file: `tables/${table}.${part.length + 1}.ndjson`, rows: rows.length, sha256: sha256(text) };
    await add(chunk.file, text);
    part.push(chunk);
  }
  const manifest: Manifest = { format: 'plinth-export/1', ...about, tables };
  await add('manifest.json', JSON.stringify(manifest, null, 2));
  archive.finalize();
  await written;
  return Object.fromEntries(
    Object.entries(tables).map(([table, part]) => [table, part.reduce((sum, { rows }) => sum + rows, 0)]),
  );
}

/** Reads the whole archive. Throws if it is damaged or incomplete. */
export async function readArchive(file: string): Promise<{ manifest: Manifest; tables: Map<string, Row[]> }> {
  const files = await unpack(file);
  const manifestBytes = files.get('manifest.json');
  if (manifestBytes === undefined) throw new Error('this file is not an export of Plinth: manifest.json is missing');
  const manifest = JSON.parse(manifestBytes.toString('utf8')) as Manifest;
  if (manifest.format !== 'plinth-export/1') throw new Error(`the export has the unknown format ${manifest.format}`);
  const readRows = (chunk: Chunk): Row[] => {
    const text = files.get(chunk.file);
    if (text === undefined || sha256(text) !== chunk.sha256)
      throw new Error(`the export is damaged: ${chunk.file} is missing or differs from the manifest`);
    return text
      .toString('utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Row);
  };
  return {
    manifest,
    tables: new Map(Object.entries(manifest.tables).map(([table, part]) => [table, part.flatMap(readRows)])),
  };
}

async function unpack(file: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const unpacking = extract();
  unpacking.on('entry', (header, stream, next) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => {}); // the pipeline below reports it
    stream.on('data', (chunk: unknown) => chunks.push(chunk as Buffer));
    stream.on('end', () => {
      files.set(header.name, Buffer.concat(chunks));
      next();
    });
  });
  await pipeline(createReadStream(file), createGunzip(), unpacking);
  return files;
}
