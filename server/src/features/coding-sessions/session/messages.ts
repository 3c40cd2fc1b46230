// The messages that people send to a session after its launch: follow-ups, answers and approvals
// (docs/api/coding-sessions.md#messages). A message's key is kept forever, like a launch's.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { requireCredits } from '../../../core/credits/reservations.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { idempotencyConflict } from '../../../kit/http/idempotency.ts';
import { idOrNull, newId } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type NewSessionMessage, presentMessage, type SessionMessage } from '../contract.ts';
import { isSameRepository, repositoryNotConnected } from '../repository/repository.ts';
import { findMessage, findMessageByKey, insertMessage, listPendingMessages } from '../store/messages.ts';
import { lockRepository } from '../store/repositories.ts';
import { findActiveOnBranch, findSession, lockSession, type SessionRow, toAppKey } from '../store/sessions.ts';
import { listTurnTokens } from '../store/steps.ts';
import { isEnded } from '../transitions.ts';
import { computeSessionCredits, minTurnCredits } from '../turn/costs.ts';
import { isAnswer, requireFittingAnswer, toInputRequest } from './input-request.ts';
import { branchBusy, branchNotAllowed, getUser, repositoryMismatch } from './launch.ts';
import { describeSent } from './sent.ts';
import { appendSent, moveSession, type SessionDeps } from './session.ts';

type SessionAccess = AppAccess & { readonly session: SessionRow };

export interface MessageDeps extends SessionDeps {
  /** The value of `SESSION_MAX_CREDITS`. */
  readonly maxCredits: number;
  readonly storage: StorageQuota;
}

/** What a message stores besides its text: its row, and an event in the session's log (core/storage/stored-tables.ts). */
const messageBytes = 1_500;

/** Like `findSession`, but for changing the session, which only the user who launched it may do. */
export async function findOwnSession(db: Db, access: AppAccess, id: string): Promise<SessionRow | undefined> {
  const session = await findSession(db, access, id);
  if (session !== undefined && session.user_id !== access.caller.user_id) throw notSessionOwner();
  return session;
}

export function sendSessionMessage(
  db: Db,
  deps: MessageDeps,
  access: SessionAccess,
  { message, key }: { readonly message: NewSessionMessage; readonly key: string },
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
    await deps.storage.admit(db, access, messageBytes + JSON.stringify(message).length, now);
    if (isEnded(locked.state)) await requireFollowUp(db, deps, locked, now);
    else await requireFewPending(db, locked);
    const session = await takeIn(db, deps, access, { locked, message }, now);
    const input_request_id = isAnswer(message) ? idOrNull(message.input_request_id) : null;
    const text = describeSent(message, toInputRequest(locked), access.caller.email);
    await appendSent(db, deps, session, { text, input_request_id }, now);
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
      input_request_id,
      author: message.author ?? null,
      created_date: now,
    });
    const target = { kind: 'coding_session', id: session.id };
    const after = { input_id: row.id, turn: row.turn };
    await audit(db, access, { type: 'session.message_sent', target, app_id: app.app_id, after }, now);
    return withNotes(presentMessage(row), notes);
  });
}

/** Applies the message to the session's state. A running session's agent reads the message at its next step. */
function takeIn(
  db: Db,
  deps: SessionDeps,
  access: SessionAccess,
  { locked, message }: { readonly locked: SessionRow; readonly message: NewSessionMessage },
  now: Date,
): Promise<SessionRow> | SessionRow {
  const { credential_id, request_id, ip } = access.caller;
  const to = isEnded(locked.state) ? 'queued' : isAnswer(message) ? 'running' : undefined;
  if (to === undefined) return locked;
  // The session continues with this message's credential. After days of waiting, the launch's credential may no longer
  // be valid.
  return moveSession(db, deps, { locked, move: { to, change: { credential_id, request_id, ip } } }, now, access);
}

export async function getSessionMessage(db: Db, { session }: SessionAccess, id: string): Promise<SessionMessage> {
  const row = await findMessage(db, session, id);
  if (row === undefined) throw notFound('message_not_found');
  return presentMessage(row);
}

/** `input_request_id` is ignored if the message contains no answer. */
const listIgnored = (message: NewSessionMessage): string[] =>
  message.input_request_id !== undefined && !isAnswer(message) ? ['input_request_id'] : [];

const hashMessage = (sessionId: string, message: NewSessionMessage): string =>
  createHash('sha256')
    .update(canonicalize([sessionId, message]) ?? '')
    .digest('hex');

// ---- refusals

function requireContent({ text, answers, approve }: NewSessionMessage): void {
  if (text !== undefined || answers !== undefined || approve !== undefined) return;
  const msg = 'must contain at least one of `text`, `answers` and `approve`';
  throw new ValidationError([{ loc: ['body'], msg, type: 'value_error' }]);
}

function requireOpen({ state }: SessionRow): void {
  if (state !== 'cancelling' && state !== 'opening_pull_request') return;
  throw new Problem(
    'conflict',
    'session_busy',
    'The session is being cancelled or is opening its pull request. Send the message again once it has ended.',
    { headers: { 'retry-after': '5' } },
  );
}

/** The maximum number of unread messages, each of which may take up to 400 kB. */
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

/** Refuses a follow-up for the same reasons as a launch. */
async function requireFollowUp(db: Db, { maxCredits }: MessageDeps, session: SessionRow, now: Date): Promise<void> {
  const { workspace_id, user_id, work_branch, id } = session;
  const repository = await lockRepository(db, session);
  if (repository === undefined) throw repositoryNotConnected();
  if (!isSameRepository(repository, session.repository_full_name)) throw repositoryMismatch();
  // This branch may have become the base or default branch since the launch.
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
    `This session has used ${maxCredits} credits, the maximum for one session. Launch a new session to continue.`,
  );

const notSessionOwner = () =>
  new Problem(
    'forbidden',
    'not_session_owner',
    'Only the person who launched a session can send messages to it. Launch your own session.',
  );
