// Owns the Idempotency-Key header (docs/api/conventions.md#idempotency). The lock on the key, the work and the stored
// answer share one transaction. A crash therefore leaves all or nothing, and a second request finds the first one
// either still running (409) or done (its stored answer).
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type Kysely, sql } from 'kysely';
import { type AnyDb, transaction } from '../db/database.ts';
import { sendTogether, sendWithCommit } from '../db/send.ts';
import { Problem } from '../problem.ts';
import { ValidationError } from './faults.ts';

const retentionMs = 24 * 60 * 60 * 1000;
export const idempotencyKeyForm = /^[A-Za-z0-9_.:-]{1,200}$/;

export interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface IdempotentRequest {
  /** Caller, workspace, apps of the credential, method and path: the same key in another scope is another key. */
  readonly scope: readonly string[];
  readonly key: string;
  /** Body and query. The same key with another body or query is a 409. */
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
    { loc: ['header', 'Idempotency-Key'], msg: 'must have 1 to 200 characters of A-Z a-z 0-9 _ . : -', type },
  ]);
}

/** Runs `work` once per key. Later calls return what the first one stored. */
export async function runOnce<Tables, Result>(
  db: Kysely<Tables>,
  request: IdempotentRequest,
  work: (db: Kysely<Tables>) => Promise<{ result: Result; store: StoredAnswer }>,
): Promise<{ replayed: StoredAnswer } | { result: Result }> {
  const id = hashKey(request);
  const requestHash = createHash('sha256')
    .update(canonicalize(request.request) ?? '')
    .digest();
  return transaction(db, async (db) => {
    // The search sees what the previous owner of the lock has committed, because it is a statement of its own.
    const [[lock], [stored]] = await sendTogether(db, buildLock(db, id), buildSearch(db, id, request.now));
    if (!lock?.free) throw idempotencyInProgress();
    if (stored !== undefined) {
      if (!stored.request_hash.equals(requestHash)) throw idempotencyConflict();
      return { replayed: { status: stored.status, body: stored.body } };
    }
    const { result, store } = await work(db);
    const insert = sql`
      insert into idempotency_keys (id, request_hash, status, body, created_date)
      values (${id}, ${requestHash}, ${store.status}, ${JSON.stringify(store.body)}::jsonb, ${request.now})
      on conflict (id) do update set request_hash = excluded.request_hash, status = excluded.status,
        body = excluded.body, created_date = excluded.created_date`;
    await sendWithCommit(db, insert.compile(db));
    return { result };
  });
}

const hashKey = ({ scope, key }: IdempotentRequest): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([...scope, key]))
    .digest();

/** Stores the final answer, once the follow-up after the commit has run. */
export async function replaceStoredAnswer<Tables>(
  db: Kysely<Tables>,
  request: IdempotentRequest,
  { status, body }: StoredAnswer,
): Promise<void> {
  await sql`update idempotency_keys set status = ${status}, body = ${JSON.stringify(body)}::jsonb
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
  sql<StoredRow>`select request_hash, status, body from idempotency_keys
    where id = ${id} and created_date > ${new Date(now.getTime() - retentionMs)}`.compile(db);

export async function hasStoredAnswer(db: AnyDb, request: IdempotentRequest): Promise<boolean> {
  const { rows } = await db.executeQuery(buildSearch(db, hashKey(request), request.now));
  return rows.length > 0;
}

/** Removes keys older than a day, at most 5,000 at a time. Returns how many. */
export async function removeExpiredKeys<Tables>(db: Kysely<Tables>, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`delete from idempotency_keys where id in (
    select id from idempotency_keys where created_date <= ${new Date(now.getTime() - retentionMs)} limit 5000)`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

export const idempotencyConflict = () =>
  new Problem(
    'conflict',
    'idempotency_conflict',
    'This Idempotency-Key was already used with a different request. Use a new key.',
    {
      retrySafe: false,
    },
  );

export const idempotencyInProgress = () =>
  new Problem(
    'conflict',
    'idempotency_in_progress',
    'A request with this Idempotency-Key is still running. Retry in a second.',
    {
      headers: { 'retry-after': '1' },
    },
  );

export const idempotencyRefusals = [
  { status: 409, code: 'idempotency_conflict' },
  { status: 409, code: 'idempotency_in_progress' },
] as const;
