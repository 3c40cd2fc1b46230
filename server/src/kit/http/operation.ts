// Owns the type of an HTTP operation: data that the server runs, and from which the tests and the API document are
// derived. Who may call it is added by `src/core/auth/route.ts`.
import type { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { Problem } from '../problem.ts';
import type { Answer } from './answer.ts';
import type { JsonSchema } from './json-schema.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An answer that is not JSON: a page, a text, a stream. */
export interface Media {
  readonly media: string;
  readonly description: string;
  /** The shape of each line or event, for the API document. */
  readonly schema?: JsonSchema;
}
export const media = (type: string, description: string, schema?: JsonSchema): Media => ({
  media: type,
  description,
  ...(schema && { schema }),
});

export type AnswerShape = z.ZodType | Media;
export type Answers = Readonly<Record<number, AnswerShape>>;

type BodyOf<Shape> = Shape extends z.ZodType
  ? z.input<Shape>
  : Shape extends Media
    ? string | Buffer | Readable
    : never;
type Reply<A extends Answers> = BodyOf<A[keyof A]>;

export type PathParams<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & PathParams<Rest>
  : unknown;

/** What a handler receives. `access` is the proof that the guard returned. */
export interface Call<Tables, Proof, Path extends string, Query, Body> {
  readonly db: Kysely<Tables>;
  readonly access: Proof;
  readonly params: PathParams<Path>;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
  /**
   * Counts bytes of work towards the operation's byte budget, if it has one, and returns the refusal if the budget is used
   * up. A handler that learns only halfway how much it does counts without refusing: its next request will be refused.
   */
  countBytes(bytes: number): Promise<Problem | undefined>;
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
  /** Callers should use another operation. */
  readonly deprecated?: true;
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyLimitBytes?: number;
  /**
   * How the operation uses the database; by default, with a few short statements. `slow`: reads or changes many rows.
   * `outside`: waits for something outside of the database, and takes no share. `reserved`: uses the connections that
   * are reserved for sign-in and health checks.
   */
  readonly work?: 'slow' | 'outside' | 'reserved';
  /** A worker does what the operation begins. While none is seen, the answer has `X-Warning: no_worker_seen`. */
  readonly needsWorker?: true;
  /** Accepts the Idempotency-Key header. With a key, the whole operation runs in one transaction. */
  readonly idempotency?: 'optional' | 'required';
  /**
   * The handler reads the key from the headers and remembers itself what it did with it, longer than a day. The key is
   * checked, and nothing is stored for it.
   */
  readonly keepsKeys?: true;
  /**
   * For work that continues after its request: answers a repeated Idempotency-Key. `begun` is what `resumableAnswer`
   * stored instead of an answer.
   */
  resume?(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>, begun: unknown): Promise<Answer<Reply<A>>>;
  /**
   * What needs the network before the change (does this host resolve to a public address? how many invitations were sent
   * today? upload the files). Runs after validation and before any transaction. Throws to refuse. The handler receives what
   * it returns.
   */
  precheck?(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>): Promise<Checked>;
  /** Fields of the answer with a secret. They are never stored; a replay has null in their place. */
  readonly secretFields?: readonly string[];
  readonly answers: A;
  /** Other forms of the same answer, for callers who ask for them. */
  readonly alsoAnswers?: readonly Media[];
  /** Headers of a success, besides those that follow from the rest of this description (src/openapi/headers.ts). */
  readonly headers?: readonly string[];
  /**
   * What a call may do. By default, what its method says: GET reads, DELETE removes, others change. `spend`: uses credits or
   * money.
   */
  readonly effect?: 'read' | 'change' | 'remove' | 'spend';
  /** How long the connection may stay open until the answer is complete, if that is longer than a few seconds. */
  readonly heldSeconds?: number;
  /** What the handler itself may refuse with. What the guard may refuse with is declared by the guard. */
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

export const listParamNames = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
