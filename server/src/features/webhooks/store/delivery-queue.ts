// The queries that move a delivery through its queue: loading an attempt's data, and holding, resuming,
// redelivering, replaying and failing deliveries. kit/background/queues claims and completes the rows.
//
// `webhook_deliveries` is both the delivery log and the queue. A row is queued while `due_at` is set, and is being
// attempted while `claimed_slot` is set (callers then see the status `delivering`). Example: event e7 for a webhook
// that fails, is turned off, and is turned back on:
//
//   step                                     status     due_at    claimed_slot  attempts_made  scheduled_attempts
//   fan-out (insertDeliveries)               pending    12:00:00  -             0              0
//   a worker in slot 2 claims it             pending    12:00:00  2             0              0
//   the endpoint returns 500; completed      pending    12:00:06  -             1              1
//   claimed again, returns 500; completed    pending    12:05:20  -             2              2
//   webhook turned off (holdDeliveries)      held       -         -             2              2
//   webhook turned on (resumeDeliveries)     pending    13:00:00  -             2              2
//   claimed, returns 200; completed          delivered  -         -             3              3
//
// If the delivery had been held for more than 7 days, resumeDeliveries would have set `expired`. If the eighth
// scheduled attempt fails, completing it sets `failed`. A pull webhook's deliveries are `pending` without `due_at`, so
// they are never queued (store/stream.ts). Redelivering the row in line 4 (queueRedelivery) saves its
// schedule in `resume_at`:
//
//   queueRedelivery at 12:01:00              pending    12:01:00  -             2              2   resume_at 12:05:20
//   claimed, returns 500; completed          pending    12:05:20  -             3              2   resume_at -
import { type RawBuilder, sql } from 'kysely';
import type { QueueRow } from '../../../kit/background/queues/queue.ts';
import { prepared } from '../../../kit/db/database.ts';
import { sendTogether, sendWithCommitForRows } from '../../../kit/db/send.ts';
import type { Db } from '../../../tables.ts';
import type { DeliveryRow, Replay, WebhookRow } from '../contract.ts';
import { queryBodies } from './bodies.ts';
import { findFirstSequenceSince } from './deliveries.ts';
import type { WebhookKey } from './webhooks.ts';

// ---- attempt data

/** The webhook's columns that an attempt needs. `app_deleted` is true while the app is in the trash. */
export type DeliveryTarget = Pick<
  WebhookRow,
  | 'workspace_id'
  | 'id'
  | 'mode'
  | 'target_url'
  | 'secret'
  | 'previous_secret'
  | 'previous_secret_expires_at'
  | 'disabled_at'
> & { readonly app_deleted: boolean };

/** Returns the targets, keyed by webhook id. Deleted webhooks are left out. */
export async function listTargets(db: Db, webhook_ids: readonly string[]): Promise<Map<string, DeliveryTarget>> {
  return new Map((await selectTargets(db, webhook_ids)).map((row) => [row.id, row]));
}

/**
 * Reads the targets for the deliveries that the transaction inserts. The read is sent with the commit, as late as
 * possible, because a webhook may be turned off in the meantime.
 */
export const readTargetsWithCommit = (db: Db, webhook_ids: readonly string[]) =>
  sendWithCommitForRows(db, selectTargets.query(webhook_ids));

const selectTargets = prepared<DeliveryTarget, [readonly string[]]>(
  'list targets of deliveries',
  `/* service */ select w.workspace_id, w.id, w.mode, w.target_url, w.secret, w.previous_secret, w.previous_secret_expires_at, w.disabled_at,
     a.deleted_date is not null as app_deleted
   from webhooks w join apps a on a.workspace_id = w.workspace_id and a.id = w.app_id where w.id = any($1::uuid[])`,
);

/** A delivery and the data that an attempt needs. */
export interface LoadedDelivery extends QueueRow, DeliveryRow {
  readonly due_at: Date | null;
  readonly claimed_slot: number | null;
  /** Undefined if the webhook was deleted. */
  readonly target?: DeliveryTarget;
  readonly body?: string;
}

export async function loadDeliveries(db: Db, rows: readonly LoadedDelivery[]): Promise<LoadedDelivery[]> {
  const [targetRows, ...bodyRows] = await sendTogether(
    db,
    selectTargets.query([...new Set(rows.map((row) => row.webhook_id))]),
    ...queryBodies(rows.map((row) => row.event_id)),
  );
  const targets = new Map(targetRows.map((row) => [row.id, row]));
  const bodies = new Map(bodyRows.flat().map((row) => [row.event_id, row.body]));
  return rows.map((row) => ({ ...row, target: targets.get(row.webhook_id), body: bodies.get(row.event_id) }));
}

// ---- hold and resume

/**
 * The number of rows that one statement changes. A longer backlog takes several statements, each in its own
 * transaction.
 */
const batchSize = 5_000;

/**
 * Holds the next batch of queued deliveries for webhooks that are off. A delivery that is being attempted is held when
 * the attempt completes. Returns whether there may be more.
 */
export async function holdDeliveries(db: Db, webhook_ids: readonly string[]): Promise<boolean> {
  const { numAffectedRows } = await sql`/* service */ update webhook_deliveries set status = 'held', due_at = null
    where id in (
      select id from webhook_deliveries where webhook_id = any(${webhook_ids}::uuid[]) and due_at is not null
        and claimed_slot is null order by due_at limit ${batchSize})
      and due_at is not null and claimed_slot is null`.execute(db);
  return Number(numAffectedRows ?? 0) === batchSize;
}

/**
 * Queues the next batch of held deliveries in sequence order, one microsecond apart. Deliveries created before `oldest`
 * expire. Returns whether there may be more.
 */
export async function resumeDeliveries(db: Db, { workspace_id, id }: WebhookKey, oldest: Date): Promise<boolean> {
  const { numAffectedRows } = await sql`update webhook_deliveries d
    set status = case when held.created_date >= ${oldest} then 'pending' else ${endStatus('expired')} end,
      due_at = case when held.created_date >= ${oldest}
        then statement_timestamp() + held.place * interval '1 microsecond' end
    from (select id, created_date, row_number() over (order by sequence) as place from (
        select id, created_date, sequence from webhook_deliveries
        where workspace_id = ${workspace_id} and webhook_id = ${id} and status = 'held'
        order by sequence limit ${batchSize}) next) held
    where d.workspace_id = ${workspace_id} and d.id = held.id`.execute(db);
  return Number(numAffectedRows ?? 0) === batchSize;
}

// ---- redeliver and replay

/**
 * Makes the delivery due before all of its webhook's other deliveries. Its schedule continues after the attempt (see
 * the example above). Returns false if an attempt is running.
 */
export async function queueRedelivery(db: Db, { workspace_id, webhook_id, id }: DeliveryRow): Promise<boolean> {
  const { rows } = await sql`update webhook_deliveries set status = 'pending', kind = 'manual', failed_at = null,
      resume_at = case when due_at is null then null when kind = 'manual' then resume_at else due_at end,
      due_at = least(clock_timestamp(), (select min(due_at) - interval '1 ms' from webhook_deliveries first
        where workspace_id = ${workspace_id} and first.webhook_id = ${webhook_id} and first.claimed_slot is null
          and first.due_at is not null))
    where workspace_id = ${workspace_id} and id = ${id} and claimed_slot is null returning 1`.execute(db);
  return rows.length > 0;
}

/**
 * Queues finished deliveries again with a new schedule, in sequence order, one every `intervalMs` from `startAt`.
 * Pending deliveries keep their schedule, and are attempted at their new time or when they are due, whichever is
 * earlier. Returns the sequence numbers in ascending order.
 */
export async function queueReplay(
  db: Db,
  webhook: WebhookKey,
  filter: Replay,
  startAt: Date,
  intervalMs: number,
): Promise<number[]> {
  const { workspace_id, id } = webhook;
  const { statuses = ['failed', 'missed'], limit = 1_000 } = filter;
  const { rows } = await sql<{ sequence: number }>`with chosen as (
      select id, sequence from webhook_deliveries
      where workspace_id = ${workspace_id} and webhook_id = ${id} and status = any(${statuses}::text[])
        and claimed_slot is null and (due_at is null or (status = 'pending' and kind <> 'manual')) ${sql.join(await replayBounds(db, webhook, filter), sql` `)}
      order by sequence limit ${limit} for update),
    placed as (select id, row_number() over (order by sequence) - 1 as place from chosen)
    update webhook_deliveries d set status = 'pending', kind = 'replay', resume_at = null, failures = 0, failed_at = null,
      scheduled_attempts = case d.status when 'pending' then d.scheduled_attempts else 0 end,
      due_at = least(d.due_at, ${startAt}::timestamptz + placed.place * ${intervalMs} * interval '1 ms')
    from placed where d.workspace_id = ${workspace_id} and d.id = placed.id returning d.sequence`.execute(db);
  return rows.map((row) => row.sequence).sort((a, b) => a - b);
}

async function replayBounds(db: Db, webhook: WebhookKey, filter: Replay): Promise<RawBuilder<unknown>[]> {
  const bounds: RawBuilder<unknown>[] = [];
  if (filter.from !== undefined)
    bounds.push(sql`and sequence >= ${await findFirstSequenceSince(db, webhook, filter.from)}`);
  if (filter.to !== undefined)
    bounds.push(sql`and sequence < ${await findFirstSequenceSince(db, webhook, new Date(filter.to.getTime() + 1))}`);
  if (filter.after_seq !== undefined) bounds.push(sql`and sequence > ${filter.after_seq}`);
  if (filter.to_seq !== undefined) bounds.push(sql`and sequence <= ${filter.to_seq}`);
  return bounds;
}

// ---- ending without success

/** Fails a delivery that could not be attempted because of an internal error. */
export async function failDelivery(db: Db, id: string): Promise<void> {
  await sql`/* service */ update webhook_deliveries set status = ${endStatus('failed')} where id = ${id}`.execute(db);
}

/** A delivery that has succeeded stays `delivered`, even if a later attempt fails. */
const endStatus = (status: 'failed' | 'expired') =>
  sql`case when delivered_at is null then ${status} else 'delivered' end`;
