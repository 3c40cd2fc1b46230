// Owns the order of records: what `sort` may say, and the order as SQL for pages that begin after a record.
// Ascending: missing and null, false, true, numbers, texts by code points, then arrays and objects, which are all alike.

import { columnKinds } from './column-sql.ts';
import type { Loc } from './conditions.ts';
import { type Fields, findField } from './fields.ts';
import type { Parsed } from './grammar.ts';
import { type Asking, guardOf, placeNamed } from './query.ts';
import type { Place } from './rule.ts';
import { type Guard, jsonAt, textAt } from './sql.ts';
import type { SqlWriter } from './text-sql.ts';

export interface Term {
  readonly place: Place;
  readonly descending: boolean;
}

const terms = 3;
// A cursor carries them, and an address holds no more than a few thousand.
const comparedCharacters = 200;

/** `f`, `+f` or `-f`, joined by commas. */
export function parseSort(text: string, loc: Loc, fields: Fields): Parsed<{ readonly sort: readonly Term[] }> {
  const parts = text.split(',');
  if (parts.length > terms) return { faults: [{ loc, msg: `at most ${terms} fields`, type: 'too_long' }] };
  const sort = parts.flatMap((part) => {
    const place = placeNamed(part.replace(/^[+-]/, ''));
    const known = place && (place.column !== undefined || findField(fields, place.names) !== undefined);
    return known ? [{ place, descending: part.startsWith('-') }] : [];
  });
  if (sort.length === parts.length) return { sort };
  return { faults: [{ loc, msg: 'the schema has no such field', type: 'unknown_field' }] };
}

export interface Order {
  /** After `order by`. */
  readonly by: string;
  /** Where a record stands in the order: an expression that answers text[]. */
  readonly position: string;
  /** Whether a record comes after a position. */
  after(position: readonly string[]): string;
}

interface Key {
  readonly expression: string;
  readonly type: string;
  readonly descending: boolean;
}

/** Records alike in every term are in the order of their ids, in the direction of the last term. */
export function compileSort(sort: readonly Term[], asking: Asking, sql: SqlWriter): Order {
  const guard = guardOf(asking, sql);
  const id: Term = { place: { column: 'id' }, descending: sort.at(-1)?.descending ?? false };
  const keys = [...sort, id].flatMap((term) => keysOf(term, guard));
  return {
    by: keys.map(({ expression, descending }) => `${expression}${descending ? ' desc' : ''}`).join(', '),
    position: `array[${keys.map(({ expression }) => `(${expression})::text`).join(', ')}]`,
    after: (position) =>
      after(
        keys,
        keys.map(({ type }, at) => `${sql.bind(position[at])}::${type}`),
      ),
  };
}

function keysOf({ place, descending }: Term, guard: Guard): Key[] {
  if (place.column !== undefined) {
    const type = columnKinds[place.column];
    return [{ expression: `r.${place.column}${type === 'text' ? ' collate "C"' : ''}`, type, descending }];
  }
  const kind = `jsonb_typeof(${jsonAt(place.names)})`;
  const text = textAt(place.names);
  const seen = guard(place.names);
  const unseen = seen === undefined ? '' : `when (${seen}) is not true then`;
  const when = (otherwise: string, cases: string) =>
    `(case ${unseen && `${unseen} ${otherwise}`} ${cases} else ${otherwise} end)`;
  const rank = `when ${kind} = 'boolean' then 1 when ${kind} = 'number' then 2 when ${kind} = 'string' then 3
    when ${kind} in ('array', 'object') then 4`;
  const size = `when ${kind} = 'number' then ${text}::numeric when ${kind} = 'boolean' then ${text}::boolean::int`;
  return [
    { expression: when('0', rank), type: 'int', descending },
    { expression: when('0', size), type: 'numeric', descending },
    {
      expression: `${when("''", `when ${kind} = 'string' then left(${text}, ${comparedCharacters})`)} collate "C"`,
      type: 'text',
      descending,
    },
  ];
}

// Keys of one direction compare as a row, which an index can begin at.
function after(keys: readonly Key[], values: readonly string[]): string {
  const [first, ...rest] = keys;
  if (first === undefined) return 'false';
  const symbol = first.descending ? '<' : '>';
  if (keys.every(({ descending }) => descending === first.descending)) {
    return `(${keys.map(({ expression }) => expression).join(', ')}) ${symbol} (${values.join(', ')})`;
  }
  const { expression } = first;
  return `(${expression} ${symbol} ${values[0]} or (${expression} = ${values[0]} and ${after(rest, values.slice(1))}))`;
}
