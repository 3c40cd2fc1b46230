// Owns the form of an export: a gzipped tar with one file of JSON lines per table and a manifest that counts and hashes
// them, so that a reader can tell a whole archive from a part of one.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';

export type Row = Record<string, unknown>;

export interface Manifest {
  readonly format: 'plinth-export/1';
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly sha256: string }>>;
  /** What is not in the archive, in words. */
  readonly left_out: readonly string[];
  readonly [more: string]: unknown;
}

const tableFile = (table: string) => `tables/${table}.ndjson`;
const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

/** Writes an archive; tables come one after the other, so that only one is in memory at a time. */
export async function writeArchive(
  file: string,
  tables: AsyncIterable<{ table: string; rows: readonly Row[] }>,
  about: (counts: Record<string, number>) => { left_out: readonly string[]; [more: string]: unknown },
): Promise<Record<string, number>> {
  const archive = pack();
  const written = pipeline(archive, createGzip(), createWriteStream(file, { mode: 0o600 }));
  const parts: Record<string, { rows: number; sha256: string }> = {};
  for await (const { table, rows } of tables) {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    archive.entry({ name: tableFile(table) }, text);
    parts[table] = { rows: rows.length, sha256: sha256(text) };
  }
  const counts = Object.fromEntries(Object.entries(parts).map(([table, { rows }]) => [table, rows]));
  const manifest: Manifest = { format: 'plinth-export/1', ...about(counts), tables: parts };
  archive.entry({ name: 'manifest.json' }, JSON.stringify(manifest, null, 2));
  archive.finalize();
  await written;
  return counts;
}

/** Reads an archive whole, or says what is wrong with it. */
export async function readArchive(file: string): Promise<{ manifest: Manifest; tables: Map<string, Row[]> }> {
  const files = new Map<string, Buffer>();
  const unpacked = extract();
  unpacked.on('entry', (header, stream, next) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => {}); // told by the whole archive, below
    stream.on('data', (chunk: unknown) => chunks.push(chunk as Buffer));
    stream.on('end', () => {
      files.set(header.name, Buffer.concat(chunks));
      next();
    });
  });
  await pipeline(createReadStream(file), createGunzip(), unpacked);
  const described = files.get('manifest.json');
  if (described === undefined) throw new Error('this is not an export of Plinth: it has no manifest');
  const manifest = JSON.parse(described.toString('utf8')) as Manifest;
  if (manifest.format !== 'plinth-export/1') throw new Error(`an export of the unknown format ${manifest.format}`);
  const tables = Object.entries(manifest.tables).map(([table, part]): [string, Row[]] => {
    const text = files.get(tableFile(table));
    if (text === undefined || sha256(text) !== part.sha256)
      throw new Error(`the export is damaged: table ${table} is not what the manifest says`);
    return [
      table,
      text
        .toString('utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Row),
    ];
  });
  return { manifest, tables: new Map(tables) };
}
