// List cursors, which are signed, bound to the caller and the filters, and valid for a day
// (docs/api/conventions.md#lists).
import { createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Problem } from '../problem.ts';

const lifetimeMs = 24 * 60 * 60 * 1000;

/** The values that must be the same for the next page: the caller, the list and the filters. */
export type CursorBinding = readonly unknown[];
export type Position = readonly (string | number | null)[];

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
  has_more: boolean;
}

export interface Cursors {
  /**
   * Returns the cursor's position, or undefined without a cursor. Throws a 400 if the cursor is not valid for this
   * list.
   */
  open(cursor: string | undefined, binding: CursorBinding, now: Date): Position | undefined;
  /** `rows` must be read with a limit of `limit + 1`, to show whether there are more rows. */
  page<Row, Item>(
    rows: readonly Row[],
    limit: number,
    binding: CursorBinding,
    now: Date,
    present: (row: Row, index: number) => Item,
    positionOf: (row: Row) => Position,
  ): Page<Item>;
}

export function createCursors(key: KeyObject): Cursors {
  const sign = (text: string) => createHmac('sha256', key).update(`cursor:${text}`).digest().subarray(0, 16);

  const seal = (position: Position, binding: CursorBinding, now: Date): string => {
    const text = Buffer.from(JSON.stringify([position, digest(binding), now.getTime()])).toString('base64url');
    return `${text}.${sign(text).toString('base64url')}`;
  };

  return {
    open(cursor, binding, now) {
      if (cursor === undefined) return undefined;
      const [text = '', signature = ''] = cursor.split('.');
      const expected = sign(text);
      const given = Buffer.from(signature, 'base64url');
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw cursorInvalid();
      const [position, bound, madeAt] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
      if (bound !== digest(binding) || now.getTime() - madeAt > lifetimeMs) throw cursorInvalid();
      return position;
    },
    page(rows, limit, binding, now, present, positionOf) {
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const hasMore = rows.length > limit && last !== undefined;
      return {
        items: shown.map(present),
        next_cursor: hasMore ? seal(positionOf(last), binding, now) : null,
        has_more: hasMore,
      };
    },
  };
}

const digest = (binding: CursorBinding): string =>
  createHash('sha256').update(JSON.stringify(binding)).digest('base64url').slice(0, 22);

export const cursorInvalid = () =>
  new Problem(
    'bad_request',
    'cursor_invalid',
    'The cursor is not valid for this list or is more than a day old. Start again from the first page.',
  );

/** The refusal that routes with cursors declare. */
export const cursorRefusal = { status: 400, code: 'cursor_invalid' } as const;
