// The helpers that export and import tests share. They write an export, read a whole archive, and write archives
// that no export would produce.
import { createHash } from 'node:crypto';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createArchiveTables } from '../../src/app/archives.ts';
import { writeExport } from '../../src/features/workspaces/export.ts';
import type { Row } from '../../src/kit/archive/read-archive.ts';
import { buildTarHeader, padEntry, readTar, tarEnd } from '../../src/kit/archive/tar.ts';
import type { Db } from '../../src/tables.ts';

export { createArchiveTables, importWorkspace } from '../../src/app/archives.ts';
export { appendToChain, type EntryContent, type SealedEntry } from '../../src/features/audit/chain.ts';

export const exportTo = (db: Db, workspaceId: string, file: string) =>
  writeExport({ db, workspaceId, tables: createArchiveTables() }, createWriteStream(file));

export interface Archive {
  readonly manifest: Record<string, unknown>;
  readonly tables: Map<string, Row[]>;
}

/** Returns the files in a gzipped tar, by name. */
export async function readEntries(file: string): Promise<Map<string, Buffer>> {
  const entries = new Map<string, Buffer>();
  async function* bytes() {
    yield gunzipSync(readFileSync(file));
  }
  for await (const { name, content } of readTar(bytes())) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part);
    entries.set(name, Buffer.concat(parts));
  }
  return entries;
}

/** Reads a whole archive into memory. */
export async function readArchive(file: string): Promise<Archive> {
  const entries = await readEntries(file);
  const manifest = JSON.parse(String(entries.get('manifest.json')));
  const rowsOf = (files: { file: string }[]) =>
    files.flatMap((each) => String(entries.get(each.file)).trim().split('\n')).map((line) => JSON.parse(line));
  const listed: [string, { file: string }[]][] = Object.entries(manifest.tables);
  return { manifest, tables: new Map(listed.map(([table, files]) => [table, rowsOf(files)])) };
}

export type TarFile = readonly [name: string, content: string | Buffer];

/** Returns the files for an archive with these rows and a matching manifest. */
export function listFiles({ manifest, tables }: Archive): TarFile[] {
  const listed: Record<string, object[]> = {};
  const files: TarFile[] = [];
  for (const [table, rows] of tables) {
    const content = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const file = `tables/${table}.1.ndjson`;
    const sha256 = createHash('sha256').update(content).digest('hex');
    listed[table] = rows.length > 0 ? [{ file, rows: rows.length, sha256 }] : [];
    if (rows.length > 0) files.push([file, content]);
  }
  return [...files, ['manifest.json', JSON.stringify({ ...manifest, tables: listed })]];
}

export const packTar = (files: readonly TarFile[]): Buffer =>
  Buffer.concat([
    ...files.flatMap(([name, text]) => {
      const content = Buffer.from(text);
      return [buildTarHeader(name, content.length), content, padEntry(content.length)];
    }),
    tarEnd,
  ]);

export function writeFiles(file: string, files: readonly TarFile[]): string {
  writeFileSync(file, gzipSync(packTar(files)));
  return file;
}

export const writeArchive = (file: string, archive: Archive): string => writeFiles(file, listFiles(archive));
