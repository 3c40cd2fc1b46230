// Owns what a caller gets of a turn, from whichever process they ask: the reply once it is whole, or its events as they
// come. The turn does not know who watches; who leaves, or is too late, misses nothing that is not kept.
import { Readable } from 'node:stream';
import { WakeableSleep } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import type { AnyDb } from '../../kit/db/database.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import { Answer, eventStream } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type Message, type NewMessage, presentMessage } from './contract.ts';
import { messageGone, modelUnavailable, type TurnDeps } from './conversation.ts';
import { type ConversationAccess, findMessage, findProgress, findTurn, type Place, type TurnRow } from './store.ts';

export interface WatchingDeps extends TurnDeps {
  readonly clock: Clock;
  /** This process ends: who watches is sent elsewhere. */
  readonly ending: AbortSignal;
}

/** What those who watch a turn are woken by. */
export const topicOf = (turnId: string): string => `turn:${turnId}`;

const holdMs = 5 * 60 * 1000;
const pingMs = 15 * 1000;
const resumeMs = 10 * 60 * 1000;

export interface Watched {
  readonly turn: TurnRow;
  /** Where the caller left off; undefined: from the start. */
  readonly from?: Place;
  readonly access: ConversationAccess;
  /** Whether sending the same again begins nothing new. */
  readonly keyed: boolean;
}

/** The answer in the form the caller asked for. */
export const answerTo = (db: AnyDb, accept: unknown, watched: Watched, deps: WatchingDeps): Promise<Answer<Message>> =>
  String(accept ?? '').includes('text/event-stream') ? streamed(db, watched, deps) : held(db, watched, deps);

async function held(db: AnyDb, watched: Watched, deps: WatchingDeps): Promise<Answer<Message>> {
  for await (const told of follow(db, watched, deps, new AbortController().signal)) {
    if ('problem' in told) throw told.problem;
    if (told.event === 'message.completed') return new Answer(told.data as Message);
  }
  throw new Error('a turn ended without an end');
}

async function streamed(db: AnyDb, watched: Watched, deps: WatchingDeps): Promise<Answer<Message>> {
  const gone = new AbortController();
  const body = Readable.from(written(follow(db, watched, deps, gone.signal), watched), { objectMode: false });
  body.once('close', () => gone.abort());
  return eventStream(body);
}

async function* written(events: AsyncIterable<Told | Failed>, { turn, access }: Watched): AsyncGenerator<string> {
  for await (const told of events) {
    if ('problem' in told) {
      const problem = told.problem.body(access.caller.request_id);
      yield `event: error\ndata: ${JSON.stringify(problem)}\n\n`;
    } else if (told.event === 'ping') yield ': ping\n\n';
    else {
      const id = `${turn.id}:${told.at.claim}:${told.at.seq}`;
      yield `id: ${id}\nevent: ${told.event}\ndata: ${JSON.stringify(told.data)}\n\n`;
    }
  }
}

interface Told {
  readonly event: 'message.created' | 'message.delta' | 'message.reset' | 'tool_call' | 'message.completed' | 'ping';
  readonly at: Place;
  readonly data: unknown;
}
interface Failed {
  readonly problem: Problem;
}

const start: Place = { claim: 0, seq: 0 };

/** A turn's events from a place on, until it ends or has been watched for long enough. */
async function* follow(
  db: Db,
  { turn, from, access, keyed }: Watched,
  { wake, clock, ending }: WatchingDeps,
  gone: AbortSignal,
): AsyncGenerator<Told | Failed> {
  const rest = new WakeableSleep();
  const unlisten = wake.listen(topicOf(turn.id), rest.wake);
  const startedAt = clock.now().getTime();
  const stop = AbortSignal.any([gone, ending]);
  let at = from ?? start;
  let quietSince = startedAt;
  try {
    if (from === undefined) yield* created(db, turn, access);
    while (!gone.aborted) {
      const progress = await findProgress(db, turn, at).catch(unlessPassing);
      if (progress === undefined) return yield { problem: messageGone() };
      if (progress !== 'unknown' && progress.claims !== at.claim) {
        // Another run than the one followed so far: what that one said is void.
        const begun = at.claim !== 0 && at.seq > 0;
        at = { claim: progress.claims, seq: 0 };
        if (begun) yield { event: 'message.reset', at, data: {} };
      }
      for (const { seq, piece } of progress === 'unknown' ? [] : progress.pieces) {
        at = { ...at, seq };
        yield pieceOf(at, piece as object);
        quietSince = clock.now().getTime();
      }
      if (progress !== 'unknown' && !progress.running)
        return yield await ended(db, turn, access, progress.reply_id, at, keyed);
      if (ending.aborted) return yield { problem: processEnds(keyed) };
      const now = clock.now().getTime();
      if (now - startedAt >= holdMs) return yield { problem: tooLong(turn, keyed) };
      if (now - quietSince >= pingMs) {
        yield { event: 'ping', at, data: null };
        quietSince = now;
      }
      await rest.sleep(Math.min(wake.pollMs(), startedAt + holdMs - now), stop);
    }
  } finally {
    unlisten();
  }
}

/** A database that is away for a moment has not lost the turn: who watches goes on watching. */
function unlessPassing(error: unknown): 'unknown' {
  if (classifyFailure(error) === undefined) throw error;
  return 'unknown';
}

async function* created(db: Db, turn: TurnRow, { conversation }: ConversationAccess): AsyncGenerator<Told> {
  const message = await findMessage(db, conversation, turn.message_id);
  if (message !== undefined) yield { event: 'message.created', at: start, data: presentMessage(message) };
}

const pieceOf = (at: Place, piece: object): Told =>
  'tool_call' in piece
    ? { event: 'tool_call', at, data: piece.tool_call }
    : { event: 'message.delta', at, data: piece };

async function ended(
  db: Db,
  turn: TurnRow,
  { conversation }: ConversationAccess,
  replyId: string | null,
  at: Place,
  keyed: boolean,
): Promise<Told | Failed> {
  const message = await findMessage(db, conversation, replyId ?? turn.message_id);
  if (message === undefined) return { problem: messageGone() };
  if (replyId === null) return { problem: modelUnavailable(keyed) };
  return { event: 'message.completed', at: { ...at, seq: at.seq + 1 }, data: presentMessage(message) };
}

const tooLong = ({ conversation_id }: TurnRow, retrySafe: boolean) =>
  new Problem('timeout', 'reply_timeout', 'The reply takes long. It goes on, and will be in the conversation.', {
    retrySafe,
    members: { conversation_id },
  });

const processEnds = (retrySafe: boolean) =>
  new Problem('unavailable', 'service_unavailable', 'This process ends. The reply goes on; ask again for it.', {
    retrySafe,
    headers: { 'retry-after': '1' },
  });

const placeForm = /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9})$/;

/** Where a `Last-Event-ID` says the caller left off; of this turn, where it can only be of this one. */
export function placeOf(header: unknown, only?: string): { turnId: string; place: Place } | undefined {
  if (header === undefined) return undefined;
  const [, turnId, claim, seq] = placeForm.exec(String(header)) ?? [];
  if (turnId === undefined || (only !== undefined && turnId !== only)) throw notOurs();
  return { turnId, place: { claim: Number(claim), seq: Number(seq) } };
}

/** The turn a `Last-Event-ID` is of: of this conversation and this message, running or ended a few minutes ago. */
export async function rejoinTurn(
  db: Db,
  { conversation }: ConversationAccess,
  turnId: string,
  sent: NewMessage,
  now: Date,
): Promise<TurnRow> {
  const turn = await findTurn(db, conversation, turnId);
  const message = turn && (await findMessage(db, conversation, turn.message_id));
  const isRecent = turn?.due_at || (turn?.ended_date && now.getTime() - turn.ended_date.getTime() < resumeMs);
  // Anything else would be answered by adding a message, which who only reconnects does not want.
  if (turn === undefined || !isRecent || message?.content !== sent.content) throw notOurs();
  return turn;
}

const notOurs = () =>
  new ValidationError([
    {
      loc: ['header', 'Last-Event-ID'],
      msg: 'must be of a reply to this message in the last ten minutes',
      type: 'value_error',
    },
  ]);
