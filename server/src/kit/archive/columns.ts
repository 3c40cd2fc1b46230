// Owns the description of a table's rows in an archive: which columns there are, what their values must be, and what an
// import does with ids. A column that is not described is neither exported nor accepted.
//
// Example: with app a1 → a9 and user u1 → u9, a row of `app_shares` is imported like this:
//
//   column        described as          in the archive   stored
//   workspace_id  owner                 w1               w9, whatever the archive says
//   app_id        refersTo('apps')      a1               a9
//   user_id       refersTo('people')    u1               u9
//   role          oneOf(…)              viewer           viewer
import { z } from 'zod';
import { isUuid } from '../ids.ts';
import { parseTime } from '../text.ts';
import type { Row } from './read-archive.ts';

/** A value that is stored as it is; or an id, with what becomes of it. */
export type Column = z.ZodType | IdColumn;

export interface IdColumn {
  readonly value: z.ZodType;
  readonly id:
    | { readonly becomes: 'owner' }
    /** A new id. If it is `known`, other rows may refer to it. */
    | { readonly becomes: 'new'; readonly known: boolean }
    /** The new id of a row in one of these tables. */
    | { readonly becomes: 'reference'; readonly tables: readonly string[]; readonly ifMissing: IfMissing };
}

/** What an id becomes that is not in the archive: an error, null, or an id that nothing else has. */
type IfMissing = 'refuse' | 'null' | 'replace';

export interface ArchiveTable {
  readonly columns: Readonly<Record<string, Column>>;
  /** Columns of type bytea: base64 in the archive. */
  readonly binary?: readonly string[];
  /** How many rows there may be, in the archive or per value of a column; and how much a column may add up to. */
  readonly atMost?: { readonly rows: number; readonly per?: string; readonly sumOf?: string; readonly sum?: number };
  /** Checks what concerns several columns or rows, and returns the row as it is stored. Throws an ArchiveError. */
  readonly complete?: (row: Row) => Row;
  /** Called after the last row of the archive. Throws an ArchiveError. */
  readonly end?: () => void;
}

export const uuid = z.string().refine(isUuid, 'must be an id');

export const owner: IdColumn = { value: uuid, id: { becomes: 'owner' } };
export const newRowId: IdColumn = { value: uuid, id: { becomes: 'new', known: true } };
/** The id of a row that no other row refers to. */
export const unsharedRowId: IdColumn = { value: uuid, id: { becomes: 'new', known: false } };

export const refersTo = (table: string): IdColumn => ({
  value: uuid,
  id: { becomes: 'reference', tables: [table], ifMissing: 'refuse' },
});
export const mayReferTo = (table: string): IdColumn => ({ ...refersTo(table), value: uuid.nullable() });
/** Refers to what may have been deleted since. */
export const mayHaveReferredTo = (table: string): IdColumn => ({
  value: uuid.nullable(),
  id: { becomes: 'reference', tables: [table], ifMissing: 'null' },
});

/** A time as PostgreSQL writes it in JSON. */
export const time = z
  .string()
  .refine((text) => parseTime(text) !== undefined, { error: 'must be a time from 1970 to 9999' });

/** A counter with enough room to go on counting. */
export const counter = z.int().min(0).max(1e9);
