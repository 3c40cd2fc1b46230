// What a successful answer says besides its data: parts that could not be read, fields that were ignored, warnings.
import { PlinthError } from './errors.ts';
import type { OperationNotes } from './generated/codes.ts';
import { noteHeaders } from './generated/table.ts';

export interface Notes extends OperationNotes {
  /** Parts that could not be read. A 0 or an empty list there proves nothing. */
  readonly partial: readonly string[];
  /** Fields and parameters that had no effect. */
  readonly ignored: readonly string[];
  readonly warnings: readonly string[];
  /** Whether the list was cut at its maximum. */
  readonly truncated: boolean;
  /** False if everything was already as requested. */
  readonly changed: boolean;
  /** Whether this is the stored answer to an earlier request with the same key. */
  readonly replayed: boolean;
  /** The time of the copy of the data that was read. */
  readonly asOf: string | undefined;
  readonly rateLimit: { readonly remaining: number; readonly resetSeconds: number } | undefined;
}

export type OnNotes = 'warn' | 'throw' | 'ignore' | ((notes: Notes, operation: string) => void);

export function readNotes(headers: Headers): Notes {
  const list = (name: string) =>
    headers
      .get(name)
      ?.split(',')
      .map((each) => each.trim()) ?? [];
  const [, remaining, resetSeconds] = /;r=(\d+);t=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? [];
  const own = Object.entries(noteHeaders).flatMap(([header, [name, type]]) => {
    const value = headers.get(header);
    return value === null ? [] : [[name, type === 'number' ? Number(value) : value]];
  });
  return {
    partial: list('x-partial-result'),
    ignored: list('x-ignored-fields').map(decodeURIComponent),
    warnings: list('x-warning'),
    truncated: headers.get('x-truncated') === 'true',
    changed: headers.get('x-changed') !== 'false',
    replayed: headers.get('idempotent-replayed') === 'true',
    asOf: headers.get('x-data-as-of') ?? undefined,
    rateLimit:
      remaining === undefined ? undefined : { remaining: Number(remaining), resetSeconds: Number(resetSeconds) },
    ...Object.fromEntries(own),
  };
}

/** Returns a function that reports the notes of an answer. Each text is written to the console once. */
export function createReporter(onNotes: OnNotes): (notes: Notes, operation: string, headers: Headers) => void {
  const said = new Set<string>();
  const warn = (text: string) => {
    if (said.has(text)) return;
    if (said.size < 1000) said.add(text); // the texts contain names of fields, so there may be any number
    console.warn(text);
  };
  return (notes, operation, headers) => {
    if (headers.has('deprecation')) {
      const sunset = headers.get('sunset');
      warn(`${operation}: what was used here is deprecated${sunset === null ? '' : `, and ends on ${sunset}`}`);
    }
    if (typeof onNotes === 'function') return onNotes(notes, operation);
    const texts = [
      ...notes.partial.map((part) => `${operation}: ${part} could not be read`),
      ...notes.ignored.map((field) => `${operation}: ${field} had no effect`),
    ];
    if (onNotes === 'warn') for (const text of texts) warn(text);
    if (onNotes === 'throw' && texts.length > 0)
      throw new PlinthError({ code: 'notes_refused', operation, message: texts.join('; '), details: { notes } });
  };
}
