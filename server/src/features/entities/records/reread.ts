// Reads records again that an earlier request wrote, because its answer was too large to be stored with its
// Idempotency-Key (docs/api/conventions.md#large-answers).
import type { Notes } from '../../../kit/http/answer.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { isAllowed } from './change.ts';
import { type PresentedRecord, presentRecord, type RecordAccess } from './record.ts';
import { listRecordsById } from './store/records.ts';

const maxBytes = 64 * 1024 * 1024;
const maxNamed = 100;

interface RecordsAsOfNow {
  /** In the order of `ids`. Null for a record that was deleted since, or that the caller may not read. */
  readonly records: (PresentedRecord | null)[];
  readonly notes: Notes;
}

/** `prefix` is what comes before the position of a record in `X-Partial-Result`. */
export async function rereadRecords(
  db: Db,
  access: RecordAccess,
  { ids, prefix = '' }: { readonly ids: readonly string[]; readonly prefix?: string },
  now: Date,
): Promise<RecordsAsOfNow> {
  const found = await listRecordsById(db, access, ids, maxBytes);
  const presented = await mapInSlices(found, (record) =>
    isAllowed(access, record, 'read') ? presentRecord(access, record) : null,
  );
  const byId = new Map(found.map(({ id }, index) => [id, presented[index] ?? null]));
  const records = ids.map((id) => byId.get(id) ?? null);
  const missing = records.flatMap((record, index) => (record === null ? [`${prefix}${index}`] : []));
  return { records, notes: { asOf: now, partial: missing.slice(0, maxNamed) } };
}

/** Returns the ids of presented records, which are kept in place of the records. */
export const listIds = (records: readonly unknown[]): string[] =>
  (records as readonly PresentedRecord[]).map(({ id }) => id as string);

export interface Upserted {
  readonly created: number;
  readonly updated: number;
  readonly records: readonly unknown[];
}

export type KeptUpsert = Omit<Upserted, 'records'> & { readonly ids: readonly string[] };

export const keepUpsert = ({ records, ...counts }: Upserted): KeptUpsert => ({ ...counts, ids: listIds(records) });
