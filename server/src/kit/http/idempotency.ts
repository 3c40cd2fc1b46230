// The Idempotency-Key header (docs/api/conventions.md#idempotency). The key's lock, the work and the stored
// response share one transaction, so after a crash either all or nothing has happened. A second request gets a 409
// while the first is running, and its stored response afterwards.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type Kysely, sql } from 'kysely';
import { purge } from '../background/purge.ts';
import { type AnyDb, transaction } from '../db/database.ts';
import { sendTogether, sendWithCommit } from '../db/send.ts';
import { Problem } from '../problem.ts';
import { ValidationError } from './faults.ts';

const retentionMs = 24 * 60 * 60 * 1000;
/** The row of a key without its answer, and its entries in indexes. */
const rowBytes = 250;
/** Of a larger answer, only what it takes to read it again is stored, if its operation can do that. */
export const maxStoredAnswerBytes = 64 * 1024;
export const idempotencyKeyForm = /^[A-Za-z0-9_.:-]{1,200}$/;

export interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The body is what the operation needs to read its answer again. Null: the answer was not stored. */
  readonly is_reread: boolean;
  /** The notes as headers, such as `X-Truncated`, because a repeat must not claim more than the first answer did. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer to be stored, with its body as JSON. */
export interface AnswerText extends Omit<StoredAnswer, 'body'> {
  readonly text: string;
}

export interface IdempotentRequest {
  /**
   * Caller, workspace, the credential's apps, method and path. The same key in a different scope is a different key.
   */
  readonly scope: readonly string[];
  readonly key: string;
  /** Null if the caller acts in no workspace. */
  readonly workspaceId: string | null;
  /** Body and query. Using the key again with a different body or query is a 409. */
  readonly request: unknown;
  readonly now: Date;
}

export function parseIdempotencyKey(header: string | undefined, required: boolean): string | undefined {
  if (header === undefined) {
    if (required)
      throw new ValidationError([{ loc: ['header', 'Idempotency-Key'], msg: 'is required', type: 'missing' }]);
    return undefined;
  }
  if (idempotencyKeyForm.test(header)) return header;
  const type = header.length > 200 ? 'string_too_long' : header === '' ? 'string_too_short' : 'string_pattern_mismatch';
  throw new ValidationError([
    {
      loc: ['header', 'Idempotency-Key'],
      msg: 'must be 1 to 200 characters long and contain only A-Z a-z 0-9 _ . : -',
      type,
    },
  ]);
}

/** Runs `work` once per key. Later calls return the response that the first call stored. */
export async function runOnce<Tables, Result>(
  db: Kysely<Tables>,
  request: IdempotentRequest,
  work: (db: Kysely<Tables>) => Promise<{ result: Result; store: AnswerText }>,
): Promise<{ replayed: StoredAnswer } | { result: Result }> {
  const id = hashKey(request);
  const requestHash = createHash('sha256')
    .update(canonicalize(request.request) ?? '')
    .digest();
  return transaction(db, async (db) => {
    // The search is a separate statement, so it sees everything that the previous lock holder committed.
    const [[lock], [stored]] = await sendTogether(db, buildLock(db, id), buildSearch(db, id, request.now));
    if (!lock?.free) throw idempotencyInProgress();
    if (stored !== undefined) {
      if (!stored.request_hash.equals(requestHash)) throw idempotencyConflict();
      return { replayed: stored };
    }
    const { result, store } = await work(db);
    const insert = sql`
      insert into idempotency_keys (id, request_hash, workspace_id, status, body, headers, is_reread, size_bytes, created_date)
      values (${id}, ${requestHash}, ${request.workspaceId}, ${store.status}, ${store.text}::jsonb,
        ${JSON.stringify(store.headers)}::jsonb, ${store.is_reread}, ${sizeOf(store)}, ${request.now})
      on conflict (id) do update set request_hash = excluded.request_hash, workspace_id = excluded.workspace_id,
        status = excluded.status, body = excluded.body, headers = excluded.headers, is_reread = excluded.is_reread,
        size_bytes = excluded.size_bytes, created_date = excluded.created_date`;
    await sendWithCommit(db, insert.compile(db));
    return { result };
  });
}

const sizeOf = ({ text, headers }: AnswerText): number =>
  Buffer.byteLength(text) + JSON.stringify(headers).length + rowBytes;

const hashKey = ({ scope, key }: IdempotentRequest): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([...scope, key]))
    .digest();

/** Stores the final response after the follow-up has run. */
export async function replaceStoredAnswer<Tables>(
  db: Kysely<Tables>,
  request: IdempotentRequest,
  answer: AnswerText,
): Promise<void> {
  await sql`update idempotency_keys set status = ${answer.status}, body = ${answer.text}::jsonb,
      headers = ${JSON.stringify(answer.headers)}::jsonb, is_reread = ${answer.is_reread}, size_bytes = ${sizeOf(answer)}
    where id = ${hashKey(request)}`.execute(db);
}

const buildLock = (db: AnyDb, id: Buffer) =>
  sql<{ free: boolean }>`select pg_try_advisory_xact_lock(${id.readBigInt64BE(0).toString()}::bigint) as free`.compile(
    db,
  );

interface StoredRow extends StoredAnswer {
  readonly request_hash: Buffer;
}

const buildSearch = (db: AnyDb, id: Buffer, now: Date) =>
  sql<StoredRow>`select request_hash, status, body, headers, is_reread from idempotency_keys
    where id = ${id} and created_date > ${new Date(now.getTime() - retentionMs)}`.compile(db);

export async function hasStoredAnswer(db: AnyDb, request: IdempotentRequest): Promise<boolean> {
  const { rows } = await db.executeQuery(buildSearch(db, hashKey(request), request.now));
  return rows.length > 0;
}

/** Removes keys older than a day. Returns how many were removed. */
export const removeExpiredKeys = (db: AnyDb, now: Date): Promise<number> =>
  purge(db, {
    table: 'idempotency_keys',
    where: sql`created_date <= ${new Date(now.getTime() - retentionMs)}`,
  });

export const idempotencyConflict = () =>
  new Problem(
    'conflict',
    'idempotency_conflict',
    'This Idempotency-Key was already used with a different request. Use a new key.',
    {
      retrySafe: false,
    },
  );

export const answerNotStored = () =>
  new Problem(
    'conflict',
    'answer_not_stored',
    'The first request with this Idempotency-Key succeeded, but its answer was not stored. Read what it created or changed. For another change, use a new key.',
    {
      retrySafe: false,
    },
  );

export const idempotencyInProgress = () =>
  new Problem(
    'conflict',
    'idempotency_in_progress',
    'A request with this Idempotency-Key is still in progress. Retry in a second.',
    {
      headers: { 'retry-after': '1' },
    },
  );

export const idempotencyRefusals = [
  { status: 409, code: 'answer_not_stored' },
  { status: 409, code: 'idempotency_conflict' },
  { status: 409, code: 'idempotency_in_progress' },
] as const;
