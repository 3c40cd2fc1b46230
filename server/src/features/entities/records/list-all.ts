// Reads all records of an entity for the editors of its app, to whom the rules do not apply here
// (docs/api/entities.md#read-all-records). Nothing is written.
import type { MemberDataAccess } from '../../../core/auth/proofs.ts';
import { type Creator, findCreators } from '../../../core/identity/creators.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import type { Cursors } from '../../../kit/http/cursor.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import type { AllRecords } from '../contract.ts';
import type { Condition, DataRecord } from '../rules/rule.ts';
import type { Field, Fields } from '../schemas/field.ts';
import type { Entity } from '../schemas/schema-cache.ts';
import { maxPageBytes } from './list.ts';
import { cursorBinding, parseListQuery } from './list-query.ts';
import { presentWholeRecord, type RecordAccess, withRuleChecks } from './record.ts';
import { countMatchingRecordsUpTo, listMatchingRecords, parsePosition } from './store/list.ts';

interface AllRecordsQuery {
  readonly search?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

const maxCounted = 10_000;

export async function listAllRecords(
  db: Db,
  access: MemberDataAccess & { readonly entity: Entity },
  cursors: Cursors,
  { search, limit, cursor }: AllRecordsQuery,
  now: Date,
) {
  // Rules don't apply to the app itself, so an editor reads as the app does. The cursor stays bound to the editor.
  const reader = withRuleChecks({ ...access, principal: { kind: 'app', isManager: true } as const });
  const binding = [...cursorBinding('listAllRecords', reader), search ?? null];
  const after = cursors.open(cursor, binding, now);
  const { sort } = parseListQuery(reader, {});
  const query = search === undefined ? everything : findText(reader.entity.schema, search);
  const order = { query, sort, fields: undefined };
  const rows = await listMatchingRecords(db, reader, order, after, { limit: limit + 1, maxBytes: maxPageBytes });
  const fitting = rows.filter(({ bytes_so_far }, index) => index === 0 || bytes_so_far <= maxPageBytes).length;
  const shown = rows.slice(0, Math.min(limit, fitting));
  const creators = await findCreators(
    db,
    reader,
    shown.map(({ created_by_id }) => created_by_id),
  );
  const items = await mapInSlices(shown, (row) => ({
    record: presentWholeRecord(reader, row),
    creator: presentCreator(reader, row, creators.get(row.created_by_id)),
  }));
  const present = (_row: unknown, index: number) => items[index] as (typeof items)[number];
  const page = cursors.page(rows, shown.length, binding, now, present, ({ position }) => parsePosition(position));
  if (cursor !== undefined) return { ...page, total: null };
  const count = await countMatchingRecordsUpTo(db, reader, query, maxCounted + 1);
  if (count === undefined) return withNotes({ ...page, total: null }, { partial: ['total'] });
  return { ...page, total: { count: Math.min(count, maxCounted), or_more: count > maxCounted } };
}

const everything: Condition = { kind: 'and', parts: [] };

/** A condition that is met if one of the texts that the schema declares contains the text. */
const findText = (schema: Fields, text: string): Condition => ({
  kind: 'or',
  parts: listTextPaths(schema.fields).map((names) => ({
    kind: 'field',
    path: { names },
    test: { op: 'contains', text },
  })),
});

/** Example: a text `name`, and an object `address` with a text `city`, are `name` and `address.city`. */
const listTextPaths = (fields: ReadonlyMap<string, Field>): string[][] =>
  [...fields].flatMap(([name, { types, properties }]) => [
    ...(types.includes('string') ? [[name]] : []),
    ...(properties === undefined ? [] : listTextPaths(properties.fields).map((names) => [name, ...names])),
  ]);

function presentCreator(
  { app }: RecordAccess,
  { created_by_id: id }: DataRecord,
  creator: Creator | undefined,
): AllRecords['items'][number]['creator'] {
  if (id === 'anonymous') return { kind: 'anonymous', id: null, email: null, full_name: null };
  if (creator === undefined) return { kind: 'removed', id, email: null, full_name: null };
  const { kind, email, full_name } = creator;
  return app.hide_authorship ? { kind, id, email: null, full_name: null } : { kind, id, email, full_name };
}
