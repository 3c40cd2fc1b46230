// Defines how an archived table is described: its columns, the values they accept, and how an import replaces ids.
// Columns without a description are neither exported nor accepted.
//
// Example: with app a1 → a9 and user u1 → u9, an `app_shares` row is imported like this:
//
//   column        described as          in the archive   stored
//   workspace_id  owner                 w1               w9, regardless of the archive
//   app_id        refersTo('apps')      a1               a9
//   user_id       refersTo('people')    u1               u9
//   role          oneOf(…)              viewer           viewer
import { z } from 'zod';
import { isUuid } from '../ids.ts';
import { parseTime } from '../text.ts';
import type { Row } from './read-archive.ts';

/** Either a value that is stored unchanged, or an id with its replacement rule. */
export type Column = z.ZodType | IdColumn;

export interface IdColumn {
  readonly value: z.ZodType;
  readonly id:
    | { readonly becomes: 'owner' }
    /** Replaced by a new id. Other rows may refer to a `known` id. */
    | { readonly becomes: 'new'; readonly known: boolean }
    /** Replaced by the new id of the referenced row, which is in one of these tables. */
    | { readonly becomes: 'reference'; readonly tables: readonly string[]; readonly ifMissing: IfMissing };
}

/** What an import does with a reference to a row outside the archive: fail, store null, or store a new unique id. */
type IfMissing = 'refuse' | 'null' | 'replace';

export interface ArchiveTable {
  readonly columns: Readonly<Record<string, Column>>;
  /** Columns of type bytea. The archive stores them as base64. */
  readonly binary?: readonly string[];
  /**
   * The maximum number of rows and the maximum sum of the column `sumOf`, per archive or per value of the column `per`.
   */
  readonly atMost?: { readonly rows: number; readonly per?: string; readonly sumOf?: string; readonly sum?: number };
  /** Checks rules that span several columns or rows, and returns the row to store. May throw an ArchiveError. */
  readonly complete?: (row: Row) => Row;
  /** Called after the archive's last row. May throw an ArchiveError. */
  readonly end?: () => void;
}

export const uuid = z.string().refine(isUuid, 'must be an id');

export const owner: IdColumn = { value: uuid, id: { becomes: 'owner' } };
export const newRowId: IdColumn = { value: uuid, id: { becomes: 'new', known: true } };
/** The id of a row that other rows never refer to. */
export const unsharedRowId: IdColumn = { value: uuid, id: { becomes: 'new', known: false } };

export const refersTo = (table: string): IdColumn => ({
  value: uuid,
  id: { becomes: 'reference', tables: [table], ifMissing: 'refuse' },
});
export const mayReferTo = (table: string): IdColumn => ({ ...refersTo(table), value: uuid.nullable() });
/** A reference to a row that may have been deleted. */
export const mayHaveReferredTo = (table: string): IdColumn => ({
  value: uuid.nullable(),
  id: { becomes: 'reference', tables: [table], ifMissing: 'null' },
});

/** A time as PostgreSQL writes it in JSON. */
export const time = z
  .string()
  .refine((text) => parseTime(text) !== undefined, { error: 'must be a time from 1970 to 9999' });

/** A counter. The maximum leaves room for further increments. */
export const counter = z.int().min(0).max(1e9);

/**
 * The revision since which something is as it is. Older archives have none, and 0 stands for what was there before
 * revisions were kept. Both become 1, the first revision of an app, because a row that is inserted with 0 counts as new.
 */
export const sinceRevision = counter.default(0).transform((revision) => Math.max(1, revision));
