// A session's state transitions (docs/api/coding-sessions.md#states), and its events. Each transition is a single
// transaction that writes the state and its columns, the queue's columns, the event for the session's followers, and
// the audit entry.
import { type AuditedChange, audit, auditService } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { ClaimLost } from '../../../core/turns/claim.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../../kit/db/database.ts';
import { makeHarmless } from '../../../kit/harmless.ts';
import type { Db } from '../../../tables.ts';
import { type InputRequest, presentSession } from '../contract.ts';
import { insertEvents, type SessionEvent } from '../store/events.ts';
import { failPending } from '../store/messages.ts';
import {
  dueNow,
  lockClaimedSession,
  type SessionChange,
  type SessionKey,
  type SessionRow,
  saveSession,
} from '../store/sessions.ts';
import { isEnded, mayFollow, type State } from '../transitions.ts';

/** The name of both the session queue's table and its wake-up topic. */
export const sessionQueue = 'coding_sessions';

/** The topic on which a session's worker and followers are told about its changes. */
export const toSessionTopic = (id: string): string => `coding_session:${id}`;

export interface SessionDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly baseUrl: string;
}

/**
 * Thrown if the current state does not allow the transition. Example: to `completed` while the session is being
 * cancelled.
 */
export class SessionMoved extends Error {
  readonly state: State;

  constructor(state: State) {
    super(`the session is ${state}`);
    this.state = state;
  }
}

/** The target state, and the columns that depend on it. `moveSession` sets all other columns, such as the queue's. */
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
      /** Set if another turn begins immediately, to read the pending messages. */
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

/** The columns that record what was found on the git host when the turn ended. */
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

/** Runs a change to a session as the worker that has claimed it. Throws ClaimLost if the worker has lost its claim. */
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

/** Moves the session as its worker. A transition to `needs_input` or to a final state releases the claim. */
export const moveClaimed = (
  db: Db,
  deps: SessionDeps,
  session: SessionKey & Pick<SessionRow, 'claims'>,
  move: Move,
  now: Date,
): Promise<SessionRow> => asWorker(db, session, (db, locked) => moveSession(db, deps, { locked, move }, now));

/**
 * Call this in a transaction that has locked the session. `access` is the caller that requested the transition, or
 * undefined if the service requested it.
 */
export async function moveSession(
  db: Db,
  deps: SessionDeps,
  { locked, move }: { readonly locked: SessionRow; readonly move: Move },
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

/**
 * Notifies the session's followers of a change that is not a transition. Inserts no event if the session's events have
 * already been removed.
 */
export async function recordChange(db: Db, deps: SessionDeps, row: SessionRow, now: Date): Promise<void> {
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
    ...(move.to === 'queued' && resetTurn(before)),
    ...toQueueColumns(before, move),
  };
}

const resetTurn = ({ turn }: SessionRow): SessionChange => ({
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
 * A transition to `needs_input` or to a final state releases the session, so the queue's update at the end of the run
 * can't overwrite an answer that arrived in the meantime. A session that is being cancelled stays with its worker.
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
    // Once the commit is pushed, earlier crashes no longer count.
    case 'opening_pull_request':
      return { failures: 0, crash_count: 0 };
    default:
      return {};
  }
}

const maxSummary = 10_000;

/** Converts the model's text for display. Its length is counted in code points. */
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
const lastLine = "This turn's log is full. The session continues, and its outcome will still be logged.";

/**
 * Appends lines to the session's log. Throws ClaimLost. Lines that exceed the turn's limits are dropped, and the last
 * line says so.
 */
export async function appendLog(
  db: Db,
  deps: SessionDeps,
  session: SessionKey & Pick<SessionRow, 'claims'>,
  lines: readonly string[],
  now: Date,
): Promise<void> {
  if (lines.length === 0) return;
  await asWorker(db, session, async (db, locked) => {
    const { kept, bytes } = takeFitting(locked, lines.map(toLine));
    if (kept.length > 0) await insertLines(db, deps, { locked, lines: kept, bytes }, now);
  });
}

/**
 * Like `appendLog`, but for the few lines that explain how a turn ended. They are appended even if the log is full.
 * Call this in a transaction that has locked the session. Returns the updated session.
 */
export const appendEnd = async (
  db: Db,
  deps: SessionDeps,
  locked: SessionRow,
  lines: readonly string[],
  now: Date,
): Promise<SessionRow> =>
  lines.length === 0 ? locked : insertLines(db, deps, { locked, lines: lines.map(toLine), bytes: 0 }, now);

/**
 * Appends what a person sent, even if the log is full. `input_request_id` is the question that it answers. Call this in
 * a transaction that has locked the session.
 */
export async function appendSent(
  db: Db,
  deps: SessionDeps,
  locked: SessionRow,
  { text, input_request_id }: { readonly text: string; readonly input_request_id: string | null },
  now: Date,
): Promise<void> {
  const { id, version } = await saveSession(db, locked, {});
  const data = { text: toLine(text), ...(input_request_id !== null && { input_request_id }) };
  await insertEvents(db, locked, [{ version, event: 'log', data }], now);
  afterCommit(db, () => deps.wake.notify(toSessionTopic(id)));
}

async function insertLines(
  db: Db,
  deps: SessionDeps,
  { locked, lines, bytes }: { readonly locked: SessionRow; readonly lines: readonly string[]; readonly bytes: number },
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

/** A line may contain text from the model, a path in the repository, or a command's output. */
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
    if (rows >= maxLogRows || log_bytes + bytes > maxLogBytes) break; // the last line has already been written
    const isFull = rows === maxLogRows - 1 || log_bytes + bytes + size > maxLogBytes;
    kept.push(isFull ? lastLine : line);
    bytes += isFull ? maxLogBytes : size;
  }
  return { kept, bytes };
}
