// Owns the reading of records: one, a page of them, how many (docs/contract.md §5.3, §5.4).
import { withNotes } from '../../../kit/http/answer.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import type { Db } from '../../../tables.ts';
import type { Rule } from '../rules/rule.ts';
import { noSuchRecord } from './change.ts';
import { type Asked, bindingOf, carried, readAsking, resumed, type Wanted } from './list-query.ts';
import { mayRead, presentRecord, type RecordAccess, type Shown } from './record.ts';
import { countMatching, listMatching } from './store/list.ts';
import { firstRead, type RecordFound } from './store/records.ts';

export async function getRecord(
  db: Db,
  access: RecordAccess & { readonly record?: RecordFound | null },
  id: string,
): Promise<Shown> {
  const record = await firstRead(db, access, id);
  if (record === undefined || !mayRead(access, record)) throw noSuchRecord();
  return presentRecord(access, record);
}

const defaultLimit = 100;
const pageBytes = 8 * 1024 * 1024;

export async function listRecords(db: Db, access: RecordAccess, cursors: Cursors, sent: Asked, now: Date) {
  const { asked, after } = resumed(cursors, access, sent, now);
  const { limit = defaultLimit } = asked;
  const asking = readAsking(access, asked);
  const most = { limit: limit + 1, bytes: pageBytes };
  const rows = await listMatching(db, access, readRule(access), asking, after as string[] | undefined, most);
  const fitting = rows.filter(({ bytes }, index) => index === 0 || bytes <= pageBytes).length;
  const present = (row: (typeof rows)[number]) => only(presentRecord(access, row.record), asking);
  const carries = carried(asked);
  return cursors.page(
    rows,
    Math.min(limit, fitting),
    bindingOf('listRecords', access),
    now,
    present,
    ({ position }) => [carries, ...position],
  );
}

const ofPages = ['sort', 'limit', 'fields', 'cursor'];

/** What a list would also take has no effect here, and is named. */
export async function countRecords(db: Db, access: RecordAccess, asked: Asked) {
  const filters = Object.entries(asked).filter(([name]) => !ofPages.includes(name));
  const { query } = readAsking(access, Object.fromEntries(filters));
  const ignored = Object.keys(asked).filter((name) => ofPages.includes(name));
  return withNotes({ count: await countMatching(db, access, readRule(access), query) }, { ignored });
}

const readRule = ({ entity }: RecordAccess): Rule => entity.schema.rules.read;

function only(record: Shown, { fields }: Wanted): Shown {
  if (fields === undefined) return record;
  return Object.fromEntries(Object.entries(record).filter(([name]) => fields.has(name))) as Shown;
}
