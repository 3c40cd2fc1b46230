// Owns the reading of records: one, a page of them, how many (docs/contract.md §5.3, §5.4).
import { withNotes } from '../../../kit/http/answer.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import type { Db } from '../../../tables.ts';
import type { Rule } from '../rules/rule.ts';
import { recordNotFound } from './change.ts';
import {
  cursorBinding,
  encodeListQuery,
  type ListQuery,
  parseListQuery,
  type RawListQuery,
  resumeListQuery,
} from './list-query.ts';
import { mayRead, type PresentedRecord, presentRecord, type RecordAccess } from './record.ts';
import { countMatchingRecords, listMatchingRecords } from './store/list.ts';
import { findPrefetchedRecord, type PrefetchedRecord } from './store/records.ts';

export async function getRecord(
  db: Db,
  access: RecordAccess & { readonly record?: PrefetchedRecord | null },
  id: string,
): Promise<PresentedRecord> {
  const record = await findPrefetchedRecord(db, access, id);
  if (record === undefined || !mayRead(access, record)) throw recordNotFound();
  return presentRecord(access, record);
}

const defaultLimit = 100;
const pageBytes = 8 * 1024 * 1024;

export async function listRecords(db: Db, access: RecordAccess, cursors: Cursors, sent: RawListQuery, now: Date) {
  const { asked, after } = resumeListQuery(cursors, access, sent, now);
  const { limit = defaultLimit } = asked;
  const asking = parseListQuery(access, asked);
  const most = { limit: limit + 1, bytes: pageBytes };
  const rows = await listMatchingRecords(db, access, readRule(access), asking, after as string[] | undefined, most);
  const fitting = rows.filter(({ bytesSoFar: bytes }, index) => index === 0 || bytes <= pageBytes).length;
  const present = (row: (typeof rows)[number]) => pickFields(presentRecord(access, row.record), asking);
  const carries = encodeListQuery(asked);
  return cursors.page(
    rows,
    Math.min(limit, fitting),
    cursorBinding('listRecords', access),
    now,
    present,
    ({ position }) => [carries, ...position],
  );
}

const pageParameters = ['sort', 'limit', 'fields', 'cursor'];

/** What a list would also take has no effect here, and is named. */
export async function countRecords(db: Db, access: RecordAccess, asked: RawListQuery) {
  const filters = Object.entries(asked).filter(([name]) => !pageParameters.includes(name));
  const { query } = parseListQuery(access, Object.fromEntries(filters));
  const ignored = Object.keys(asked).filter((name) => pageParameters.includes(name));
  return withNotes({ count: await countMatchingRecords(db, access, readRule(access), query) }, { ignored });
}

const readRule = ({ entity }: RecordAccess): Rule => entity.schema.rules.read;

function pickFields(record: PresentedRecord, { fields }: ListQuery): PresentedRecord {
  if (fields === undefined) return record;
  return Object.fromEntries(Object.entries(record).filter(([name]) => fields.has(name))) as PresentedRecord;
}
