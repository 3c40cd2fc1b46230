// Owns what a handler may say besides a body: a status, and notes that travel as headers so that bodies stay as
// the specification has them (contract §0.9).
import type { Readable } from 'node:stream';
import type { AnyDb } from '../db/database.ts';

export interface Notes {
  /** A successful call that changed nothing. */
  readonly changed?: false;
  /** A cap cut the list. */
  readonly truncated?: true;
  /** Parts that could not be read: a 0 or an empty list there is not evidence. */
  readonly partial?: readonly string[];
  readonly warnings?: readonly string[];
  /** Fields or parameters that had no effect. */
  readonly ignored?: readonly string[];
  /** The cursor was not ours; page one was sent. */
  readonly cursorReset?: true;
  /** Time of the copy the answer was read from. */
  readonly asOf?: Date;
  readonly headers?: Readonly<Record<string, string>>;
}

export const noNotes: Notes = {};

export class Answer<Body> {
  readonly body: Body;
  readonly notes: Notes;
  readonly status: number;
  /** Set when the body is sent as it is, under this type, instead of as the declared JSON. */
  readonly media: string | undefined;
  /** What is left to do once the change is committed, such as a mail; gives the answer as it then is. */
  readonly finish: ((db: AnyDb) => Promise<Answer<Body>>) | undefined;

  constructor(
    body: Body,
    notes: Notes = noNotes,
    status = 200,
    media?: string,
    finish?: (db: AnyDb) => Promise<Answer<Body>>,
  ) {
    this.body = body;
    this.notes = notes;
    this.status = status;
    this.media = media;
    this.finish = finish;
  }
}

/** A file instead of the declared JSON. */
export const attachment = (body: Readable, type: string, fileName: string): Answer<never> =>
  new Answer(body as never, { headers: { 'content-disposition': `attachment; filename="${fileName}"` } }, 200, type);

export const withNotes = <Body>(body: Body, notes: Notes): Answer<Body> => new Answer(body, notes);

/**
 * An answer that talks to the outside once its change is committed: never in the transaction, which an Idempotency-Key
 * spans around the whole operation. `body` is what is true if that never happens.
 */
export const answerWithFollowUp = <Body>(body: Body, finish: () => Promise<Answer<Body>>): Answer<Body> =>
  new Answer(body, noNotes, 200, undefined, finish);

/**
 * An answer that takes long, and is known only once what was begun is committed. Under an Idempotency-Key `begun` is
 * stored in its place, and a repeat is handed to the operation's `resume`.
 */
export const resumableAnswer = <Body>(begun: object, finish: (db: AnyDb) => Promise<Answer<Body>>): Answer<Body> =>
  new Answer(begun as Body, noNotes, 200, undefined, finish);

/** A stream of events instead of the declared JSON. */
export const eventStream = (body: Readable): Answer<never> =>
  new Answer(
    body as never,
    { headers: { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' } },
    200,
    'text/event-stream',
  );

/** The same body as a change would give, marked as having changed nothing. */
export const unchanged = <Body>(body: Body): Answer<Body> => new Answer(body, { changed: false });

export function toHeaders(notes: Notes): Record<string, string> {
  const headers: Record<string, string> = { ...notes.headers };
  if (notes.changed === false) headers['x-changed'] = 'false';
  if (notes.truncated) headers['x-truncated'] = 'true';
  if (notes.partial?.length) headers['x-partial-result'] = notes.partial.join(',');
  if (notes.warnings?.length) headers['x-warning'] = notes.warnings.join(',');
  if (notes.ignored?.length) headers['x-ignored-fields'] = ignoredFields(notes.ignored);
  if (notes.cursorReset) headers['x-cursor'] = 'reset';
  if (notes.asOf) headers['x-data-as-of'] = notes.asOf.toISOString();
  return headers;
}

const maxHeaderLength = 2048;

const more = '%E2%80%A6'; // an ellipsis, percent-encoded like every name here

function ignoredFields(names: readonly string[]): string {
  let list = '';
  for (const name of names) {
    const next = (list && ',') + encodeURIComponent(name.toWellFormed());
    if (list.length + next.length > maxHeaderLength - more.length - 1) return list ? `${list},${more}` : more;
    list += next;
  }
  return list;
}
