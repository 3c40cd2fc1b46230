// Owns the moves of a session from state to state (docs/api/coding-sessions.md#states), and its events. Every move is one transaction:
// the state, what belongs to it, the columns of the queue, the event for those who follow the session, and the audit entry.
import { type AuditedChange, audit, auditService } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { makeHarmless } from '../../kit/harmless.ts';
import type { Db } from '../../tables.ts';
import { type InputRequest, presentSession } from './contract.ts';
import { insertEvents, type SessionEvent } from './store/events.ts';
import { failPending } from './store/messages.ts';
import {
  dueNow,
  lockClaimedSession,
  type SessionChange,
  type SessionKey,
  type SessionRow,
  saveSession,
} from './store/sessions.ts';
import { isEnded, mayFollow, type State } from './transitions.ts';

/** The queue table of sessions, and its wake-up topic. */
export const sessionQueue = 'coding_sessions';

/** On which the worker that runs a session, and whoever follows it, learn that something has changed. */
export const toSessionTopic = (id: string): string => `coding_session:${id}`;

export interface SessionDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly baseUrl: string;
}

/** Thrown if another worker runs the session, or if somebody has ended it. Whoever gets it must write nothing more. */
export class ClaimLost extends Error {}

/** Thrown by a move that can't follow the present state, such as one to `completed` of a session that is being cancelled. */
export class SessionMoved extends Error {
  readonly state: State;

  constructor(state: State) {
    super(`the session is ${state}`);
    this.state = state;
  }
}

/** What a state has beside its name. What belongs to no state, such as the queue's columns, is set by `moveSession`. */
export type Move =
  | { readonly to: 'queued'; readonly change?: Pick<SessionChange, 'credential_id' | 'request_id' | 'ip'> }
  | {
      readonly to: 'running';
      readonly change?: Pick<
        SessionChange,
        | 'branch_id'
        | 'branch_name'
        | 'message_id'
        | 'base_commit'
        | 'turn_started_at'
        | 'credential_id'
        | 'request_id'
        | 'ip'
        | 'head_commit'
        | 'tried_commits'
      >;
    }
  | { readonly to: 'needs_input'; readonly input_request: InputRequest }
  | { readonly to: 'opening_pull_request'; readonly change: Pick<SessionChange, 'head_commit'> }
  | {
      readonly to: 'completed';
      readonly change: Pick<SessionChange, 'summary' | 'pull_request' | 'pull_request_read_at' | 'head_commit'> & {
        readonly outcome: 'pull_request' | 'answer';
      };
      /** Another turn begins at once, which reads what is pending. */
      readonly isFollowed?: boolean;
    }
  | {
      readonly to: 'failed';
      readonly change: Pick<SessionChange, 'error_message' | KeptColumn> & { readonly error_code: ErrorCode };
    }
  | { readonly to: 'cancelling' }
  | {
      readonly to: 'cancelled';
      readonly change?: Pick<SessionChange, KeptColumn | 'stopped_credits'>;
    };

/** What was found at the git host when the turn ended. */
type KeptColumn = 'head_commit' | 'pull_request' | 'pull_request_read_at';

export const errorCodes = [
  'provisioning_failed',
  'repository_unavailable',
  'branch_not_found',
  'source_ref_not_found',
  'branch_conflict',
  'push_rejected',
  'pull_request_failed',
  'checkout_failed',
  'credits_exhausted',
  'turn_limit_reached',
  'session_timeout',
  'input_timeout',
  'sandbox_lost',
  'model_unavailable',
  'model_refused',
  'internal_error',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** Runs a change of a session that this worker runs. Throws ClaimLost if it no longer does. */
export const asWorker = <Result>(
  db: Db,
  session: SessionKey & Pick<SessionRow, 'claims'>,
  change: (db: Db, locked: SessionRow) => Promise<Result>,
): Promise<Result> =>
  transaction(db, async (db) => {
    const locked = await lockClaimedSession(db, session);
    if (locked === undefined) throw new ClaimLost();
    return change(db, locked);
  });

/** A move by the worker that runs the session. One to an end or to `needs_input` releases the claim. */
export const moveClaimed = (
  db: Db,
  session: SessionKey & Pick<SessionRow, 'claims'>,
  move: Move,
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow> => asWorker(db, session, (db, locked) => moveSession(db, locked, move, deps, now));

/** Call this in a transaction that has locked the session. `access`: who asked for it; without, the service did. */
export async function moveSession(
  db: Db,
  locked: SessionRow,
  move: Move,
  deps: SessionDeps,
  now: Date,
  access?: AppAccess,
): Promise<SessionRow> {
  if (!mayFollow(locked.state, move.to)) throw new SessionMoved(locked.state);
  const hasRequest = move.to === 'needs_input';
  const row = await saveSession(db, locked, { ...toColumns(locked, move, now), updated_date: now }, hasRequest ? 2 : 1);
  if (isEnded(move.to) && !('isFollowed' in move && move.isFollowed))
    await failPending(db, row, move.to === 'cancelled' ? 'cancelled' : 'delivery_interrupted');
  await insertEvents(db, row, listMoveEvents(row, move, deps.baseUrl), now);
  const entry = describeMove(row, move);
  if (entry !== undefined)
    await (access === undefined ? auditService(db, row.workspace_id, entry, now) : audit(db, access, entry, now));
  afterCommit(db, () => notifyMoved(row, deps));
  return row;
}

/** Tells those who follow the session of a change that is no move. Once its events were removed, nobody does. */
export async function recordChange(db: Db, row: SessionRow, deps: SessionDeps, now: Date): Promise<void> {
  const data = presentSession(row, deps.baseUrl);
  if (row.has_events) await insertEvents(db, row, [{ version: row.version, event: 'state', data }], now);
  afterCommit(db, () => deps.wake.notify(toSessionTopic(row.id)));
}

function notifyMoved({ id, claimed_slot, due_at }: SessionRow, { wake }: SessionDeps): void {
  wake.notify(toSessionTopic(id));
  if (due_at !== null && claimed_slot === null) wake.notify(sessionQueue);
}

function toColumns(before: SessionRow, move: Move, now: Date): SessionChange {
  const change = 'change' in move ? move.change : undefined;
  return {
    ...change,
    state: move.to,
    ended_at: isEnded(move.to) ? now : null,
    input_request: move.to === 'needs_input' ? JSON.stringify(move.input_request) : null,
    input_request_id: move.to === 'needs_input' ? move.input_request.input_request_id : null,
    ...(move.to === 'cancelling' && { cancel_requested_at: now }),
    ...(move.to === 'completed' && move.change.summary && { summary: toSummary(move.change.summary) }),
    ...(move.to === 'queued' && beginTurn(before)),
    ...toQueueColumns(before, move),
  };
}

const beginTurn = ({ turn }: SessionRow): SessionChange => ({
  turn: turn + 1,
  outcome: null,
  summary: null,
  error_code: null,
  error_message: null,
  checkpoint_tree: null,
  turn_started_at: null,
  work_ms: 0,
  cancel_requested_at: null,
  log_rows: 0,
  log_bytes: 0,
  has_events: true,
});

const released = { claimed_slot: null, claimed_epoch: null, failures: 0, crash_count: 0, last_error: null } as const;

/**
 * A worker that has moved a session to `needs_input` or to an end no longer holds it, so that what the queue writes when the run ends
 * can't overwrite an answer that came in between. A session that is being cancelled stays with the worker that runs it.
 */
function toQueueColumns({ state }: SessionRow, move: Move): SessionChange {
  if (isEnded(move.to)) return { ...released, due_at: null };
  switch (move.to) {
    case 'needs_input':
      return { ...released, due_at: new Date(move.input_request.expires_at) };
    case 'queued':
      return { ...released, due_at: dueNow, failed_at: null };
    case 'running':
      return state === 'needs_input' ? { ...released, due_at: dueNow } : {};
    case 'cancelling':
      return { due_at: dueNow };
    // What is pushed is done: a crash before it is of no more account.
    case 'opening_pull_request':
      return { failures: 0, crash_count: 0 };
    default:
      return {};
  }
}

const maxSummary = 10_000;

/** What the model said, as it is shown. Characters are code points, as everywhere. */
export function toSummary(said: string): string {
  const summary = makeHarmless(said);
  return summary.length <= maxSummary ? summary : [...summary].slice(0, maxSummary).join('');
}

function listMoveEvents(row: SessionRow, move: Move, baseUrl: string): SessionEvent[] {
  const data = presentSession(row, baseUrl);
  if (move.to !== 'needs_input') return [{ version: row.version, event: 'state', data }];
  return [
    { version: row.version - 1, event: 'state', data },
    { version: row.version, event: 'input_request', data: move.input_request },
  ];
}

function describeMove(row: SessionRow, move: Move): AuditedChange | undefined {
  const entry = { target: { kind: 'coding_session', id: row.id }, app_id: row.app_id };
  switch (move.to) {
    case 'cancelling':
      return { ...entry, type: 'session.cancel_requested' };
    case 'cancelled':
      return { ...entry, type: 'session.cancelled' };
    case 'completed':
      return { ...entry, type: 'session.completed', after: { outcome: row.outcome, branch_name: row.branch_name } };
    case 'failed':
      return { ...entry, type: 'session.failed', after: { error_code: row.error_code } };
    default:
      return undefined;
  }
}

// ---- log

const maxLogRows = 5_000;
const maxLogBytes = 2 * 1024 * 1024;
const maxLineCharacters = 4_000;
const lastLine = 'The log of this turn is full. The session goes on; how it ends is still shown.';

/**
 * Appends lines to what people who follow the session see. Throws ClaimLost. What is beyond the bounds of a turn is left out, and the
 * last line says so.
 */
export async function appendLog(
  db: Db,
  session: SessionKey & Pick<SessionRow, 'claims'>,
  lines: readonly string[],
  deps: SessionDeps,
  now: Date,
): Promise<void> {
  if (lines.length === 0) return;
  await asWorker(db, session, async (db, locked) => {
    const { kept, bytes } = takeFitting(locked, lines.map(toLine));
    if (kept.length > 0) await insertLines(db, locked, kept, bytes, deps, now);
  });
}

/**
 * As `appendLog`, for the few lines that say how a turn has ended: they are shown although the log is full. Call this in a transaction
 * that has locked the session. Returns it as it is then.
 */
export const appendEnd = async (
  db: Db,
  locked: SessionRow,
  lines: readonly string[],
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow> => (lines.length === 0 ? locked : insertLines(db, locked, lines.map(toLine), 0, deps, now));

async function insertLines(
  db: Db,
  locked: SessionRow,
  lines: readonly string[],
  bytes: number,
  deps: SessionDeps,
  now: Date,
): Promise<SessionRow> {
  const { log_rows, log_bytes, version } = locked;
  const change = { log_rows: log_rows + lines.length, log_bytes: log_bytes + bytes };
  const row = await saveSession(db, locked, change, lines.length);
  const events = lines.map((text, index) => ({ version: version + index + 1, event: 'log' as const, data: { text } }));
  await insertEvents(db, locked, events, now);
  afterCommit(db, () => deps.wake.notify(toSessionTopic(locked.id)));
  return row;
}

/** A line may be the words of the model, a path of the repository, or the output of a command. */
function toLine(text: string): string {
  const line = makeHarmless(text);
  return line.length <= maxLineCharacters ? line : `${line.slice(0, maxLineCharacters).toWellFormed()}…`;
}

function takeFitting({ log_rows, log_bytes }: SessionRow, lines: readonly string[]) {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    const rows = log_rows + kept.length;
    const size = Buffer.byteLength(line);
    if (rows >= maxLogRows || log_bytes + bytes > maxLogBytes) break; // the last line was written
    const isFull = rows === maxLogRows - 1 || log_bytes + bytes + size > maxLogBytes;
    kept.push(isFull ? lastLine : line);
    bytes += isFull ? maxLogBytes : size;
  }
  return { kept, bytes };
}
