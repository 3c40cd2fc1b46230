// Owns the form of an archive: the names of its files, their order, and the manifest that lists them.
import { z } from 'zod';

export const archiveFormat = 'plinth-export/2';
export const manifestName = 'manifest.json';

/** The files of a table are numbered from 1: `tables/apps.1.ndjson`. */
export const nameFile = (table: string, number: number): string => `tables/${table}.${number}.ndjson`;

const ArchiveFile = z.strictObject({ file: z.string(), rows: z.int(), sha256: z.string() });
export type ArchiveFile = z.output<typeof ArchiveFile>;

/** With further members: what the feature that writes the archive says about it. */
export const Manifest = z.looseObject({
  format: z.literal(archiveFormat),
  tables: z.record(z.string(), z.array(ArchiveFile)),
});
export type Manifest = z.output<typeof Manifest>;
