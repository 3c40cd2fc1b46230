// Parses list and count queries (docs/api/entities.md#query-language). The filter, sort order and fields come
// from the request or its cursor.
import { type Cursors, cursorInvalid, type Position } from '../../../kit/http/cursor.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import type { Parsed } from '../rules/grammar.ts';
import { parseParameter } from '../rules/query/parameter.ts';
import { parseQuery } from '../rules/query/query.ts';
import { parseSort, type SortTerm } from '../rules/query/sort.ts';
import type { Condition, Path } from '../rules/rule.ts';
import { automaticFieldNames } from '../schemas/field.ts';
import type { RecordAccess } from './record.ts';

/** The query parameters as they were sent. */
export interface RawListQuery {
  readonly q?: string | undefined;
  readonly sort?: string | undefined;
  readonly fields?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
  /** Any other parameter is a field name with the value that the field must have. */
  readonly [name: string]: unknown;
}

export interface ListQuery {
  readonly query: Condition;
  readonly sort: readonly SortTerm[];
  /** Undefined means all fields. */
  readonly fields: ReadonlySet<string> | undefined;
}

const newestFirst: readonly SortTerm[] = [{ path: { column: 'created_date' }, descending: true }];

/** Throws a single ValidationError that lists every fault. */
export function parseListQuery(access: RecordAccess, raw: RawListQuery): ListQuery {
  const { q, sort, fields, limit: _limit, cursor: _cursor, ...parameters } = raw;
  const { properties } = access.entity.schema;
  const faults: Fault[] = [];
  const unwrap = <T extends object>(parsed: Parsed<T>): T | undefined => {
    if (!('faults' in parsed)) return parsed;
    faults.push(...parsed.faults);
    return undefined;
  };
  const parsedFilters = [
    ...(q === undefined ? [] : [parseQueryText(q, access)]),
    ...Object.entries(parameters).map(([name, text]) => parseFieldParameter(name, text, access)),
  ];
  const filters = parsedFilters.flatMap((parsed) => unwrap(parsed)?.query ?? []);
  const terms = sort === undefined ? newestFirst : unwrap(parseSort(sort, ['query', 'sort'], properties))?.sort;
  const chosen = fields === undefined ? undefined : unwrap(parseFields(fields, access))?.fields;
  if (faults.length > 0) throw new ValidationError(faults);
  return {
    query: hideAuthor(access, { kind: 'and', parts: filters }),
    sort: (terms ?? []).map((term) => ({ ...term, path: hideAuthorPath(access, term.path) })),
    fields: chosen,
  };
}

/** Parses a filter that was sent as JSON in a request body. */
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
    return { faults: [{ loc: ['query', 'q'], msg: 'must be valid JSON', type: 'json_invalid' }] };
  }
}

function parseFieldParameter(
  name: string,
  text: unknown,
  { entity }: RecordAccess,
): Parsed<{ readonly query: Condition }> {
  const loc = ['query', name];
  if (typeof text === 'string') return parseParameter(name, text, loc, entity.schema.properties);
  return { faults: [{ loc, msg: 'must not be sent more than once', type: 'string_type' }] };
}

function parseFields(text: string, { entity }: RecordAccess): Parsed<{ readonly fields: Set<string> }> {
  const names = text.split(',');
  const isKnown = (name: string) => entity.schema.fields.has(name) || automaticFieldNames.includes(name);
  if (names.every(isKnown)) return { fields: new Set(['id', ...names]) };
  return { faults: [{ loc: ['query', 'fields'], msg: 'is not a field in the schema', type: 'unknown_field' }] };
}

/**
 * In apps that hide authorship, filters and sorting must not reveal authors either. `created_by` is looked up in the
 * data instead, where it is always missing, because schemas can't declare a property with that name.
 */
function hideAuthor(access: RecordAccess, condition: Condition): Condition {
  if (!access.app.hide_authorship) return condition;
  if (condition.kind === 'user') return condition;
  if (condition.kind === 'field') return { ...condition, path: hideAuthorPath(access, condition.path) };
  return { ...condition, parts: condition.parts.map((part) => hideAuthor(access, part)) };
}

const hideAuthorPath = ({ app }: RecordAccess, path: Path): Path =>
  app.hide_authorship && path.column === 'created_by' ? { names: ['created_by'] } : path;

/** The parameters that a cursor stores, in a fixed order. */
const listCursorEntries = (raw: RawListQuery) =>
  Object.entries(raw)
    .filter(([name, value]) => name !== 'limit' && name !== 'cursor' && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));

/** Encodes the query as the first part of a cursor, before the position. */
export const encodeListQuery = (raw: RawListQuery): string => JSON.stringify(listCursorEntries(raw));

export const cursorBinding = (operation: string, { app, entity, caller }: RecordAccess) => [
  operation,
  app.id,
  entity.name,
  caller.app_user_id ?? caller.credential_id ?? 'anonymous',
];

/**
 * With a cursor, the first page's filter, sort order and fields apply. Parameters sent with the cursor must have the
 * same values as before. Only `limit` may differ.
 */
export function resumeListQuery(
  cursors: Cursors,
  access: RecordAccess,
  raw: RawListQuery,
  now: Date,
): { raw: RawListQuery; after: Position | undefined } {
  const position = cursors.open(raw.cursor, cursorBinding('listRecords', access), now);
  if (position === undefined) return { raw, after: undefined };
  const [encoded, ...after] = position;
  const first: RawListQuery = Object.fromEntries(JSON.parse(String(encoded)));
  if (listCursorEntries(raw).some(([name, value]) => first[name] !== value)) throw cursorInvalid();
  return { raw: { ...first, ...(raw.limit !== undefined && { limit: raw.limit }) }, after };
}
