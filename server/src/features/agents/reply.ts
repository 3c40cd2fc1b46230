// Owns answering with a reply: once it is complete, or as a stream of events while a worker writes it. Any process can
// follow any turn, and the turn does not depend on being followed.
import { Readable } from 'node:stream';
import type { ReplyDelta } from '../../gateways/language-model/index.ts';
import { WakeableSleep } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import type { AnyDb } from '../../kit/db/database.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import { Answer, eventStream } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type Message, type NewMessage, presentMessage } from './contract.ts';
import { messageDeleted, modelUnavailable, type TurnDeps } from './conversation.ts';
import type { ConversationAccess } from './store/conversations.ts';
import { findProgress, type StreamPosition } from './store/deltas.ts';
import { findMessage } from './store/messages.ts';
import { findTurn, type TurnRow } from './store/turns.ts';

export interface ReplyDeps extends TurnDeps {
  readonly clock: Clock;
  /** Aborted when this process shuts down: open answers end, and callers retry at another process. */
  readonly shutdownSignal: AbortSignal;
}

/** The wake-up topic of a turn. */
export const toTurnTopic = (turnId: string): string => `turn:${turnId}`;

const maxWaitMs = 5 * 60 * 1000;
const pingMs = 15 * 1000;
const resumableMs = 10 * 60 * 1000;

export interface FollowedTurn {
  readonly turn: TurnRow;
  /** The last event the caller has seen; undefined: none. */
  readonly from?: StreamPosition;
  readonly access: ConversationAccess;
  /** With a key, sending the same request again resumes the turn instead of starting another. */
  readonly hasIdempotencyKey: boolean;
}

/** Answers with a stream if the request accepts one. */
export const answerWithReply = (
  db: AnyDb,
  accept: unknown,
  followed: FollowedTurn,
  deps: ReplyDeps,
): Promise<Answer<Message>> =>
  String(accept ?? '').includes('text/event-stream')
    ? answerWithStream(db, followed, deps)
    : answerWhenComplete(db, followed, deps);

async function answerWhenComplete(db: AnyDb, followed: FollowedTurn, deps: ReplyDeps): Promise<Answer<Message>> {
  for await (const event of followTurn(db, followed, deps, new AbortController().signal)) {
    if ('problem' in event) throw event.problem;
    if (event.event === 'message.completed') return new Answer(event.data);
  }
  throw new Error('the turn ended without a reply or a problem');
}

async function answerWithStream(db: AnyDb, followed: FollowedTurn, deps: ReplyDeps): Promise<Answer<Message>> {
  const closed = new AbortController();
  const body = Readable.from(writeEventStream(followTurn(db, followed, deps, closed.signal), followed), {
    objectMode: false,
  });
  body.once('close', () => closed.abort());
  return eventStream(body);
}

async function* writeEventStream(
  events: AsyncIterable<StreamEvent | StreamFailure>,
  { turn, access }: FollowedTurn,
): AsyncGenerator<string> {
  for await (const event of events) {
    if ('problem' in event) {
      const problem = event.problem.body(access.caller.request_id);
      yield `event: error\ndata: ${JSON.stringify(problem)}\n\n`;
    } else if (event.event === 'ping') yield ': ping\n\n';
    else {
      const id = `${turn.id}:${event.position.claim}:${event.position.seq}`;
      yield `id: ${id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
    }
  }
}

/** Its id on the wire is `turn:claim:seq`, which a caller sends back as `Last-Event-ID` to continue after it. */
type StreamEvent = { readonly position: StreamPosition } & (
  | { readonly event: 'message.created' | 'message.completed'; readonly data: Message }
  | { readonly event: 'message.delta' | 'message.reset' | 'tool_call'; readonly data: object }
  | { readonly event: 'ping' }
);
interface StreamFailure {
  readonly problem: Problem;
}

const startPosition: StreamPosition = { claim: 0, seq: 0 };

/**
 * Yields the events of a turn after `from`, until it has ended or the caller has waited five minutes. Example: a worker
 * crashes after two deltas, and another runs the turn again. The positions (claim:seq) that a caller sees:
 *
 *   message.created 0:0 · message.delta 1:1 · message.delta 1:2 · message.reset 2:0 · message.delta 2:1 · … ·
 *   message.completed 2:9
 */
async function* followTurn(
  db: Db,
  { turn, from, access, hasIdempotencyKey }: FollowedTurn,
  { wake, clock, shutdownSignal }: ReplyDeps,
  closed: AbortSignal,
): AsyncGenerator<StreamEvent | StreamFailure> {
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toTurnTopic(turn.id), idle.wake);
  const startedAt = clock.now().getTime();
  const stop = AbortSignal.any([closed, shutdownSignal]);
  let position = from ?? startPosition;
  let lastEventAt = startedAt;
  try {
    if (from === undefined) yield* readCreatedEvent(db, turn, access);
    while (!closed.aborted) {
      const progress = await findProgress(db, turn, position).catch(toUnknownProgress);
      if (progress === undefined) return yield { problem: messageDeleted() };
      if (progress !== 'unknown' && progress.claims !== position.claim) {
        // The turn is being run again: the deltas that the caller has seen are void.
        const hasSentDeltas = position.claim !== 0 && position.seq > 0;
        position = { claim: progress.claims, seq: 0 };
        if (hasSentDeltas) yield { event: 'message.reset', position, data: {} };
      }
      for (const { seq, delta } of progress === 'unknown' ? [] : progress.deltas) {
        position = { ...position, seq };
        yield toStreamEvent(position, delta);
        lastEventAt = clock.now().getTime();
      }
      if (progress !== 'unknown' && !progress.is_running)
        return yield await readFinalEvent(db, turn, access, progress.reply_id, position, hasIdempotencyKey);
      if (shutdownSignal.aborted) return yield { problem: serverRestarting(hasIdempotencyKey) };
      const now = clock.now().getTime();
      if (now - startedAt >= maxWaitMs) return yield { problem: replyTimeout(turn, hasIdempotencyKey) };
      if (now - lastEventAt >= pingMs) {
        yield { event: 'ping', position };
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

async function* readCreatedEvent(
  db: Db,
  turn: TurnRow,
  { conversation }: ConversationAccess,
): AsyncGenerator<StreamEvent> {
  const message = await findMessage(db, conversation, turn.message_id);
  if (message !== undefined) yield { event: 'message.created', position: startPosition, data: presentMessage(message) };
}

const toStreamEvent = (position: StreamPosition, delta: ReplyDelta): StreamEvent =>
  'tool_call' in delta
    ? { event: 'tool_call', position, data: delta.tool_call }
    : { event: 'message.delta', position, data: delta };

async function readFinalEvent(
  db: Db,
  turn: TurnRow,
  { conversation }: ConversationAccess,
  replyId: string | null,
  position: StreamPosition,
  hasIdempotencyKey: boolean,
): Promise<StreamEvent | StreamFailure> {
  const message = await findMessage(db, conversation, replyId ?? turn.message_id);
  if (message === undefined) return { problem: messageDeleted() };
  if (replyId === null) return { problem: modelUnavailable(hasIdempotencyKey) };
  const last = { ...position, seq: position.seq + 1 };
  return { event: 'message.completed', position: last, data: presentMessage(message) };
}

const replyTimeout = ({ conversation_id }: TurnRow, retrySafe: boolean) =>
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

const lastEventIdPattern = /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9})$/;

/** Parses `turn:claim:seq`. With `expectedTurnId`, an id of another turn is refused. */
export function parseLastEventId(
  header: unknown,
  expectedTurnId?: string,
): { turnId: string; position: StreamPosition } | undefined {
  if (header === undefined) return undefined;
  const [, turnId, claim, seq] = lastEventIdPattern.exec(String(header)) ?? [];
  if (turnId === undefined || (expectedTurnId !== undefined && turnId !== expectedTurnId)) throw invalidLastEventId();
  return { turnId, position: { claim: Number(claim), seq: Number(seq) } };
}

/** Finds the turn of a `Last-Event-ID`. It must be a reply to the same content, running or ended in the last ten minutes. */
export async function rejoinTurn(
  db: Db,
  { conversation }: ConversationAccess,
  turnId: string,
  sent: NewMessage,
  now: Date,
): Promise<TurnRow> {
  const turn = await findTurn(db, conversation, turnId);
  const message = turn && (await findMessage(db, conversation, turn.message_id));
  const isRecent = turn?.due_at || (turn?.ended_date && now.getTime() - turn.ended_date.getTime() < resumableMs);
  // Refused, because sending the content as a new message is not what a caller who reconnects wants.
  if (turn === undefined || !isRecent || message?.content !== sent.content) throw invalidLastEventId();
  return turn;
}

const invalidLastEventId = () =>
  new ValidationError([
    {
      loc: ['header', 'Last-Event-ID'],
      msg: 'must be the id of an event of a reply to this message in the last ten minutes',
      type: 'value_error',
    },
  ]);
