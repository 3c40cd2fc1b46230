// Streams all turns of an app to anybody who may edit it, whoever started them, and tells when the app gets another
// revision (docs/api/builder-chat.md#follow).
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Source } from '../../core/streams/reader.ts';
import {
  answerWithEvents,
  ping,
  type StreamEvent,
  type Streams,
  writeEvent,
  writeRefusal,
} from '../../core/streams/streams.ts';
import { type TurnItem, toItemEvent, toTurnItems } from '../../core/turns/answer.ts';
import type { Answer } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';
import type { Db } from '../../tables.ts';
import { type ChatAnswerDeps, findProgress, readEnd } from './answer.ts';
import { presentMessage } from './contract.ts';
import { type ChatState, findChatState, findRunningMessage, type PlacedTurn } from './store/follow.ts';
import { findMessage, toChatKey, toChatTopic } from './store/messages.ts';

export interface FollowChatDeps extends ChatAnswerDeps {
  readonly streams: Streams;
}

export const followSeconds = 30 * 60;

/**
 * What a follower has seen. Within the turn that begins with the message at position `message`: claim 0 is its beginning,
 * claims from 1 on are its runs with their deltas, and `afterEnd` its final messages. A turn that has completed leads to
 * the next position. `revision` is that of the app. Example, with a worker that was killed:
 *
 *   app.changed 7:0:0:4 · turn.started 7:0:1:4 · message.created 7:0:2:4 · message.delta 7:1:1:4 · message.reset 7:2:0:4 ·
 *   message.delta 7:2:1:4 · app.changed 7:2:1:5 · message.completed 7:999999999:1:5 · turn.completed 8:0:0:5
 */
interface ChatPosition {
  readonly message: number;
  readonly claim: number;
  readonly seq: number;
  readonly revision: number;
}

const afterEnd = 999_999_999;

/** Without an event, the item only says that the app has another revision. */
interface ChatItem {
  readonly position: ChatPosition;
  readonly event?: StreamEvent;
  /** A part of a running turn, whose event depends on what the follower has seen. */
  readonly part?: TurnItem;
}

interface Follower {
  readonly lastEventId: unknown;
  readonly held: HeldRequest;
}

export async function followChat(
  db: Db,
  deps: FollowChatDeps,
  access: AppAccess,
  { lastEventId, held }: Follower,
): Promise<Answer<never>> {
  const from = lastEventId === undefined ? await findStart(db, access) : await parsePosition(db, access, lastEventId);
  deps.streams.takePlace(access, held);
  return answerWithEvents(held, (closed) => writeEvents(deps, access, { from, held, closed }), {
    maxMs: followSeconds * 1000,
  });
}

/** The beginning of the running turn, otherwise the next turn. The stream begins with the app's revision. */
async function findStart(db: Db, access: AppAccess): Promise<ChatPosition> {
  const chat = toChatKey(access);
  const running = await findRunningMessage(db, chat);
  const last = running === undefined ? (await findChatState(db, chat, 0))?.last_message : undefined;
  return { message: running ?? (last ?? 0) + 1, claim: 0, seq: 0, revision: 0 };
}

async function* writeEvents(
  { streams, ...deps }: FollowChatDeps,
  access: AppAccess,
  { from, ...following }: { readonly from: ChatPosition; readonly held: HeldRequest; readonly closed: AbortSignal },
): AsyncGenerator<string> {
  let seen = from;
  const write = (position: ChatPosition, event: StreamEvent) => {
    seen = position;
    const { message, claim, seq, revision } = position;
    return writeEvent([access.app.id, message, claim, seq, revision].join(':'), event);
  };
  function* present({ position, event, part }: ChatItem): Generator<string> {
    const { revision } = position;
    if (revision > seen.revision) yield write({ ...seen, revision }, { event: 'app.changed', data: { revision } });
    if (compareInTurns(position, seen) <= 0) return;
    const own = part === undefined ? event : toItemEvent(part, seen);
    if (own !== undefined) yield write(position, own);
    seen = position;
  }
  yield ping; // sends the headers, so the caller knows that it is connected although nothing may happen for long
  const end = yield* streams.follow(
    toSource(deps, access),
    { from, maxMs: followSeconds * 1000, ...following },
    present,
  );
  if (end.reason === 'refused') yield writeRefusal(end.error, access.caller.request_id);
}

const compareInTurns = (a: ChatPosition, b: ChatPosition): number =>
  a.message - b.message || a.claim - b.claim || a.seq - b.seq;

const toSource = (deps: ChatAnswerDeps, access: AppAccess): Source<ChatPosition, ChatItem, undefined> => ({
  topic: toChatTopic(access.app.id),
  owner: { owner: access.app.workspace_id, part: access.app.id },
  compare: (a, b) => compareInTurns(a, b) || a.revision - b.revision,
  async read(db, from) {
    const state = await findChatState(db, toChatKey(access), from.message);
    if (state === undefined) return { items: [], hasMore: false }; // deleted, which the next look at the caller finds
    const { turn, revision } = state;
    const { items, hasMore } = turn === null ? nothing : await readTurn(db, deps, access, turn, from);
    const placed = items.map((item) => ({ ...item, position: { ...item.position, revision } }));
    if (placed.length > 0) return { items: placed, hasMore };
    const position = turn === null ? toNextTurn(from, state) : from;
    if (position === from && revision <= from.revision) return { items: [], hasMore };
    return { items: [{ position: { ...position, revision } }], hasMore };
  },
});

/**
 * Where all followers wait if no turn follows. Those who saw the last one end are behind those who joined after it, and
 * would otherwise be the only ones for whom is read.
 */
const toNextTurn = (from: ChatPosition, { last_message }: ChatState): ChatPosition =>
  last_message < from.message ? from : { ...from, message: last_message + 1, claim: 0, seq: 0 };

type TurnPosition = Omit<ChatPosition, 'revision'>;
interface TurnBatch {
  readonly items: readonly (Omit<ChatItem, 'position'> & { readonly position: TurnPosition })[];
  readonly hasMore: boolean;
}

const nothing: TurnBatch = { items: [], hasMore: false };

/** Reads a turn after a position, which may be before it. A turn that has completed is followed by the next. */
async function readTurn(
  db: Db,
  deps: ChatAnswerDeps,
  access: AppAccess,
  turn: PlacedTurn,
  position: ChatPosition,
): Promise<TurnBatch> {
  const { message } = turn;
  const from = position.message === message ? position : { claim: 0, seq: 0 };
  const isBegun = from.claim > 0 || from.seq > 1;
  const begun = isBegun ? [] : await readBegin(db, access, turn);
  const key = { workspace_id: access.app.workspace_id, id: turn.id };
  const progress = from.claim === afterEnd ? undefined : await findProgress(db, key, from);
  const parts = progress === undefined ? [] : toTurnItems(progress, from);
  const placed = parts.map((part) => ({ position: { message, ...part.position }, part }));
  const items = [...begun, ...placed];
  if (progress?.has_more) return { items, hasMore: true };
  if (progress?.is_running) return { items, hasMore: false };
  return { items: [...items, ...(await readFinal(db, deps, access, turn))], hasMore: true };
}

async function readBegin(db: Db, access: AppAccess, { id, message, message_id }: PlacedTurn) {
  const sent = await findMessage(db, toChatKey(access), message_id);
  const toPosition = (seq: number) => ({ message, claim: 0, seq });
  const started = { position: toPosition(1), event: { event: 'turn.started', data: { turn_id: id } } };
  if (sent === undefined) return [started];
  return [started, { position: toPosition(2), event: { event: 'message.created', data: presentMessage(sent) } }];
}

async function readFinal(db: Db, { addresses }: ChatAnswerDeps, access: AppAccess, { id, message }: PlacedTurn) {
  const end = await readEnd(db, access, id, addresses);
  if (typeof end === 'function') return []; // the app was deleted meanwhile
  return end.map((event, index) => ({
    position:
      index === end.length - 1
        ? { message: message + 1, claim: 0, seq: 0 }
        : { message, claim: afterEnd, seq: index + 1 },
    event,
  }));
}

const idForm = /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9}):(\d{1,9}):(\d{1,9})$/;

async function parsePosition(db: Db, access: AppAccess, header: unknown): Promise<ChatPosition> {
  const [, appId, ...numbers] = idForm.exec(String(header)) ?? [];
  const [message = 0, claim = 0, seq = 0, revision = 0] = numbers.map(Number);
  const from = { message, claim, seq, revision };
  const state = appId === access.app.id ? await findChatState(db, toChatKey(access), message) : undefined;
  if (state !== undefined && isPossible(from, state)) return from;
  throw new ValidationError([
    { loc: ['header', 'Last-Event-ID'], msg: "must be the id of an event from this app's chat", type: 'value_error' },
  ]);
}

/** False after a restore from a backup, for example: following from there would never receive anything. */
function isPossible({ message, claim, revision }: ChatPosition, { turn, ...state }: ChatState): boolean {
  if (message > state.last_message + 1 || revision > state.revision) return false;
  if (turn === null || turn.message !== message) return true;
  return claim <= turn.claims || (claim === afterEnd && turn.has_ended);
}
