// Owns answering with a turn: once it has ended, or as a stream of events while a worker runs it. Any process can follow any
// turn, and the turn does not depend on being followed.
import { Readable } from 'node:stream';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import type { AnyDb } from '../../kit/db/database.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import { Answer, eventStream } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { toTurnTopic } from './delta-writer.ts';
import type { Delta, FindProgress, StreamPosition, TurnKey } from './deltas.ts';

export interface FollowDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly clock: Clock;
  /** Aborted when this process shuts down: open answers end, and callers retry at another process. */
  readonly shutdownSignal: AbortSignal;
}

/** An event as callers see it. */
export interface TurnEvent {
  readonly event: string;
  readonly data: object;
}

export interface FollowedTurn<Body> {
  readonly turn: TurnKey;
  /** The last event the caller has seen; undefined: none. */
  readonly from: StreamPosition | undefined;
  readonly requestId: string;
  readonly conversationId: string;
  /** With a key, sending the same request again resumes the turn instead of starting another. */
  readonly hasIdempotencyKey: boolean;
  readonly maxWaitMs: number;
  readonly findProgress: FindProgress;
  /** The event that comes before all deltas; undefined if there is none. */
  readCreated(db: Db): Promise<TurnEvent | undefined>;
  /** The events of a turn that has ended or was removed. The data of the last one is the answer of a request without a stream. */
  readEnd(db: Db): Promise<readonly [...TurnEvent[], { event: string; data: Body & object }] | Problem>;
}

/** Answers with a stream if the request accepts one. */
export const answerWithTurn = <Body>(
  db: AnyDb,
  accept: unknown,
  followed: FollowedTurn<Body>,
  deps: FollowDeps,
): Promise<Answer<Body>> =>
  String(accept ?? '').includes('text/event-stream')
    ? answerWithStream(db, followed, deps)
    : answerWhenEnded(db, followed, deps);

async function answerWhenEnded<Body>(db: AnyDb, followed: FollowedTurn<Body>, deps: FollowDeps): Promise<Answer<Body>> {
  let last: TurnEvent | undefined;
  for await (const event of followTurn(db, followed, deps, new AbortController().signal)) {
    if ('problem' in event) throw event.problem;
    if ('event' in event) last = event;
  }
  if (last === undefined) throw new Error('the turn ended without an answer or a problem');
  return new Answer(last.data as Body);
}

async function answerWithStream<Body>(
  db: AnyDb,
  followed: FollowedTurn<Body>,
  deps: FollowDeps,
): Promise<Answer<Body>> {
  const closed = new AbortController();
  const body = Readable.from(writeEventStream(followTurn(db, followed, deps, closed.signal), followed), {
    objectMode: false,
  });
  body.once('close', () => closed.abort());
  return eventStream(body);
}

async function* writeEventStream(
  events: AsyncIterable<FollowedEvent>,
  { turn, requestId }: Pick<FollowedTurn<unknown>, 'turn' | 'requestId'>,
): AsyncGenerator<string> {
  for await (const event of events) {
    if ('problem' in event) yield `event: error\ndata: ${JSON.stringify(event.problem.body(requestId))}\n\n`;
    else if ('ping' in event) yield ': ping\n\n';
    else {
      const id = `${turn.id}:${event.position.claim}:${event.position.seq}`;
      yield `id: ${id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
    }
  }
}

/** Its id on the wire is `turn:claim:seq`, which a caller sends back as `Last-Event-ID` to continue after it. */
type PositionedEvent = TurnEvent & { readonly position: StreamPosition };
type FollowedEvent = PositionedEvent | { readonly ping: true } | { readonly problem: Problem };

const pingMs = 15 * 1000;
const startPosition: StreamPosition = { claim: 0, seq: 0 };

/**
 * Yields the events of a turn after `from`, until it has ended or the caller has waited for `maxWaitMs`. Example: a worker
 * crashes after two deltas, and another runs the turn again. The positions (claim:seq) that a caller sees:
 *
 *   message.created 0:0 · message.delta 1:1 · message.delta 1:2 · message.reset 2:0 · message.delta 2:1 · … ·
 *   message.completed 2:9
 */
async function* followTurn<Body>(
  db: Db,
  followed: FollowedTurn<Body>,
  { wake, clock, shutdownSignal }: FollowDeps,
  closed: AbortSignal,
): AsyncGenerator<FollowedEvent> {
  const { turn, from, maxWaitMs, hasIdempotencyKey, conversationId } = followed;
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toTurnTopic(turn.id), idle.wake);
  const startedAt = clock.now().getTime();
  const stop = AbortSignal.any([closed, shutdownSignal]);
  let position = from ?? startPosition;
  let lastEventAt = startedAt;
  try {
    const created = from === undefined ? await followed.readCreated(db) : undefined;
    if (created !== undefined) yield { ...created, position: startPosition };
    while (!closed.aborted) {
      const progress = await followed.findProgress(db, turn, position).catch(toUnknownProgress);
      if (progress !== undefined && progress !== 'unknown' && progress.claims !== position.claim) {
        // The turn is being run again: the deltas that the caller has seen are void.
        const hasSentDeltas = position.claim !== 0 && position.seq > 0;
        position = { claim: progress.claims, seq: 0 };
        if (hasSentDeltas) yield { event: 'message.reset', position, data: {} };
      }
      for (const { seq, delta } of progress === undefined || progress === 'unknown' ? [] : progress.deltas) {
        position = { ...position, seq };
        yield { ...toTurnEvent(delta), position };
        lastEventAt = clock.now().getTime();
      }
      if (progress === undefined || (progress !== 'unknown' && !progress.is_running))
        return yield* toFinalEvents(await followed.readEnd(db), position);
      if (shutdownSignal.aborted) return yield { problem: serverRestarting(hasIdempotencyKey) };
      const now = clock.now().getTime();
      if (now - startedAt >= maxWaitMs) return yield { problem: replyTimeout(conversationId, hasIdempotencyKey) };
      if (now - lastEventAt >= pingMs) {
        yield { ping: true };
        lastEventAt = now;
      }
      await idle.sleep(Math.min(wake.pollMs(), startedAt + maxWaitMs - now), stop);
    }
  } finally {
    unlisten();
  }
}

/** While the database is unavailable, the progress of the turn is unknown and the caller keeps waiting. */
function toUnknownProgress(error: unknown): 'unknown' {
  if (classifyFailure(error) === undefined) throw error;
  return 'unknown';
}

const toTurnEvent = (delta: Delta): TurnEvent =>
  'tool_call' in delta ? { event: 'tool_call', data: delta.tool_call } : { event: 'message.delta', data: delta };

function* toFinalEvents(end: readonly TurnEvent[] | Problem, { claim, seq }: StreamPosition): Generator<FollowedEvent> {
  if (end instanceof Problem) return yield { problem: end };
  for (const [index, event] of end.entries()) yield { ...event, position: { claim, seq: seq + index + 1 } };
}

const replyTimeout = (conversation_id: string, retrySafe: boolean) =>
  new Problem(
    'timeout',
    'reply_timeout',
    'The reply takes longer than a request may wait, and is still being generated. Read the conversation later, or repeat the request with the same Idempotency-Key.',
    {
      retrySafe,
      members: { conversation_id },
    },
  );

const serverRestarting = (retrySafe: boolean) =>
  new Problem(
    'unavailable',
    'service_unavailable',
    'The server is restarting. The reply is still being generated. Read the conversation later, or repeat the request with the same Idempotency-Key.',
    {
      retrySafe,
      headers: { 'retry-after': '1' },
    },
  );
