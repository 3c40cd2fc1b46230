// A response's parts besides its body: its status, notes that are sent as headers
// (docs/api/conventions.md#response-headers), and a follow-up after the commit.
import type { Readable } from 'node:stream';
import type { AnyDb } from '../db/database.ts';

export interface Notes {
  /** The call succeeded but changed nothing. */
  readonly changed?: false;
  /** The list was cut off at its limit. */
  readonly truncated?: true;
  /** Parts of the response that could not be read. They are 0 or an empty list, which has no meaning. */
  readonly partial?: readonly string[];
  readonly warnings?: readonly string[];
  /** Fields or parameters that had no effect. */
  readonly ignored?: readonly string[];
  /** The cursor was invalid, and the first page was sent instead. */
  readonly cursorReset?: true;
  /** The time up to which the data is current, if the response was read from a copy. */
  readonly asOf?: Date;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export const noNotes: Notes = {};

export class Answer<Body> {
  readonly body: Body;
  readonly notes: Notes;
  readonly status: number;
  /** The content type of a body that is sent unchanged instead of the declared JSON. */
  readonly media: string | undefined;
  /** Runs after the commit, for example to send an email. Returns the final response. */
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

/** Whether the request asks for this format of the response. */
export const accepts = ({ accept }: Readonly<Record<string, string | string[] | undefined>>, type: string): boolean =>
  String(accept ?? '').includes(type);

/** A file that is sent instead of the declared JSON. It is not checked against the schema. */
export const attachment = (
  body: Readable,
  type: string,
  fileName: string,
  headers: Notes['headers'] = {},
): Answer<never> =>
  new Answer(
    body as never,
    { headers: { ...headers, 'content-disposition': `attachment; filename="${fileName}"` } },
    200,
    type,
  );

export const withNotes = <Body>(body: Body, notes: Notes): Answer<Body> => new Answer(body, notes);

/**
 * A response for an operation that needs the network after its commit, for example to send an email. `finish` runs
 * outside the transaction that an Idempotency-Key adds around the operation. Until `finish` returns the final response,
 * `body` is stored in its place, so it must be correct even if the process crashes in between.
 */
export const answerWithFollowUp = <Body>(body: Body, finish: (db: AnyDb) => Promise<Answer<Body>>): Answer<Body> =>
  new Answer(body, noNotes, 200, undefined, finish);

/**
 * A slow response that is known only after the commit. With an Idempotency-Key, `begun` is stored instead of a
 * response, and the operation's `resume` responds to repeated requests.
 */
export const resumableAnswer = <Body>(begun: object, finish: (db: AnyDb) => Promise<Answer<Body>>): Answer<Body> =>
  new Answer(begun as Body, noNotes, 200, undefined, finish);

/** An event stream that is sent instead of the declared JSON. */
/** Cuts the connection of a reader who takes longer, because what the response holds is not free until then. */
export function endInTime(body: Readable, maxMs: number): Readable {
  const timer = setTimeout(() => body.destroy(), maxMs);
  return body.once('close', () => clearTimeout(timer));
}

export const eventStream = (body: Readable, notes: Notes = noNotes): Answer<never> =>
  new Answer(
    body as never,
    { ...notes, headers: { ...notes.headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' } },
    200,
    'text/event-stream',
  );

/** The response to a change that had no effect: the usual body, with `X-Changed: false`. */
export const unchanged = <Body>(body: Body): Answer<Body> => new Answer(body, { changed: false });

export function toHeaders(notes: Notes): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { ...notes.headers };
  if (notes.changed === false) headers['x-changed'] = 'false';
  if (notes.truncated) headers['x-truncated'] = 'true';
  if (notes.partial?.length) headers['x-partial-result'] = notes.partial.join(',');
  if (notes.warnings?.length) headers['x-warning'] = joinWithinLimit(notes.warnings);
  if (notes.ignored?.length) headers['x-ignored-fields'] = joinWithinLimit(notes.ignored.map(encodeName));
  if (notes.cursorReset) headers['x-cursor'] = 'reset';
  if (notes.asOf) headers['x-data-as-of'] = notes.asOf.toISOString();
  return headers;
}

const maxHeaderLength = 2048;

const ellipsis = '%E2%80%A6'; // percent-encoded, like every name in these headers
const encodeName = (name: string): string => encodeURIComponent(name.toWellFormed());

function joinWithinLimit(texts: readonly string[]): string {
  let list = '';
  for (const text of texts) {
    const next = (list && ',') + text;
    if (list.length + next.length > maxHeaderLength - ellipsis.length - 1)
      return list ? `${list},${ellipsis}` : ellipsis;
    list += next;
  }
  return list;
}
