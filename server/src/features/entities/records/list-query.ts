// Owns what a list or a count was asked for: filter, order and fields, read from the query of a request (docs/contract.md
// §5.4) or carried by a cursor.
import { type Cursors, cursorInvalid, type Position } from '../../../kit/http/cursor.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import type { Parsed } from '../rules/grammar.ts';
import { parseParameter } from '../rules/parameter.ts';
import { parseQuery } from '../rules/query.ts';
import type { Condition } from '../rules/rule.ts';
import { parseSort, type SortTerm } from '../rules/sort.ts';
import { automaticFieldNames } from '../schemas/field.ts';
import type { RecordAccess } from './record.ts';

/** As it was sent. */
export interface RawListQuery {
  readonly q?: string | undefined;
  readonly sort?: string | undefined;
  readonly fields?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
  /** Fields that must equal a value. */
  readonly [name: string]: unknown;
}

export interface ListQuery {
  readonly query: Condition;
  readonly sort: readonly SortTerm[];
  /** Undefined: all of them. */
  readonly fields: ReadonlySet<string> | undefined;
}

const newestFirst: readonly SortTerm[] = [{ path: { column: 'created_date' }, descending: true }];

/** Everything that is wrong with it at once. */
export function parseListQuery(access: RecordAccess, { limit: _, cursor: __, ...asked }: RawListQuery): ListQuery {
  const { q, sort, fields, ...parameters } = asked;
  const { properties: named } = access.entity.schema;
  const faults: Fault[] = [];
  const unwrap = <T extends object>(parsed: Parsed<T>): T | undefined => {
    if (!('faults' in parsed)) return parsed;
    faults.push(...parsed.faults);
    return undefined;
  };
  const filters = [
    ...(q === undefined ? [] : [unwrap(parseQueryText(q, access))?.query]),
    ...Object.entries(parameters).map(([name, text]) =>
      typeof text === 'string'
        ? unwrap(parseParameter(name, text, ['query', name], named))?.query
        : unwrap<{ query: Condition }>({
            faults: [{ loc: ['query', name], msg: 'must be sent once', type: 'string_type' }],
          })?.query,
    ),
  ];
  const sorted = sort === undefined ? newestFirst : unwrap(parseSort(sort, ['query', 'sort'], named))?.sort;
  const chosen = fields === undefined ? undefined : unwrap(parseFields(fields, access))?.fields;
  if (faults.length > 0) throw new ValidationError(faults);
  return {
    query: hideAuthor(access, { kind: 'and', parts: filters as Condition[] }),
    sort: (sorted as readonly SortTerm[]).map((term) => ({ ...term, path: hideAuthorPath(access, term.path) })),
    fields: chosen,
  };
}

/** A filter sent as JSON in a body. */
export function parseFilter(access: RecordAccess, json: unknown, loc: Fault['loc']): Condition {
  const parsed = parseQuery(json, loc, access.entity.schema.properties);
  if ('faults' in parsed) throw new ValidationError(parsed.faults);
  return hideAuthor(access, parsed.query);
}

function parseQueryText(text: string, { entity }: RecordAccess): Parsed<{ readonly query: Condition }> {
  try {
    return parseQuery(JSON.parse(text), ['query', 'q'], entity.schema.properties);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { faults: [{ loc: ['query', 'q'], msg: 'must be JSON', type: 'json_invalid' }] };
  }
}

function parseFields(text: string, { entity }: RecordAccess): Parsed<{ readonly fields: Set<string> }> {
  const names = text.split(',');
  const isKnown = (name: string) =>
    entity.schema.fields.has(name) || (automaticFieldNames as readonly string[]).includes(name);
  if (names.every(isKnown)) return { fields: new Set(['id', ...names]) };
  return { faults: [{ loc: ['query', 'fields'], msg: 'the schema has no such field', type: 'unknown_field' }] };
}

/**
 * Where authors are hidden, filters and orders cannot tell them either: `created_by` leads into the data then, where no
 * schema can have a field of that name.
 */
function hideAuthor(access: RecordAccess, condition: Condition): Condition {
  if (!access.app.hide_authorship) return condition;
  if (condition.kind === 'user') return condition;
  if (condition.kind === 'field') return { ...condition, path: hideAuthorPath(access, condition.path) };
  return { ...condition, parts: condition.parts.map((part) => hideAuthor(access, part)) };
}

const hideAuthorPath = ({ app }: RecordAccess, path: SortTerm['path']): SortTerm['path'] =>
  app.hide_authorship && path.column === 'created_by' ? { names: ['created_by'] } : path;

/** What a cursor carries before its position. */
const listCursorEntries = (asked: RawListQuery) =>
  Object.entries(asked)
    .filter(([name, value]) => name !== 'limit' && name !== 'cursor' && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));

export const encodeListQuery = (asked: RawListQuery): string => JSON.stringify(listCursorEntries(asked));

export const cursorBinding = (operation: string, { app, entity, caller }: RecordAccess) => [
  operation,
  app.id,
  entity.name,
  caller.app_user_id ?? caller.credential_id ?? 'anonymous',
];

/** The page that a cursor leads to: what it carries counts, and nothing else may stand beside it. */
export function resumeListQuery(
  cursors: Cursors,
  access: RecordAccess,
  asked: RawListQuery,
  now: Date,
): { asked: RawListQuery; after: Position | undefined } {
  const position = cursors.open(asked.cursor, cursorBinding('listRecords', access), now);
  if (position === undefined) return { asked, after: undefined };
  const [text, ...after] = position;
  const first = Object.fromEntries(JSON.parse(text as string)) as RawListQuery;
  if (listCursorEntries(asked).some(([name, value]) => first[name] !== value)) throw cursorInvalid();
  return { asked: { ...first, ...(asked.limit !== undefined && { limit: asked.limit }) }, after };
}
