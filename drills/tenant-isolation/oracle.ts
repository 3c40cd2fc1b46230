// Judges responses by the data they must not contain, and the final state by the journal. Contains only pure functions.
import { isDeepStrictEqual } from 'node:util';
import type { CallerKind, TenantLetter } from './caller-kinds.ts';
import type { HttpResponse } from './client.ts';
import type { Tenant } from './tenant.ts';

const anyOf = (words: readonly string[]): RegExp => new RegExp(words.join('|'), 'i');

/** Data that a kind of caller must never see. */
export interface HiddenData {
  readonly texts: RegExp;
  readonly ids: ReadonlySet<string>;
}

/**
 * Returns the data to hide from callers with rights on `own`: the other apps' texts and ids, and texts that other
 * callers wrote.
 */
export function hiddenDataFor(
  own: TenantLetter | null,
  tenants: readonly Tenant[],
  kinds: readonly CallerKind[],
): HiddenData {
  const others = tenants.filter((tenant) => tenant.letter !== own);
  const writers = kinds.filter((kind) => kind.own !== own);
  return {
    texts: anyOf([...others.map(({ marker }) => marker), ...writers.map(({ stamp }) => stamp)]),
    ids: new Set(others.flatMap(({ app_id, agent_id, kept }) => [app_id, agent_id, ...Object.values(kept).flat()])),
  };
}

/** Matches texts written by callers without rights on the app. */
export const foreignStamps = (letter: TenantLetter, kinds: readonly CallerKind[]): RegExp =>
  anyOf(kinds.filter((kind) => kind.own !== letter).map((kind) => kind.stamp));

export const idsIn = (body: string): string[] =>
  [...body.matchAll(/"id":"([\w-]{36})"/g)].map(([, id]) => id as string);

/**
 * Returns where a response contains hidden data. Cursors are decoded, because they are signed but not encrypted. An id
 * counts only if it identifies a returned object, because callers know ids and a response may repeat their input.
 */
export function findLeak({ texts, ids }: HiddenData, { headers, body }: HttpResponse): string | undefined {
  if (texts.test(body)) return 'body';
  if (idsIn(body).some((id) => ids.has(id))) return 'id';
  for (const [name, value] of Object.entries(headers)) if (texts.test(`${value}`)) return `header ${name}`;
  const cursor = /"next_cursor":"([\w-]+)/.exec(body)?.[1];
  return cursor && texts.test(Buffer.from(cursor, 'base64url').toString()) ? 'cursor' : undefined;
}

/** Returns the part of a body around the first hidden text, for the report. */
export function excerptOf({ texts }: HiddenData, body: string): string {
  const at = Math.max(0, body.search(texts) - 200);
  return body.slice(at, at + 300);
}

/** Whether a filter matched anything. A filter for a text that only the victim has must match nothing. */
export const hasMatches = (body: string): boolean => /"(count|deleted)":[1-9]|"items":\[\{/.test(body);

type Parts = Readonly<Record<string, unknown>>;
const isParts = (value: unknown): value is Parts => typeof value === 'object' && value !== null;

/** Returns the paths of all differences. */
export function differences(expected: unknown, found: unknown): string[] {
  if (isDeepStrictEqual(expected, found)) return [];
  if (!isParts(expected) || !isParts(found)) return [''];
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  return [...names].flatMap((name) =>
    differences(expected[name], found[name]).map((inner) => `${name} ${inner}`.trim()),
  );
}

/** Returns the events that were received too often or not at all. */
export function compareEvents(expected: readonly string[], received: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const each of expected) counts.set(each, (counts.get(each) ?? 0) + 1);
  for (const each of received) counts.set(each, (counts.get(each) ?? 0) - 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([each, count]) => `${count > 0 ? 'missing' : 'extra'} ${each}`);
}
