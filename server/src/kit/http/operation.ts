// The type of an HTTP operation, which is plain data. The server runs operations, and tests and the API document
// are derived from them. `src/core/auth/route.ts` adds the rules for who may call an operation.
import type { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { Problem } from '../problem.ts';
import type { Answer } from './answer.ts';
import type { JsonSchema } from './json-schema.ts';
import type { FieldText } from './shapes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A response that is not JSON: a page, plain text or a stream. */
export interface Media {
  readonly media: string;
  readonly description: string;
  /** The schema of each line or event, for the API document. */
  readonly schema?: JsonSchema;
  /** The events of an event stream, by name. */
  readonly events?: StreamedEvents;
}

export interface StreamedEvent {
  /** The shape of the event's data. */
  readonly data: z.ZodType;
  /**
   * Whether the stream ends after the event. Example of a stream that may end after some of these events, and may also
   * continue: `{ state: ['completed', 'failed'] }`.
   */
  readonly last?: true | Readonly<Record<string, readonly string[]>>;
}
export type StreamedEvents = Readonly<Record<string, StreamedEvent>>;

export const media = (type: string, description: string, schema?: JsonSchema): Media => ({
  media: type,
  description,
  ...(schema && { schema }),
});

/** An event stream, which can be resumed by the header `Last-Event-ID`. */
export const eventMedia = (description: string, text: string, events: StreamedEvents): Media => ({
  media: 'text/event-stream',
  description,
  schema: { type: 'string', description: text },
  events,
});

export type AnswerShape = z.ZodType | Media;
export type Answers = Readonly<Record<number, AnswerShape>>;

type BodyOf<Shape> = Shape extends z.ZodType
  ? z.input<Shape>
  : Shape extends Media
    ? string | Buffer | Readable
    : never;
type Reply<A extends Answers> = BodyOf<A[keyof A]>;

/** The parameters of a path such as `/api/apps/{app_id}`. `{*}` at its end is all that follows, with its slashes. */
export type PathParams<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & PathParams<Rest>
  : unknown;

/** What a handler needs of its request if the response stays open after the operation. */
export interface HeldRequest {
  /** Looks up the caller again. Rejects with the refusal if the caller may no longer make the request. */
  recheck(now: Date): Promise<void>;
  /** Calls the listener once the response is complete or the connection has closed. */
  onClose(listener: () => void): void;
}

/** A handler's arguments. `access` is the proof returned by the guard. */
export interface Call<Tables, Proof, Path extends string, Query, Body> {
  readonly db: Kysely<Tables>;
  readonly access: Proof;
  readonly params: PathParams<Path>;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
  /**
   * Charges bytes of work to the operation's byte budget, if it has one, and returns a refusal if the budget is used
   * up. A handler that only learns halfway through how much work there is can ignore the refusal, because the caller's
   * next request will be refused.
   */
  countBytes(bytes: number): Promise<Problem | undefined>;
  /** For handlers whose response stays open, such as streams. */
  readonly held: HeldRequest;
}

export interface OperationSpec<
  Tables,
  Proof,
  Path extends string,
  Query extends z.ZodType,
  Body extends z.ZodType,
  A extends Answers,
  Checked = unknown,
> {
  readonly name: string;
  readonly method: Method;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  /** Callers should use a different operation. */
  readonly deprecated?: true;
  /** API document texts for parameters that have a different meaning here than in most operations. */
  readonly parameterTexts?: Readonly<Partial<Record<keyof PathParams<Path> | 'Idempotency-Key', FieldText>>>;
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyLimitBytes?: number;
  /**
   * How the operation uses the database. By default, it runs a few short statements. A `slow` operation reads or
   * changes many rows. A `patient` operation is slow too, and waits up to a minute for its turn, because it should not
   * be refused while others run. An `outside` operation waits for something outside the database and takes no share. A
   * `reserved` operation uses the connections reserved for sign-in and health checks.
   */
  readonly work?: 'slow' | 'patient' | 'outside' | 'reserved';
  /** A worker finishes the operation's work. If no worker is running, the response has `X-Warning: no_worker_seen`. */
  readonly needsWorker?: true;
  /**
   * How many bytes of rows a call adds to what its workspace stores, besides its body. At the storage quota the call is
   * refused with 402, before its precheck. `measured`: the handler knows better how many, and refuses by itself.
   */
  readonly stores?: number | 'measured';
  /** Accepts the Idempotency-Key header. With a key, the whole operation runs in one transaction. */
  readonly idempotency?: 'optional' | 'required';
  /**
   * What a repeat of a request does if nobody knows whether the first one took effect
   * (docs/api/conventions.md#repeating-requests). `safe`: it has no further effect, with or without a key. `look`: it
   * may have one. The default is `safe` for operations that only read, `key` for those that honour an Idempotency-Key,
   * and `look` for all others.
   */
  readonly repeat?: 'safe' | 'look';
  /**
   * The handler reads the key from the headers and stores it itself, for longer than a day. Here, the key is only
   * validated.
   */
  readonly keepsKeys?: true;
  /**
   * Responds to a repeated Idempotency-Key if the work continues after its request. `begun` is the value that
   * `resumableAnswer` stored instead of a response.
   */
  resume?(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>, begun: unknown): Promise<Answer<Reply<A>>>;
  /**
   * For answers that may be larger than what is stored with an Idempotency-Key. `keep` returns what is stored instead,
   * and `answer` uses it to read the answer again.
   */
  readonly reread?: {
    keep(body: unknown): object;
    answer(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>, kept: unknown): Promise<Answer<Reply<A>>>;
  };
  /**
   * Does work that must happen before any transaction, such as checking that a host resolves to a public address,
   * counting today's invitations, or uploading files. Runs after validation. Throws to refuse the request. Its result
   * is passed to the handler.
   */
  precheck?(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>): Promise<Checked>;
  /** Response fields that contain a secret. They are never stored, and are null in a replay. */
  readonly secretFields?: readonly string[];
  readonly answers: A;
  /** Alternative formats of the response, for callers that request them. */
  readonly alsoAnswers?: readonly Media[];
  /** A successful response's headers, in addition to the derived headers (src/openapi/headers.ts). */
  readonly headers?: readonly string[];
  /**
   * The effect that a call may have. The default depends on the method: GET reads, DELETE removes, and other methods
   * change. `spend` uses credits or money.
   */
  readonly effect?: 'read' | 'change' | 'remove' | 'spend';
  /** How long the response may take to complete, if longer than a few seconds. */
  readonly heldSeconds?: number;
  /** Refusals by the handler itself. The guard declares its own refusals. */
  readonly refusals?: readonly Refusal[];
  handle(
    call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>,
    checked: Checked,
  ): MaybePromise<Reply<A> | Answer<Reply<A>>>;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
}

type MaybePromise<T> = T | Promise<T>;

// biome-ignore lint/suspicious/noExplicitAny: a list of operations is heterogeneous; each is checked where it is written.
export type Operation = OperationSpec<any, any, string, z.ZodType, z.ZodType, Answers, any>;

/** The effect of a call. `spend` means that it costs credits or money. */
export function effectOf({ effect, method }: Operation): NonNullable<Operation['effect']> {
  if (effect !== undefined) return effect;
  if (method === 'GET') return 'read';
  return method === 'DELETE' ? 'remove' : 'change';
}

/** The operation's event stream, if it has one: its only response, or one that callers may request. */
export const findEventStream = ({ answers, alsoAnswers = [] }: Operation): Media | undefined =>
  [...Object.values(answers), ...alsoAnswers].find((shape): shape is Media => 'media' in shape && 'events' in shape);

export type Repeat = 'safe' | 'key' | 'look';

/** What a repeated request does. With `key`, it has no further effect if both have the same Idempotency-Key. */
export function repeatOf(operation: Operation): Repeat {
  if (operation.repeat !== undefined) return operation.repeat;
  if (effectOf(operation) === 'read') return 'safe';
  return operation.idempotency ? 'key' : 'look';
}

export const listParamNames = (path: string): string[] =>
  [...path.matchAll(/\{(\w+|\*)\}/g)].map((match) => match[1] ?? '');
