// The schemas of queues as operators see them (docs/operate/queues.md).
import { z } from 'zod';
import { type ListedRow, type OperatedRow, rowStates } from '../../kit/background/queues/operate.ts';
import {
  answer,
  count,
  described,
  id,
  list,
  optional,
  pageQuery,
  parameter,
  pattern,
  query,
  queryTime,
  strictBody,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';

const uuid = pattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 36);
const exampleOwner = '019801c2-0d4e-7c1a-9b57-3f0a55b1c001';
const exampleRow = '01980a11-7c00-7b11-8f00-000000000001';
const exampleTime = '2026-11-15T09:30:00.000Z';
const queueName = described(z.string(), 'The name of the queue.', 'webhook_deliveries');

// ---- answers

export const QueueState = answer('QueueState', {
  queue: queueName,
  due: described(
    count.nullable(),
    'The number of rows that are due and wait for a worker; null if the queue could not be read in time.',
    4,
  ),
  running: described(
    count.nullable(),
    'The number of rows that workers have claimed; null if the queue could not be read in time.',
    2,
  ),
  delayed: described(
    count.nullable(),
    'The number of rows that are due later, such as retries; null if the queue could not be read in time.',
    1,
  ),
  failed: described(
    count.nullable(),
    'The number of rows that have failed for good; null if the queue could not be read in time.',
    0,
  ),
  oldest_seconds: described(
    z.number().nullable(),
    'The number of seconds for which the oldest due row has waited; null if the queue could not be read in time.',
    3,
  ),
  paused_until: described(
    timestamp.nullable(),
    'When the pause of the whole queue ends; null if it is not paused.',
    exampleTime,
  ),
  paused_owners: described(count, 'The number of owners whose rows are paused.', 0),
  dead_rows: described(z.number(), 'The dead rows of the table, as PostgreSQL estimates them.', 1200),
  last_vacuum: described(
    z.string().nullable(),
    'When the table was last vacuumed; null if it has not been.',
    '2026-11-15T09:28:11.025+00:00',
  ),
});

const rowFields = {
  id: described(id, 'The id of the row.', exampleRow),
  owner: described(
    id,
    'The id of the user, app, webhook or workspace that owns the row, depending on the queue.',
    exampleOwner,
  ),
  key: described(
    z.string().nullable(),
    'The value by which the queue limits what runs at the same time; words other than ids are replaced by a hash. Null if it has no such limit.',
    '019800aa-52a0-7c4e-8d29-0a4c1d2e9001 #a379a6f6',
  ),
  state: described(z.enum([...rowStates, 'done']), 'The state of the row.'),
  due_at: described(timestamp.nullable(), 'When the row is due; null if it will not run again.', exampleTime),
  failures: described(count, 'The number of runs that have failed.', 0),
  crashes: described(count, 'How many times a worker has crashed while running it.', 0),
  slot: described(z.int().nullable(), 'The slot of the worker that runs the row.', null),
  heartbeat_seconds: described(
    z.number().nullable(),
    'How long ago this worker sent a heartbeat; null if none runs the row, or if the worker has lost its slot.',
    null,
  ),
  last_error: described(
    z.string().nullable(),
    'Why the last run failed, without the addresses, values and tokens that the message quotes.',
    'connect ECONNREFUSED …',
  ),
  failed_at: described(timestamp.nullable(), 'When the row failed for good.', null),
};
export const OperatedQueueRow = answer('QueueRow', rowFields);
export const ExplainedQueueRow = answer('ExplainedQueueRow', {
  ...rowFields,
  why: described(z.array(z.string()), 'Why the row does not run now, or what it does.', [
    'Its owner is at its limit: 4 of 4 rows are running.',
  ]),
});

export const presentRow = ({ due_at, failed_at, ...row }: OperatedRow | ListedRow) => {
  const { at: _, ...shown } = { at: null, ...row };
  return { ...shown, due_at: due_at?.toISOString() ?? null, failed_at: failed_at?.toISOString() ?? null };
};

const hasMore = described(
  z.boolean(),
  'Whether rows may be left, because one request changes a limited number of them; send it again.',
  false,
);
export const RetriedQueueRows = answer('RetriedQueueRows', {
  queue: queueName,
  retried: described(count, 'The number of rows that are due again, at most 10,000.', 12),
  has_more: hasMore,
});
export const CancelledQueueRows = answer('CancelledQueueRows', {
  queue: queueName,
  cancelled: described(count, 'The number of rows that were ended, at most 1,000.', 12),
  has_more: hasMore,
  running: described(z.array(id), 'The ids of rows that were running, and continue.', []),
});
export const QueuePause = answer('QueuePause', {
  queue: queueName,
  owner: described(id.nullable(), 'The owner whose rows are meant; null if all rows of the queue are.', null),
  paused_until: described(timestamp.nullable(), 'When the pause ends; null if there is none.', exampleTime),
});

// ---- what operators send

export const QueueRowQuery = query({
  state: parameter(z.enum(rowStates).optional(), 'Only rows in this state; all that are not done if left out.'),
  owner: parameter(uuid.optional(), 'Only rows of this owner.', exampleOwner),
  ...pageQuery,
});

const ids = described(optional(list(uuid, 1, 100)), 'The ids of the rows; others are left alone.', [exampleRow]);
const fault = (error: string) => ({ params: { type: 'value_error' }, error });

export const QueueRetry = strictBody({
  ids,
  failed: described(optional(z.literal(true)), 'Must be true if `ids` is left out: all failed rows are meant.'),
  owner: described(optional(uuid), 'Of the failed rows, only those of this owner.', exampleOwner),
  since: described(optional(queryTime), 'Of the failed rows, only those that failed since.', exampleTime),
})
  .refine(({ ids, failed }) => (ids === undefined) === (failed === true), fault('must contain either ids or failed'))
  .refine(
    ({ ids, owner, since }) => ids === undefined || (owner === undefined && since === undefined),
    fault('must not contain owner or since together with ids'),
  );
export const QueueCancel = strictBody({
  ids,
  owner: described(optional(uuid), 'Instead of `ids`: all waiting rows of this owner.', exampleOwner),
  reason: described(text(1, 500), 'Why, as shown in the audit log and in `last_error`.', 'The address is wrong'),
}).refine(({ ids, owner }) => (ids === undefined) !== (owner === undefined), fault('must contain either ids or owner'));

const pausedOwner = described(
  optional(uuid),
  'Only rows of this owner; all rows of the queue if left out.',
  exampleOwner,
);
export const NewQueuePause = strictBody({
  owner: pausedOwner,
  seconds: described(z.int().min(1).max(604_800), 'How long the pause lasts, at most seven days.', 3600),
});
export const QueueResume = strictBody({ owner: pausedOwner });
