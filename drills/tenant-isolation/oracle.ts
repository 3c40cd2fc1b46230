// Owns the judgement, outside of the product: what nobody else's answer may hold, and whether what was found at the end
// is what the journal says. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { Kind, Letter } from './kinds.ts';
import type { Place } from './place.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export type State = Readonly<Record<string, unknown>>;

const anyOf = (words: readonly string[]): RegExp => new RegExp(words.join('|'), 'i');

/** What callers must never see. */
export interface Hidden {
  readonly texts: RegExp;
  readonly ids: ReadonlySet<string>;
}

/** For those with rights on `own`: the texts and ids of the other apps, and what those who write there have written. */
export function hiddenFrom(own: Letter | null, places: readonly Place[], kinds: readonly Kind[]): Hidden {
  const others = places.filter((place) => place.letter !== own);
  const writers = kinds.filter((kind) => kind.own !== own);
  return {
    texts: anyOf([...others.map(({ marker }) => marker), ...writers.map(({ stamp }) => stamp)]),
    ids: new Set(others.flatMap(({ app_id, agent_id, kept }) => [app_id, agent_id, ...Object.values(kept).flat()])),
  };
}

/** What no caller with rights on the app has written. */
export const strangeTo = (letter: Letter, kinds: readonly Kind[]): RegExp =>
  anyOf(kinds.filter((kind) => kind.own !== letter).map((kind) => kind.stamp));

export const idsIn = (body: string): string[] =>
  [...body.matchAll(/"id":"([\w-]{36})"/g)].map(([, id]) => id as string);

/**
 * Where an answer holds what its caller must not see. A cursor is opened: it is only signed. An id counts where a thing is
 * shown under it; callers know ids, and get back those that they send.
 */
export function leakIn({ texts, ids }: Hidden, { headers, body }: Answer): string | undefined {
  if (texts.test(body)) return 'body';
  if (idsIn(body).some((id) => ids.has(id))) return 'id';
  for (const [name, value] of Object.entries(headers)) if (texts.test(`${value}`)) return `header ${name}`;
  const cursor = /"next_cursor":"([\w-]+)/.exec(body)?.[1];
  return cursor && texts.test(Buffer.from(cursor, 'base64url').toString()) ? 'cursor' : undefined;
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
