// Owns what people write to a session after its launch: follow-ups, answers and approvals (docs/api/coding-sessions.md#messages). The key
// of a message is kept for ever, as that of a launch.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { requireCredits } from '../../core/credits/reservations.ts';
import { afterCommit, takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { type Answer, withNotes } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { idempotencyConflict } from '../../kit/http/idempotency.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type NewSessionMessage, presentMessage, type SessionMessage } from './contract.ts';
import { computeSessionCredits, minTurnCredits } from './costs.ts';
import { isAnswer, requireFittingAnswer } from './input-request.ts';
import { branchBusy, branchNotAllowed, getUser, repositoryMismatch } from './launch.ts';
import { isSameRepository, repositoryNotConnected } from './repository.ts';
import { moveSession, type SessionDeps, toSessionTopic } from './session.ts';
import { findMessage, findMessageByKey, insertMessage, listPendingMessages } from './store/messages.ts';
import { lockRepository } from './store/repositories.ts';
import { findActiveOnBranch, findSession, lockSession, type SessionRow, toAppKey } from './store/sessions.ts';
import { listTurnTokens } from './store/steps.ts';
import { isEnded } from './transitions.ts';

type SessionAccess = AppAccess & { readonly session: SessionRow };

export interface MessageDeps extends SessionDeps {
  /** `SESSION_MAX_CREDITS`. */
  readonly maxCredits: number;
}

/** As `findSession`, for those who act in it: only who launched it does. */
export async function findOwnSession(db: Db, access: AppAccess, id: string): Promise<SessionRow | undefined> {
  const session = await findSession(db, access, id);
  if (session !== undefined && session.user_id !== access.caller.user_id) throw notSessionOwner();
  return session;
}

export function sendSessionMessage(
  db: Db,
  deps: MessageDeps,
  access: SessionAccess,
  message: NewSessionMessage,
  key: string,
  now: Date,
): Promise<Answer<SessionMessage>> {
  requireContent(message);
  const app = toAppKey(access);
  const user_id = getUser(access);
  const hash = hashMessage(access.session.id, message);
  const notes = { ignored: listIgnored(message) };
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, `coding message ${app.app_id} ${user_id} ${key}`);
    const sent = await findMessageByKey(db, app, user_id, key);
    if (sent !== undefined) {
      if (sent.hash !== hash) throw idempotencyConflict();
      return withNotes(presentMessage(sent), { ...notes, headers: { 'idempotent-replayed': 'true' } });
    }
    const locked = await lockSession(db, access.session);
    if (locked === undefined) throw notFound('session_not_found');
    requireOpen(locked);
    if (isAnswer(message)) requireFittingAnswer(locked, message);
    if (isEnded(locked.state)) await requireFollowUp(db, locked, deps, now);
    else await requireFewPending(db, locked);
    const session = await takeIn(db, deps, access, locked, message, now);
    const row = await insertMessage(db, {
      ...app,
      id: newId(),
      session_id: session.id,
      user_id,
      turn: session.turn,
      key,
      hash,
      text: message.text ?? null,
      answers: message.answers === undefined ? null : JSON.stringify(message.answers),
      approve: message.approve ?? null,
      input_request_id: isAnswer(message) ? idOrNull(message.input_request_id) : null,
      author: message.author ?? null,
      created_date: now,
    });
    const target = { kind: 'coding_session', id: session.id };
    const after = { input_id: row.id, turn: row.turn };
    await audit(db, access, { type: 'session.message_sent', target, app_id: app.app_id, after }, now);
    afterCommit(db, () => deps.wake.notify(toSessionTopic(session.id)));
    return withNotes(presentMessage(row), notes);
  });
}

/** What the message does to the session. One to a session that works is read by the agent at its next step. */
function takeIn(
  db: Db,
  deps: SessionDeps,
  access: SessionAccess,
  locked: SessionRow,
  message: NewSessionMessage,
  now: Date,
): Promise<SessionRow> | SessionRow {
  const { credential_id, request_id, ip } = access.caller;
  const to = isEnded(locked.state) ? 'queued' : isAnswer(message) ? 'running' : undefined;
  if (to === undefined) return locked;
  // On whose behalf it goes on: the credential of the launch may be gone after days of waiting.
  return moveSession(db, locked, { to, change: { credential_id, request_id, ip } }, deps, now, access);
}

export async function getSessionMessage(db: Db, { session }: SessionAccess, id: string): Promise<SessionMessage> {
  const row = await findMessage(db, session, id);
  if (row === undefined) throw notFound('message_not_found');
  return presentMessage(row);
}

/** What names a question, and answers nothing. */
const listIgnored = (message: NewSessionMessage): string[] =>
  message.input_request_id !== undefined && !isAnswer(message) ? ['input_request_id'] : [];

const hashMessage = (sessionId: string, message: NewSessionMessage): string =>
  createHash('sha256')
    .update(canonicalize([sessionId, message]) ?? '')
    .digest('hex');

// ---- refusals

function requireContent({ text, answers, approve }: NewSessionMessage): void {
  if (text !== undefined || answers !== undefined || approve !== undefined) return;
  const msg = 'must have at least one of text, answers and approve';
  throw new ValidationError([{ loc: ['body'], msg, type: 'value_error' }]);
}

function requireOpen({ state }: SessionRow): void {
  if (state !== 'cancelling' && state !== 'opening_pull_request') return;
  throw new Problem(
    'conflict',
    'session_busy',
    'The session is being cancelled, or opens its pull request. Send the message again once it has ended.',
    { headers: { 'retry-after': '5' } },
  );
}

/** Of what is not read yet; each may have 400 kB. */
const maxPending = 20;

async function requireFewPending(db: Db, session: SessionRow): Promise<void> {
  if ((await listPendingMessages(db, session)).length < maxPending) return;
  throw new Problem(
    'conflict',
    'session_busy',
    `The agent has not read your last ${maxPending} messages yet. Send the message again in a minute.`,
    { headers: { 'retry-after': '60' } },
  );
}

/** What a launch would refuse, too. */
async function requireFollowUp(db: Db, session: SessionRow, { maxCredits }: MessageDeps, now: Date): Promise<void> {
  const { workspace_id, user_id, work_branch, id } = session;
  const repository = await lockRepository(db, session);
  if (repository === undefined) throw repositoryNotConnected();
  if (!isSameRepository(repository, session.repository_full_name)) throw repositoryMismatch();
  // It may have become one of them since the launch.
  if (work_branch === repository.base_branch || work_branch === repository.default_branch) throw branchNotAllowed();
  if (await findActiveOnBranch(db, session, work_branch, id)) throw branchBusy();
  const spent = computeSessionCredits(await listTurnTokens(db, session)) + Number(session.stopped_credits);
  if (spent >= maxCredits) throw sessionUsedUp(maxCredits);
  await requireCredits(db, { workspace_id, user_id, amount: minTurnCredits }, now);
}

const sessionUsedUp = (maxCredits: number) =>
  new Problem(
    'payment_required',
    'credits_exhausted',
    `This session has used ${maxCredits} credits, the most that a session can. Launch a new session to go on.`,
  );

const notSessionOwner = () =>
  new Problem(
    'forbidden',
    'not_session_owner',
    'Only the person who launched a session can write to it. Launch one of your own.',
  );
