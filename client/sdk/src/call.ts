// What a method of the client returns. A call is sent in the next microtask, awaited or not; `.stream()`, `.pages()`,
// `.take()`, `.as()` and iterating choose another form, and must follow in the same expression.
import { type OwnCode, PlinthError, type Refusal } from './errors.ts';
import type { Notes } from './notes.ts';

export interface CallOptions {
  /** A value that you choose once per intended effect. By default, each call has a key of its own. */
  readonly idempotencyKey?: string;
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** How long each attempt may take. */
  readonly timeoutMs?: number;
  readonly maxRetries?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer<Data> {
  readonly data: Data;
  readonly notes: Notes;
  readonly requestId: string;
  readonly status: number;
  readonly headers: Headers;
}

export type Result<Data, Codes extends string> =
  | { readonly ok: true; readonly data: Data; readonly notes: Notes }
  | { readonly ok: false; readonly error: Refusal<Codes | OwnCode> };

export interface Call<Data, Codes extends string> extends PromiseLike<Data> {
  /** The data with its notes and headers. */
  answer(): Promise<Answer<Data>>;
  /** Returns refusals instead of throwing them. */
  result(): Promise<Result<Data, Codes>>;
}

export interface PagedCall<Data, Codes extends string, Item> extends Call<Data, Codes>, AsyncIterable<Item> {
  pages(): AsyncIterable<Data>;
  /** The first items of the list. */
  take(count: number): Promise<Item[]>;
}

export interface StreamedCall<Data, Codes extends string, Event> extends Call<Data, Codes> {
  /** The events as they happen. A lost connection is resumed, and each event is yielded once. */
  stream(): AsyncIterable<Event>;
}

export interface Formats<Media extends string> {
  /** The answer in another format. */
  as(media: Media): Promise<Uint8Array>;
}

/** How a call of one operation is performed. */
export interface CallSteps {
  send(): Promise<Answer<unknown>>;
  pages(): AsyncIterable<unknown>;
  items(): AsyncIterable<unknown>;
  stream(): AsyncIterable<unknown>;
  as(media: string): Promise<Uint8Array>;
  /** Whether there is nothing but a stream; a call in another form then sends nothing. */
  readonly isOnlyStream: boolean;
}

/** Has all forms. The types of the operations say which of them make sense. */
export class SentCall implements PagedCall<unknown, string, unknown> {
  readonly #steps: CallSteps;
  #sent: Promise<Answer<unknown>> | undefined;
  #isChosen = false;

  constructor(steps: CallSteps) {
    this.#steps = steps;
    if (!steps.isOnlyStream) queueMicrotask(() => this.#isChosen || this.answer());
  }

  answer(): Promise<Answer<unknown>> {
    this.#isChosen = true;
    this.#sent ??= this.#steps.send();
    return this.#sent;
  }

  // biome-ignore lint/suspicious/noThenProperty: a call can be awaited.
  then<A = unknown, B = never>(
    onData?: ((data: unknown) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.answer()
      .then(({ data }) => data)
      .then(onData, onError);
  }

  async result(): Promise<Result<unknown, string>> {
    try {
      const { data, notes } = await this.answer();
      return { ok: true, data, notes };
    } catch (error) {
      if (!(error instanceof PlinthError)) throw error;
      return { ok: false, error: error as Refusal<string> };
    }
  }

  #choose(): CallSteps {
    if (this.#sent !== undefined)
      throw new TypeError('The call was already sent. Choose its form in the same expression.');
    this.#isChosen = true;
    return this.#steps;
  }

  pages(): AsyncIterable<unknown> {
    return this.#choose().pages();
  }

  stream(): AsyncIterable<unknown> {
    return this.#choose().stream();
  }

  as(media: string): Promise<Uint8Array> {
    return this.#choose().as(media);
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    return this.#choose().items()[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<unknown[]> {
    const items = this.#choose().items();
    const taken: unknown[] = [];
    if (count <= 0) return taken;
    for await (const item of items) if (taken.push(item) >= count) break;
    return taken;
  }
}
