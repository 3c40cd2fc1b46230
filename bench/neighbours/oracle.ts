// Owns the judgement, outside of the product: what nobody else's answer may hold, and whether what was found at the end
// is what the journal says. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { Kind, Letter } from './kinds.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export type Markers = Readonly<Record<Letter, string>>;
export type State = Readonly<Record<string, unknown>>;

const anyOf = (words: readonly string[]): RegExp => new RegExp(words.join('|'), 'i');

/** What callers of a kind must never see: the texts of apps that are not theirs, and of those who write there. */
export const hiddenFrom = (own: Letter | null, markers: Markers, kinds: readonly Kind[]): RegExp =>
  anyOf([
    ...(Object.keys(markers) as Letter[]).filter((letter) => letter !== own).map((letter) => markers[letter]),
    ...kinds.filter((kind) => kind.own !== own).map((kind) => kind.stamp),
  ]);

/** What no caller with rights on the app has written. */
export const strangeTo = (letter: Letter, kinds: readonly Kind[]): RegExp =>
  anyOf(kinds.filter((kind) => kind.own !== letter).map((kind) => kind.stamp));

/** Where an answer holds what its caller must not see. A cursor is opened: it is only signed. */
export function leakIn(hidden: RegExp, { headers, body }: Answer): string | undefined {
  if (hidden.test(body)) return 'body';
  for (const [name, value] of Object.entries(headers)) if (hidden.test(`${value}`)) return `header ${name}`;
  const cursor = /"next_cursor":"([\w-]+)/.exec(body)?.[1];
  return cursor && hidden.test(Buffer.from(cursor, 'base64url').toString()) ? 'cursor' : undefined;
}

/** A filter on a text that only the victim has finds nothing, wherever it is asked. */
export const foundBy = (body: string): boolean => /"(count|deleted)":[1-9]|"items":\[\{/.test(body);

type Parts = Readonly<Record<string, unknown>>;
const isParts = (value: unknown): value is Parts => typeof value === 'object' && value !== null;

/** The names of the parts that differ, down to the fields. */
export function differences(expected: unknown, found: unknown): string[] {
  if (isDeepStrictEqual(expected, found)) return [];
  if (!isParts(expected) || !isParts(found)) return [''];
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  return [...names].flatMap((name) =>
    differences(expected[name], found[name]).map((inner) => `${name} ${inner}`.trim()),
  );
}

/** What was told too often, or not at all. */
export function untrue(expected: readonly string[], heard: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const each of expected) counts.set(each, (counts.get(each) ?? 0) + 1);
  for (const each of heard) counts.set(each, (counts.get(each) ?? 0) - 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([each, count]) => `${count > 0 ? 'missing' : 'extra'} ${each}`);
}
