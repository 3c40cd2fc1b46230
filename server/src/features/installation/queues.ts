// What operators do with queues through the API. `plinth queues` does the same (commands/queues.ts).
import type { z } from 'zod';
import { auditOperator } from '../../core/audit/audit.ts';
import { describeQueueChange, type QueueAuditType, type QueueChange } from '../../core/audit/queues.ts';
import type { SelfAccess } from '../../core/auth/proofs.ts';
import {
  cancelQueueRows,
  listQueueRows,
  NotByHand,
  type RowPosition,
  type RowState,
  retryQueueRows,
} from '../../kit/background/queues/operate.ts';
import { pauseQueue, resumeQueue } from '../../kit/background/queues/pauses.ts';
import type { Queue } from '../../kit/background/queues/queue.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged, withNotes } from '../../kit/http/answer.ts';
import type { Cursors, Position } from '../../kit/http/cursor.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type NewQueuePause,
  presentRow,
  type QueueCancel,
  type QueueResume,
  type QueueRetry,
  type QueueRowQuery,
} from './contract.ts';

/** An operator's proof, and the queue in the path. */
export type QueueAccess = SelfAccess & { readonly queue: Queue };

export interface QueueListDeps {
  readonly cursors: Cursors;
}

export async function listRows(
  db: Db,
  { cursors }: QueueListDeps,
  access: QueueAccess,
  query: z.output<typeof QueueRowQuery>,
  now: Date,
) {
  const { caller, queue } = access;
  const { state, owner, limit, cursor } = query;
  const binding = ['listQueueRows', caller.credential_id, queue.name, state ?? null, owner ?? null];
  const after = toRowPosition(cursors.open(cursor, binding, now));
  const rows = await listQueueRows(db, queue, { state, owner, after, limit: limit + 1 });
  return cursors.page(rows, limit, binding, now, presentRow, (row) => [row.state, row.at, row.id]);
}

const toRowPosition = (position: Position | undefined): RowPosition | undefined =>
  position && { state: position[0] as RowState, at: String(position[1]), id: String(position[2]) };

/** Records a change in the transaction that makes it. */
const recordAs =
  (access: QueueAccess, type: QueueAuditType, change: QueueChange, now: Date) =>
  (db: Db, count?: number): Promise<void> =>
    auditOperator(
      db,
      access,
      null,
      describeQueueChange(type, access.queue, { ...change, ...(count !== undefined && { count }) }),
      now,
    );

// A request ends within seconds, however many rows there are.
const maxRetried = 10_000;
const maxCancelled = 1_000;

export async function retryRows(db: Db, access: QueueAccess, body: z.output<typeof QueueRetry>, now: Date) {
  const { queue } = access;
  const { failed: _, ...filter } = body;
  const record = recordAs(access, 'queue.retried', filter, now);
  const retried = await retryQueueRows(db, queue, filter, record, maxRetried).catch(explainNotByHand);
  const answer = { queue: queue.name, retried, has_more: retried === maxRetried };
  return retried === 0 ? unchanged(answer) : answer;
}

export async function cancelRows(db: Db, access: QueueAccess, body: z.output<typeof QueueCancel>, now: Date) {
  const { queue } = access;
  const { ids, owner = '', reason } = body;
  const record = recordAs(access, 'queue.cancelled', body, now);
  const { cancelled, hasMore, running } = await cancelQueueRows(
    db,
    queue,
    ids === undefined ? { owner, max: maxCancelled } : { ids },
    reason,
    record,
  ).catch(explainNotByHand);
  const answer = { queue: queue.name, cancelled, has_more: hasMore, running: [...running] };
  return cancelled === 0 ? unchanged(answer) : answer;
}

function explainNotByHand(error: unknown): never {
  if (!(error instanceof NotByHand)) throw error;
  throw new Problem(
    'conflict',
    'queue_rows_not_changeable',
    "Rows of this queue can't be changed in this way. The field `instead` says what to do.",
    { members: { instead: error.message }, retrySafe: true },
  );
}

export const pause = (db: Db, access: QueueAccess, body: z.output<typeof NewQueuePause>, now: Date) =>
  transaction(db, async (db) => {
    const { owner = null, seconds } = body;
    const { until } = await pauseQueue(db, access.queue, owner, seconds);
    await recordAs(access, 'queue.paused', { owner: body.owner, until }, now)(db);
    return { queue: access.queue.name, owner, paused_until: until.toISOString() };
  });

export const resume = (db: Db, access: QueueAccess, { owner }: z.output<typeof QueueResume>, now: Date) =>
  transaction(db, async (db) => {
    const wasPaused = await resumeQueue(db, access.queue, owner ?? null);
    if (wasPaused) await recordAs(access, 'queue.resumed', { owner }, now)(db);
    const answer = { queue: access.queue.name, owner: owner ?? null, paused_until: null };
    return withNotes(answer, wasPaused ? {} : { changed: false });
  });
