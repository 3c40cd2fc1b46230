// The rows of a table of records: each a record, and for those who build the app who created it.
import type { Data } from '../../data/client.ts';

export type EntityRecord = Data<'listRecords'>['items'][number];
type Creator = Data<'listAllRecords'>['items'][number]['creator'];

export interface Row {
  readonly record: EntityRecord;
  /** Undefined for a person whom only the rules' part of the records is shown. */
  readonly creator?: Creator;
}

/** Who created a record, in a few words. */
export function nameCreator({ record, creator }: Row): string {
  if (creator === undefined) return record.created_by ?? '';
  if (creator.kind === 'anonymous') return 'nobody signed in';
  if (creator.kind === 'removed') return 'removed user';
  const name = creator.full_name || creator.email;
  if (name === null) return 'not shown by this app';
  return creator.kind === 'member' ? `${name} (your team)` : name;
}

interface Total {
  readonly count: number;
  readonly or_more: boolean;
}

/** Example: "10,000 or more records". A number that was not counted is not invented. */
export function describeTotal(total: Total | null | undefined, search: string): string {
  if (total === undefined) return '';
  const what = search === '' ? '' : ` with “${search}”`;
  if (total === null) return `too many records to count${what}`;
  const number = new Intl.NumberFormat().format(total.count);
  return total.or_more
    ? `${number} or more records${what}`
    : `${number} ${total.count === 1 ? 'record' : 'records'}${what}`;
}
