// The archive format: the file names, the file order, and the manifest that lists the files.
import { z } from 'zod';

export const archiveFormat = 'plinth-export/2';
export const manifestName = 'manifest.json';

/** Each table's files are numbered from 1: `tables/apps.1.ndjson`. */
export const nameFile = (table: string, number: number): string => `tables/${table}.${number}.ndjson`;

const ArchiveFile = z.strictObject({ file: z.string(), rows: z.int(), sha256: z.string() });
export type ArchiveFile = z.output<typeof ArchiveFile>;

/** May contain more members, in which the exporting feature describes the archive. */
export const Manifest = z.looseObject({
  format: z.literal(archiveFormat),
  tables: z.record(z.string(), z.array(ArchiveFile)),
});
export type Manifest = z.output<typeof Manifest>;
