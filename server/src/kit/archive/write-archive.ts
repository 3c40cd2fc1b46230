// Writes an archive: a gzipped tar of JSON Lines files, with any number of files per table. The manifest at the
// end lists the files with their row counts and hashes. The hashes detect damage but not tampering, so an import must
// check the contents.
import { createHash } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type ArchiveFile, archiveFormat, type Manifest, manifestName, nameFile } from './manifest.ts';
import { buildTarHeader, padEntry, tarEnd } from './tar.ts';

/** Rows from one table, each as a line of JSON. A table's rows must be consecutive. */
export interface TableLines {
  readonly table: string;
  readonly lines: readonly string[];
}

const fileBytes = 1024 * 1024; // the line that exceeds this is its file's last line

/**
 * Keeps only one file of rows in memory at a time. `describe` is called when all rows have been read, for the other
 * members of the manifest. Returns the number of rows per table.
 */
export async function writeArchive(
  destination: Writable,
  rows: AsyncIterable<TableLines>,
  describe: () => Readonly<Record<string, unknown>>,
): Promise<Record<string, number>> {
  const tables: Record<string, ArchiveFile[]> = {};
  const entries = Readable.from(packEntries(rows, tables, describe), { objectMode: false });
  await pipeline(entries, createGzip(), destination);
  return Object.fromEntries(
    Object.entries(tables).map(([table, files]) => [table, files.reduce((sum, each) => sum + each.rows, 0)]),
  );
}

async function* packEntries(
  rows: AsyncIterable<TableLines>,
  tables: Record<string, ArchiveFile[]>,
  describe: () => Readonly<Record<string, unknown>>,
): AsyncGenerator<Buffer> {
  for await (const { table, lines } of joinLines(rows)) {
    tables[table] ??= [];
    if (lines.length === 0) continue;
    const content = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const name = nameFile(table, tables[table].length + 1);
    tables[table].push({
      file: name,
      rows: lines.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    yield* packFile(name, content);
  }
  const manifest: Manifest = { format: archiveFormat, ...describe(), tables };
  yield* packFile(manifestName, Buffer.from(JSON.stringify(manifest, null, 1)));
  yield tarEnd;
}

function* packFile(name: string, content: Buffer): Generator<Buffer> {
  yield buildTarHeader(name, content.length);
  yield content;
  yield padEntry(content.length);
}

/** Combines small batches into files of about one mebibyte. A table without rows still appears in the manifest. */
async function* joinLines(rows: AsyncIterable<TableLines>): AsyncGenerator<TableLines> {
  let [table, lines, bytes]: [string | undefined, string[], number] = [undefined, [], 0];
  for await (const read of rows) {
    if (table !== undefined && table !== read.table) {
      yield { table, lines };
      [lines, bytes] = [[], 0];
    }
    table = read.table;
    for (const line of read.lines) {
      lines.push(line);
      bytes += line.length;
      if (bytes < fileBytes) continue;
      yield { table, lines };
      [lines, bytes] = [[], 0];
    }
  }
  if (table !== undefined) yield { table, lines };
}
