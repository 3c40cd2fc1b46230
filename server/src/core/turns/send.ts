// Owns the handlers of an operation that sends a message: they start a turn, or find the one that a repeated request is about,
// and answer with it.
import type { AnyDb } from '../../kit/db/database.ts';
import { type Answer, resumableAnswer } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import type { Db } from '../../tables.ts';
import type { SelfAccess } from '../auth/proofs.ts';
import type { StreamPosition, TurnKey } from './deltas.ts';
import { answerWithTurn, type FollowDeps, type FollowedTurn } from './follow.ts';
import type { NewMessage } from './messages.ts';

export interface SendCall<Access> {
  readonly db: Db;
  readonly access: Access;
  readonly body: NewMessage;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
}

type SentTurn = TurnKey & { readonly ended_date: Date | null };

/** What differs between the operations. */
export interface TurnKind<Turn, Access, Body> extends Pick<FollowedTurn<Body>, 'maxWaitMs' | 'findProgress'> {
  start(call: SendCall<Access>): Promise<Turn>;
  /** Returns the turn that was started under the same Idempotency-Key. Throws if it does not exist any more. */
  resume(call: SendCall<Access>, turnId: string): Promise<Turn>;
  findTurn(db: Db, access: Access, turnId: string): Promise<Turn | undefined>;
  /** The message that was sent, as callers see it. Undefined if it was deleted. */
  findMessage(db: Db, access: Access, turn: Turn): Promise<{ readonly content: string } | undefined>;
  getConversationId(access: Access): string;
  readEnd(
    db: Db,
    access: Access,
    turnId: string,
    hasIdempotencyKey: boolean,
  ): ReturnType<FollowedTurn<Body>['readEnd']>;
}

export function createSendHandlers<Turn extends SentTurn, Access extends SelfAccess, Body>(
  kind: TurnKind<Turn, Access, Body>,
  deps: FollowDeps,
) {
  const answer = ({ access, headers }: SendCall<Access>, turn: Turn, from: StreamPosition | undefined) => {
    const hasIdempotencyKey = headers['idempotency-key'] !== undefined;
    const followed: FollowedTurn<Body> = {
      turn,
      from,
      requestId: access.caller.request_id,
      conversationId: kind.getConversationId(access),
      hasIdempotencyKey,
      maxWaitMs: kind.maxWaitMs,
      findProgress: kind.findProgress,
      readCreated: async (db) => {
        const data = await kind.findMessage(db, access, turn);
        return data && { event: 'message.created', data };
      },
      readEnd: (db) => kind.readEnd(db, access, turn.id, hasIdempotencyKey),
    };
    return resumableAnswer({ turn_id: turn.id }, (db: AnyDb) => answerWithTurn(db, headers.accept, followed, deps));
  };
  return {
    async handle(call: SendCall<Access>): Promise<Answer<Body>> {
      const left = parseLastEventId(call.headers['last-event-id']);
      const turn = left === undefined ? await kind.start(call) : await rejoinTurn(kind, call, left.turnId);
      return answer(call, turn, left?.position);
    },
    async resume(call: SendCall<Access>, begun: unknown): Promise<Answer<Body>> {
      const { turn_id } = begun as { turn_id: string };
      const left = parseLastEventId(call.headers['last-event-id']);
      // Checked before the turn may be run, and paid for, again.
      if (left !== undefined && left.turnId !== turn_id) throw invalidLastEventId();
      return answer(call, await kind.resume(call, turn_id), left?.position);
    },
  };
}

/** Finds the turn of a `Last-Event-ID`. It must be about the same content, running or ended in the last ten minutes. */
async function rejoinTurn<Turn extends SentTurn, Access>(
  kind: Pick<TurnKind<Turn, Access, unknown>, 'findTurn' | 'findMessage'>,
  { db, access, body, now }: SendCall<Access>,
  turnId: string,
): Promise<Turn> {
  const turn = await kind.findTurn(db, access, turnId);
  const message = turn && (await kind.findMessage(db, access, turn));
  // Refused, because sending the content as a new message is not what a caller who reconnects wants.
  if (turn === undefined || !isResumable(turn, now) || message?.content !== body.content) throw invalidLastEventId();
  return turn;
}

const resumableMs = 10 * 60 * 1000;

const isResumable = ({ ended_date }: SentTurn, now: Date): boolean =>
  ended_date === null || now.getTime() - ended_date.getTime() < resumableMs;

const lastEventIdPattern = /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9})$/;

/** Parses `turn:claim:seq`. */
function parseLastEventId(header: unknown): { turnId: string; position: StreamPosition } | undefined {
  if (header === undefined) return undefined;
  const [, turnId, claim, seq] = lastEventIdPattern.exec(String(header)) ?? [];
  if (turnId === undefined) throw invalidLastEventId();
  return { turnId, position: { claim: Number(claim), seq: Number(seq) } };
}

const invalidLastEventId = () =>
  new ValidationError([
    {
      loc: ['header', 'Last-Event-ID'],
      msg: 'must be the id of an event of a reply to this message in the last ten minutes',
      type: 'value_error',
    },
  ]);
