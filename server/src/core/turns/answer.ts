// Responses that contain a turn: either once it has ended, or as an event stream while a worker runs it. Any
// process can follow any turn, and a turn continues whether or not it is followed.
import { Answer } from '../../kit/http/answer.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { Source } from '../streams/reader.ts';
import { answerWithEvents, ping, type StreamEvent, type Streams, writeEvent } from '../streams/streams.ts';
import { toTurnTopic } from './delta-writer.ts';
import type { Delta, FindProgress, StreamPosition, TurnKey, TurnProgress } from './deltas.ts';

/**
 * The final events of a turn that has ended. The last event's data is the response to a request without a stream. If
 * there is none, a function that returns the problem to respond with.
 */
export type TurnEnd<Body> =
  | readonly [...StreamEvent[], { event: string; data: Body & object }]
  | ((hasIdempotencyKey: boolean) => Problem);

export interface FollowDeps {
  readonly streams: Streams;
}

export interface FollowedTurn<Body> {
  readonly turn: TurnKey;
  /** The app whose share of the connection pool the reads take. */
  readonly appId: string;
  /** The last event that the caller has seen. Undefined if there is none. */
  readonly from: StreamPosition | undefined;
  readonly requestId: string;
  readonly held: HeldRequest;
  readonly conversationId: string;
  /** If true, repeating the request resumes the turn instead of starting another. */
  readonly hasIdempotencyKey: boolean;
  readonly maxWaitMs: number;
  readonly findProgress: FindProgress;
  /** The event sent before all deltas. Undefined if there is none. */
  readonly created: StreamEvent | undefined;
  /** Reads the end of a turn that has ended or been removed, for everybody who follows it. */
  readEnd(db: Db): Promise<TurnEnd<Body>>;
}

export const acceptsStream = (accept: unknown): boolean => String(accept ?? '').includes('text/event-stream');

/** Responds with a stream if the request accepts one. */
export const answerWithTurn = async <Body>(
  deps: FollowDeps,
  accept: unknown,
  followed: FollowedTurn<Body>,
): Promise<Answer<Body>> =>
  acceptsStream(accept) ? answerWithStream(deps, followed) : answerWhenEnded(deps, followed);

async function answerWhenEnded<Body>(deps: FollowDeps, followed: FollowedTurn<Body>): Promise<Answer<Body>> {
  let last: StreamEvent | undefined;
  for await (const event of followTurn(deps, followed, new AbortController().signal)) {
    if (event === ping) continue;
    if ('problem' in event) throw event.problem;
    last = event;
  }
  if (last === undefined) throw new Error('the turn ended without an answer or a problem');
  return new Answer(last.data as Body);
}

const answerWithStream = <Body>(deps: FollowDeps, followed: FollowedTurn<Body>): Answer<Body> =>
  answerWithEvents(followed.held, (closed) => writeEventStream(followTurn(deps, followed, closed), followed), {
    maxMs: followed.maxWaitMs,
  });

async function* writeEventStream(
  events: AsyncIterable<FollowedEvent>,
  { turn, requestId }: Pick<FollowedTurn<unknown>, 'turn' | 'requestId'>,
): AsyncGenerator<string> {
  for await (const event of events) {
    if (event === ping) yield ping;
    else if ('problem' in event) yield `event: error\ndata: ${JSON.stringify(event.problem.body(requestId))}\n\n`;
    else yield writeEvent(`${turn.id}:${event.position.claim}:${event.position.seq}`, event);
  }
}

/**
 * The event's id in the stream is `turn:claim:seq`. A caller sends it back as `Last-Event-ID` to continue after that
 * event.
 */
type PositionedEvent = StreamEvent & { readonly position: StreamPosition };
type FollowedEvent = PositionedEvent | typeof ping | { readonly problem: Problem };

const startPosition: StreamPosition = { claim: 0, seq: 0 };

/**
 * Yields a turn's events after `from`, until the turn has ended or the caller has waited for `maxWaitMs`. Example: a
 * worker crashes after two deltas, and another worker runs the turn again. The caller sees these positions (claim:seq):
 *
 *   message.created 0:0 · message.delta 1:1 · message.delta 1:2 · message.reset 2:0 · message.delta 2:1 · … ·
 *   message.completed 2:9
 */
async function* followTurn<Body>(
  { streams }: FollowDeps,
  followed: FollowedTurn<Body>,
  closed: AbortSignal,
): AsyncGenerator<FollowedEvent> {
  const { from, created, maxWaitMs, held, hasIdempotencyKey, conversationId } = followed;
  let position = from ?? startPosition;
  if (created !== undefined) yield { ...created, position: startPosition };
  function* present(item: TurnItem): Generator<FollowedEvent> {
    const event = toItemEvent(item, position);
    position = item.position;
    if (event !== undefined) yield { ...event, position };
  }
  const following = { from: position, maxMs: maxWaitMs, held, closed };
  const end = yield* streams.follow(toSource(followed), following, present);
  if (end.reason === 'ended') yield* toFinalEvents(end.value, position, hasIdempotencyKey);
  if (end.reason === 'refused') yield { problem: toRefusal(end.error) };
  if (end.reason === 'shutdown') yield { problem: serverRestarting(hasIdempotencyKey) };
  if (end.reason === 'timeout') yield { problem: replyTimeout(conversationId, hasIdempotencyKey) };
}

/** A delta, or, without one, the beginning of a run of the turn. */
export interface TurnItem {
  readonly position: StreamPosition;
  readonly delta?: Delta;
}

/** The items after a position, read by `findProgress`. */
export function toTurnItems({ claims, deltas }: TurnProgress, from: StreamPosition): TurnItem[] {
  const begun = claims === from.claim ? [] : [{ position: { claim: claims, seq: 0 } }];
  return [...begun, ...deltas.map(({ seq, delta }) => ({ position: { claim: claims, seq }, delta }))];
}

/** The event of an item for a follower at `last`. Undefined if the follower need not be told. */
export function toItemEvent({ delta }: TurnItem, last: StreamPosition): StreamEvent | undefined {
  if (delta !== undefined) return toTurnEvent(delta);
  // The turn is being run again, so the deltas sent so far are void.
  const isReset = last.claim !== 0 && last.seq > 0;
  return isReset ? { event: 'message.reset', data: {} } : undefined;
}

const toSource = <Body>({
  turn,
  appId,
  findProgress,
  readEnd,
}: FollowedTurn<Body>): Source<StreamPosition, TurnItem, TurnEnd<Body>> => ({
  topic: toTurnTopic(turn.id),
  owner: { owner: turn.workspace_id, part: appId },
  compare: (a, b) => a.claim - b.claim || a.seq - b.seq,
  async read(db, from) {
    const progress = await findProgress(db, turn, from);
    if (progress === undefined) return { items: [], hasMore: false, end: { value: await readEnd(db) } };
    const { has_more: hasMore, is_running } = progress;
    const items = toTurnItems(progress, from);
    return is_running || hasMore ? { items, hasMore } : { items, hasMore, end: { value: await readEnd(db) } };
  },
});

/** Throws an error that is no refusal, which is a bug. */
function toRefusal(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

const toTurnEvent = (delta: Delta): StreamEvent =>
  'tool_call' in delta ? { event: 'tool_call', data: delta.tool_call } : { event: 'message.delta', data: delta };

function* toFinalEvents(
  end: TurnEnd<unknown>,
  { claim, seq }: StreamPosition,
  hasIdempotencyKey: boolean,
): Generator<FollowedEvent> {
  if (typeof end === 'function') return yield { problem: end(hasIdempotencyKey) };
  for (const [index, event] of end.entries()) yield { ...event, position: { claim, seq: seq + index + 1 } };
}

const replyTimeout = (conversation_id: string, retrySafe: boolean) =>
  new Problem(
    'timeout',
    'reply_timeout',
    'The reply is taking longer than a request can wait, and is still being generated. Read the conversation later, or repeat the request with the same Idempotency-Key.',
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
