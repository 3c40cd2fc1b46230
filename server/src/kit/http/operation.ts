// Owns what an HTTP operation is: data that the server runs, the tests walk and the description is generated from.
// It does not know who may call it; `src/core/auth/route.ts` adds that.
import type { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { Answer } from './answer.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An answer that is not JSON: a page, a text, a stream of lines. */
export interface Media {
  readonly media: string;
  readonly description: string;
}
export const media = (type: string, description: string): Media => ({ media: type, description });

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

/** What a handler is given. `access` is the proof that its caller may be here. */
export interface Call<Tables, Proof, Path extends string, Query, Body> {
  readonly db: Kysely<Tables>;
  readonly access: Proof;
  readonly params: PathParams<Path>;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
}

export interface OperationSpec<
  Tables,
  Proof,
  Path extends string,
  Query extends z.ZodType,
  Body extends z.ZodType,
  A extends Answers,
> {
  readonly name: string;
  readonly method: Method;
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyLimitBytes?: number;
  /** Honours the Idempotency-Key header (contract §0.7). The whole operation then runs in one transaction. */
  readonly idempotency?: 'optional' | 'required';
  /**
   * For work that outlives its request: answers a repeat of an Idempotency-Key from what was begun under it (what
   * `resumable` stored), instead of from a stored answer.
   */
  resume?(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>, begun: unknown): Promise<Answer<Reply<A>>>;
  /**
   * Checks that ask the outside (does this name lead to a public address?): after validation, before any transaction.
   * Refuses by throwing.
   */
  precheck?(call: Omit<Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>, 'db'>): Promise<void>;
  /** Fields of the answer that are shown once and never stored, not even for a replay. */
  readonly shownOnce?: readonly string[];
  readonly answers: A;
  /** Codes the handler itself may refuse with; those of the guards are known from the guards. */
  readonly refusals?: readonly Refusal[];
  handle(call: Call<Tables, Proof, Path, z.output<Query>, z.output<Body>>): MaybePromise<Reply<A> | Answer<Reply<A>>>;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
}

type MaybePromise<T> = T | Promise<T>;

// biome-ignore lint/suspicious/noExplicitAny: a list of operations is heterogeneous; each was checked where it was written.
export type Operation = OperationSpec<any, any, string, z.ZodType, z.ZodType, Answers>;

export const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
