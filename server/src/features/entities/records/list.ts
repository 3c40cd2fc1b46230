// Reads single records, pages of records, and record counts (docs/api/entities.md#read-records).
import { withNotes } from '../../../kit/http/answer.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { mayKnowOf, recordNotFound } from './change.ts';
import {
  cursorBinding,
  encodeListQuery,
  type ListQuery,
  parseFilter,
  parseListQuery,
  type RawListQuery,
  resumeListQuery,
} from './list-query.ts';
import { type PresentedRecord, presentRecord, type RecordAccess } from './record.ts';
import { countMatchingRecords, listMatchingRecords, parsePosition } from './store/list.ts';
import { findPrefetchedRecord, type PrefetchedRecord } from './store/records.ts';

export async function getRecord(
  db: Db,
  access: RecordAccess & { readonly record?: PrefetchedRecord | null },
  id: string,
): Promise<PresentedRecord> {
  const record = await findPrefetchedRecord(db, access, id);
  if (record === undefined || !(await mayKnowOf(db, access, record, 'read'))) throw recordNotFound();
  return presentRecord(access, record);
}

const defaultLimit = 100;
/**
 * A page of this size takes 20 ms to parse and serialise, or 45 ms if it contains only numbers, so other requests don't
 * wait long.
 */
export const maxPageBytes = 1024 * 1024;

export async function listRecords(db: Db, access: RecordAccess, cursors: Cursors, sent: RawListQuery, now: Date) {
  const { raw, after } = resumeListQuery(cursors, access, sent, now);
  const { limit = defaultLimit } = raw;
  const query = parseListQuery(access, raw);
  const bounds = { limit: limit + 1, maxBytes: maxPageBytes };
  const rows = await listMatchingRecords(db, access, query, after, bounds);
  const fitting = rows.filter(({ bytes_so_far }, index) => index === 0 || bytes_so_far <= maxPageBytes).length;
  const count = Math.min(limit, fitting);
  const items = await mapInSlices(rows.slice(0, count), (row) => pickFields(presentRecord(access, row), query));
  const encodedQuery = encodeListQuery(raw);
  const binding = cursorBinding('listRecords', access);
  const present = (_row: unknown, index: number) => items[index] as PresentedRecord;
  return cursors.page(rows, count, binding, now, present, ({ position }) => [encodedQuery, ...parsePosition(position)]);
}

/**
 * Lists the newest records that match the filter. If the filter is undefined, every record matches. The list is cut off
 * at the maximum page size.
 */
export async function listNewestRecords(
  db: Db,
  access: RecordAccess,
  { query, limit }: { readonly query: unknown; readonly limit: number },
): Promise<PresentedRecord[]> {
  const { query: everything, ...order } = parseListQuery(access, {});
  const filter = query === undefined ? everything : parseFilter(access, query, ['query']);
  const bounds = { limit, maxBytes: maxPageBytes };
  const rows = await listMatchingRecords(db, access, { ...order, query: filter }, undefined, bounds);
  return mapInSlices(rows, (row) => presentRecord(access, row));
}

const pageParameters = ['sort', 'limit', 'fields', 'cursor'];

/** Ignores parameters that only apply to pages, and names them in `X-Ignored-Fields`. */
export async function countRecords(db: Db, access: RecordAccess, raw: RawListQuery) {
  const filters = Object.entries(raw).filter(([name]) => !pageParameters.includes(name));
  const { query } = parseListQuery(access, Object.fromEntries(filters));
  const ignored = Object.keys(raw).filter((name) => pageParameters.includes(name));
  return withNotes({ count: await countMatchingRecords(db, access, query) }, { ignored });
}

function pickFields(record: PresentedRecord, { fields }: ListQuery): PresentedRecord {
  if (fields === undefined) return record;
  const picked = Object.entries(record).filter(([name]) => fields.has(name));
  return { ...Object.fromEntries(picked), id: record.id };
}
