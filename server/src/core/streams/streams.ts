// Event streams about work in another process. All streams of the product are followed here: one reader per topic,
// a limit on open streams, pings, and an end when the caller may no longer read. Idle streams hold no connection.
import { Readable } from 'node:stream';
import type { Clock } from '../../kit/clock.ts';
import { type Answer, endInTime, eventStream, type Notes } from '../../kit/http/answer.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';
import { Problem } from '../../kit/problem.ts';
import { watchAccess } from './access.ts';
import { createPlaces, type PlaceLimits, type TakePlace } from './places.ts';
import { type Batch, createReaders, type Positioned, type Reader, type ReaderDeps, type Source } from './reader.ts';

export interface StreamLimits extends PlaceLimits {
  /** How often a stream's caller is looked up again. */
  readonly accessEveryMs: number;
}

export interface StreamsDeps extends ReaderDeps {
  readonly clock: Clock;
  /** Aborted when this process shuts down. Open responses then end, and callers reconnect to another process. */
  readonly shutdownSignal: AbortSignal;
  readonly limits?: Partial<StreamLimits> | undefined;
}

/** Why following ended. */
export type Ending<End> =
  | { readonly reason: 'ended'; readonly value: End }
  | { readonly reason: 'refused'; readonly error: unknown }
  | { readonly reason: 'shutdown' | 'timeout' | 'closed' };

interface Following<Position> {
  /** The position after which the caller continues. */
  readonly from: Position;
  readonly maxMs: number;
  readonly held: HeldRequest;
  /** Aborted when nobody reads the response any more. */
  readonly closed: AbortSignal;
}

export interface Streams {
  readonly takePlace: TakePlace;
  /** Yields what `present` makes of each item, and pings in between. Returns why it ended. */
  follow<Position, Item extends Positioned<Position>, End, Event>(
    source: Source<Position, Item, End>,
    following: Following<Position>,
    present: (item: Item) => Iterable<Event>,
  ): AsyncGenerator<Event | typeof ping, Ending<End>>;
}

// The lookup itself may take up to 5 s, so access ends within 15 s.
const defaults: StreamLimits = { ofCredential: 20, ofWorkspace: 100, accessEveryMs: 10_000 };

const pingMs = 15_000;

/** Sent after a period without data, so proxies keep the connection open. */
export const ping = ': ping\n\n';

export function createStreams({ limits, ...deps }: StreamsDeps): Streams {
  const { ofCredential, ofWorkspace, accessEveryMs } = { ...defaults, ...limits };
  const attach = createReaders(deps);
  return {
    takePlace: createPlaces({ ofCredential, ofWorkspace }),
    async *follow(source, following, present) {
      const reader = attach(source);
      const access = watchAccess(following.held, deps.clock, accessEveryMs);
      try {
        return yield* followReader(reader, access, following, present, deps);
      } finally {
        access.close();
        reader.detach();
      }
    },
  };
}

async function* followReader<Position, Item extends Positioned<Position>, End, Event>(
  reader: Reader<Position, Item, End>,
  access: ReturnType<typeof watchAccess>,
  { from, maxMs, closed }: Following<Position>,
  present: (item: Item) => Iterable<Event>,
  { clock, wake, shutdownSignal }: Pick<StreamsDeps, 'clock' | 'wake' | 'shutdownSignal'>,
): AsyncGenerator<Event | typeof ping, Ending<End>> {
  const stop = AbortSignal.any([closed, shutdownSignal, access.refused]);
  const until = clock.now().getTime() + maxMs;
  let position = from;
  let pingAt = clock.now().getTime() + pingMs;
  reader.readSoon();
  for (;;) {
    const batch = await waitForBatch(reader, position, wake.pollMs(), stop);
    for (const item of batch?.items ?? []) {
      const state = await access.check();
      if (state !== 'allowed') break;
      yield* present(item);
      position = item.position;
      pingAt = clock.now().getTime() + pingMs;
    }
    if (access.refused.aborted) return { reason: 'refused', error: access.refused.reason };
    if (closed.aborted) return { reason: 'closed' };
    if (batch?.hasMore) reader.readSoon();
    else if (batch?.end !== undefined && (batch.items.at(-1)?.position ?? position) === position) {
      const state = await access.check();
      if (state === 'allowed') return { reason: 'ended', value: batch.end.value };
    }
    const now = clock.now().getTime();
    if (shutdownSignal.aborted) return { reason: 'shutdown' };
    if (now >= until) return { reason: 'timeout' };
    if (now < pingAt) continue;
    yield ping;
    pingAt = now + pingMs;
  }
}

/** Returns undefined if there is nothing new within the time. */
async function waitForBatch<Position, Item, End>(
  reader: Reader<Position, Item, End>,
  position: Position,
  maxMs: number,
  stop: AbortSignal,
): Promise<Batch<Item, End> | undefined> {
  if (stop.aborted) return undefined;
  const { batch, cancel } = reader.next(position);
  const idle = Promise.withResolvers<undefined>();
  const stopWaiting = () => idle.resolve(undefined);
  const timer = setTimeout(stopWaiting, maxMs);
  stop.addEventListener('abort', stopWaiting);
  try {
    return await Promise.race([batch, idle.promise]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', stopWaiting);
    cancel();
  }
}

/** Responds with the text that `write` yields. The signal is aborted when the connection closes. */
export function answerWithEvents(
  held: HeldRequest,
  write: (closed: AbortSignal) => AsyncGenerator<string>,
  { maxMs, ...notes }: Notes & { readonly maxMs: number },
): Answer<never> {
  const closed = new AbortController();
  // Not when the stream has closed: that waits for the generator, which may be waiting for something to write.
  held.onClose(() => closed.abort());
  const body = Readable.from(write(closed.signal), { objectMode: false });
  // While a caller does not read, the generator is paused and can't check the time.
  return eventStream(endInTime(body, maxMs + pingMs), notes);
}

/** An event as callers see it. */
export interface StreamEvent {
  readonly event: string;
  readonly data: object;
}

export const writeEvent = (id: string | number, { event, data }: StreamEvent): string =>
  `id: ${id}\nevent: ${event}\ndata: ${toJson(data)}\n\n`;

/** The last event of a stream whose caller may no longer read it. Throws an error that is no refusal, which is a bug. */
export function writeRefusal(error: unknown, requestId: string): string {
  if (!(error instanceof Problem)) throw error;
  return `event: error\ndata: ${JSON.stringify(error.body(requestId))}\n\n`;
}

const texts = new WeakMap<object, string>();

/** Followers receive the same objects, so each is converted once. */
function toJson(data: object): string {
  const text = texts.get(data) ?? JSON.stringify(data);
  texts.set(data, text);
  return text;
}
