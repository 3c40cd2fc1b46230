// The handlers for operations that send a message. They start a turn, or find the turn that a repeated request
// refers to, and respond with it.
import { type Answer, resumableAnswer } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';
import type { Db } from '../../tables.ts';
import type { AppAccess } from '../auth/proofs.ts';
import { acceptsStream, answerWithTurn, type FollowDeps, type FollowedTurn, type TurnEnd } from './answer.ts';
import type { StreamPosition, TurnKey } from './deltas.ts';
import type { NewMessage } from './messages.ts';

export interface SendCall<Access> {
  readonly db: Db;
  readonly access: Access;
  readonly body: NewMessage;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
  readonly held: HeldRequest;
}

type SentTurn = TurnKey & { readonly ended_date: Date | null; readonly claims: number };

/** What differs between the operations. */
export interface TurnKind<Turn, Access, Body> extends Pick<FollowedTurn<Body>, 'maxWaitMs' | 'findProgress'> {
  start(call: SendCall<Access>): Promise<Turn>;
  /** Returns the turn started with the same Idempotency-Key. Throws if the turn no longer exists. */
  resume(call: SendCall<Access>, turnId: string): Promise<Turn>;
  findTurn(db: Db, access: Access, turnId: string): Promise<Turn | undefined>;
  /** The sent message in its API form. Undefined if it has been deleted. */
  findMessage(db: Db, access: Access, turn: Turn): Promise<{ readonly content: string } | undefined>;
  getConversationId(access: Access): string;
  /** One caller's `access` reads for everybody who follows the turn, so the result must not depend on it. */
  readEnd(db: Db, access: Access, turnId: string): Promise<TurnEnd<Body>>;
}

interface SendHandlers<Access, Body> {
  handle(call: SendCall<Access>): Promise<Answer<Body>>;
  resume(call: SendCall<Access>, begun: unknown): Promise<Answer<Body>>;
}

export function createSendHandlers<Turn extends SentTurn, Access extends AppAccess, Body>(
  kind: TurnKind<Turn, Access, Body>,
  deps: FollowDeps,
): SendHandlers<Access, Body> {
  const answer = async (call: SendCall<Access>, turn: Turn, from: StreamPosition | undefined) => {
    const { db, access, headers, held } = call;
    const isNew = from === undefined && acceptsStream(headers.accept);
    const message = isNew ? await kind.findMessage(db, access, turn) : undefined;
    const followed: FollowedTurn<Body> = {
      turn,
      appId: access.app.id,
      from,
      held,
      created: message && { event: 'message.created', data: message },
      requestId: access.caller.request_id,
      conversationId: kind.getConversationId(access),
      hasIdempotencyKey: headers['idempotency-key'] !== undefined,
      maxWaitMs: kind.maxWaitMs,
      findProgress: kind.findProgress,
      readEnd: (db) => kind.readEnd(db, access, turn.id),
    };
    return resumableAnswer({ turn_id: turn.id }, () => answerWithTurn(deps, headers.accept, followed)) as Answer<Body>;
  };
  /** Before a turn starts, so nothing has happened if the stream is refused. */
  const takePlace = ({ access, headers, held }: SendCall<Access>) => {
    if (acceptsStream(headers.accept)) deps.streams.takePlace(access, held);
  };
  return {
    async handle(call: SendCall<Access>): Promise<Answer<Body>> {
      const left = parseLastEventId(call.headers['last-event-id']);
      takePlace(call);
      const turn = left === undefined ? await kind.start(call) : await rejoinTurn(kind, call, left);
      return answer(call, turn, left?.position);
    },
    async resume(call: SendCall<Access>, begun: unknown): Promise<Answer<Body>> {
      const { turn_id } = begun as { turn_id: string };
      const left = parseLastEventId(call.headers['last-event-id']);
      // Checked first, because resuming may run the turn again, which costs credits.
      if (left !== undefined && left.turnId !== turn_id) throw invalidLastEventId();
      const known = left && (await kind.findTurn(call.db, call.access, turn_id));
      if (left !== undefined && known !== undefined && left.position.claim > known.claims) throw invalidLastEventId();
      takePlace(call);
      return answer(call, await kind.resume(call, turn_id), left?.position);
    },
  };
}

/**
 * Finds the turn that a `Last-Event-ID` refers to. The message must have the same content, and the turn must be running
 * or have ended in the last ten minutes.
 */
async function rejoinTurn<Turn extends SentTurn, Access>(
  kind: Pick<TurnKind<Turn, Access, unknown>, 'findTurn' | 'findMessage'>,
  { db, access, body, now }: SendCall<Access>,
  { turnId, position }: LastEventId,
): Promise<Turn> {
  const turn = await kind.findTurn(db, access, turnId);
  const message = turn && (await kind.findMessage(db, access, turn));
  // A caller that reconnects does not want to send its message again, so this is refused rather than starting a turn.
  if (turn === undefined || !isResumable(turn, now) || message?.content !== body.content) throw invalidLastEventId();
  if (position.claim > turn.claims) throw invalidLastEventId();
  return turn;
}

const resumableMs = 10 * 60 * 1000;

const isResumable = ({ ended_date }: SentTurn, now: Date): boolean =>
  ended_date === null || now.getTime() - ended_date.getTime() < resumableMs;

const lastEventIdPattern = /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9})$/;

interface LastEventId {
  readonly turnId: string;
  readonly position: StreamPosition;
}

/** Parses `turn:claim:seq`. */
function parseLastEventId(header: unknown): LastEventId | undefined {
  if (header === undefined) return undefined;
  const [, turnId, claim, seq] = lastEventIdPattern.exec(String(header)) ?? [];
  if (turnId === undefined) throw invalidLastEventId();
  return { turnId, position: { claim: Number(claim), seq: Number(seq) } };
}

const invalidLastEventId = () =>
  new ValidationError([
    {
      loc: ['header', 'Last-Event-ID'],
      msg: 'must be the id of an event from a reply to this message that is in progress or ended in the last ten minutes',
      type: 'value_error',
    },
  ]);
