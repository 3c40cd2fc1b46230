// Owns what a list or a count was asked for: filter, order and fields, read from the query of a request (docs/contract.md
// §5.4) or carried by a cursor.
import { type Cursors, cursorInvalid, type Position } from '../../../kit/http/cursor.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import type { Parsed } from '../rules/grammar.ts';
import { parseParameter } from '../rules/parameter.ts';
import { parseQuery } from '../rules/query.ts';
import type { Condition } from '../rules/rule.ts';
import { parseSort, type Term } from '../rules/sort.ts';
import { automaticNames } from '../schemas/field.ts';
import type { RecordAccess } from './record.ts';

/** As it was sent. */
export interface Asked {
  readonly q?: string | undefined;
  readonly sort?: string | undefined;
  readonly fields?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
  /** Fields that must equal a value. */
  readonly [name: string]: unknown;
}

export interface Wanted {
  readonly query: Condition;
  readonly sort: readonly Term[];
  /** Undefined: all of them. */
  readonly fields: ReadonlySet<string> | undefined;
}

const newestFirst: readonly Term[] = [{ place: { column: 'created_date' }, descending: true }];

/** Everything that is wrong with it at once. */
export function readAsking(access: RecordAccess, { limit: _, cursor: __, ...asked }: Asked): Wanted {
  const { q, sort, fields, ...parameters } = asked;
  const { named } = access.entity.schema;
  const faults: Fault[] = [];
  const taken = <T extends object>(parsed: Parsed<T>): T | undefined => {
    if (!('faults' in parsed)) return parsed;
    faults.push(...parsed.faults);
    return undefined;
  };
  const filters = [
    ...(q === undefined ? [] : [taken(parsedText(q, access))?.query]),
    ...Object.entries(parameters).map(([name, text]) =>
      typeof text === 'string'
        ? taken(parseParameter(name, text, ['query', name], named))?.query
        : taken<{ query: Condition }>({
            faults: [{ loc: ['query', name], msg: 'must be sent once', type: 'string_type' }],
          })?.query,
    ),
  ];
  const sorted = sort === undefined ? newestFirst : taken(parseSort(sort, ['query', 'sort'], named))?.sort;
  const chosen = fields === undefined ? undefined : taken(parseFields(fields, access))?.fields;
  if (faults.length > 0) throw new ValidationError(faults);
  return {
    query: unsigned(access, { kind: 'and', parts: filters as Condition[] }),
    sort: (sorted as readonly Term[]).map((term) => ({ ...term, place: unsignedPlace(access, term.place) })),
    fields: chosen,
  };
}

/** A filter sent as JSON in a body. */
export function readFilter(access: RecordAccess, json: unknown, loc: Fault['loc']): Condition {
  const parsed = parseQuery(json, loc, access.entity.schema.named);
  if ('faults' in parsed) throw new ValidationError(parsed.faults);
  return unsigned(access, parsed.query);
}

function parsedText(text: string, { entity }: RecordAccess): Parsed<{ readonly query: Condition }> {
  try {
    return parseQuery(JSON.parse(text), ['query', 'q'], entity.schema.named);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { faults: [{ loc: ['query', 'q'], msg: 'must be JSON', type: 'json_invalid' }] };
  }
}

function parseFields(text: string, { entity }: RecordAccess): Parsed<{ readonly fields: Set<string> }> {
  const names = text.split(',');
  const isKnown = (name: string) =>
    entity.schema.fields.has(name) || (automaticNames as readonly string[]).includes(name);
  if (names.every(isKnown)) return { fields: new Set(['id', ...names]) };
  return { faults: [{ loc: ['query', 'fields'], msg: 'the schema has no such field', type: 'unknown_field' }] };
}

/**
 * Where authors are hidden, filters and orders cannot tell them either: `created_by` leads into the data then, where no
 * schema can have a field of that name.
 */
function unsigned(access: RecordAccess, condition: Condition): Condition {
  if (!access.app.hide_authorship) return condition;
  if (condition.kind === 'user') return condition;
  if (condition.kind === 'field') return { ...condition, place: unsignedPlace(access, condition.place) };
  return { ...condition, parts: condition.parts.map((part) => unsigned(access, part)) };
}

const unsignedPlace = ({ app }: RecordAccess, place: Term['place']): Term['place'] =>
  app.hide_authorship && place.column === 'created_by' ? { names: ['created_by'] } : place;

/** What a cursor carries before its position. */
const carriedNames = (asked: Asked) =>
  Object.entries(asked)
    .filter(([name, value]) => name !== 'limit' && name !== 'cursor' && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));

export const carried = (asked: Asked): string => JSON.stringify(carriedNames(asked));

export const bindingOf = (operation: string, { app, entity, caller }: RecordAccess) => [
  operation,
  app.id,
  entity.name,
  caller.app_user_id ?? caller.credential_id ?? 'anonymous',
];

/** The page that a cursor leads to: what it carries counts, and nothing else may stand beside it. */
export function resumed(
  cursors: Cursors,
  access: RecordAccess,
  asked: Asked,
  now: Date,
): { asked: Asked; after: Position | undefined } {
  const position = cursors.open(asked.cursor, bindingOf('listRecords', access), now);
  if (position === undefined) return { asked, after: undefined };
  const [text, ...after] = position;
  const first = Object.fromEntries(JSON.parse(text as string)) as Asked;
  if (carriedNames(asked).some(([name, value]) => first[name] !== value)) throw cursorInvalid();
  return { asked: { ...first, ...(asked.limit !== undefined && { limit: asked.limit }) }, after };
}
