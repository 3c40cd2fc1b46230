// Removes expired data: deleted webhooks' logs, and old deliveries and warnings. Old bodies go with the partition of their
// day (kit/background/partitions.ts).
import { sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import { minIdAt } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { expireUnread } from './stream.ts';

const batchSize = 5_000;
const maxMs = 1_000;

/** Polling query: returns a row if a deleted webhook still has a log. */
export const deletedLogsDueInMs = 'select 0 from deleted_webhooks limit 1';

/** Removes the next batch of a deleted webhook's log. Returns the number of removed rows. */
export async function removeDeletedLogs(db: Db): Promise<number> {
  const { rows } = await sql<{ webhook_id: string; app_id: string }>`/* service */ select webhook_id, app_id
    from deleted_webhooks order by deleted_date limit 1`.execute(db);
  const [deleted] = rows;
  if (deleted === undefined) return 0;
  const removed = await removeDeliveriesOf(db, deleted.webhook_id);
  await removeUncountedBodies(db, deleted.app_id, removed);
  if (removed.length < batchSize)
    await sql`/* service */ delete from deleted_webhooks where webhook_id = ${deleted.webhook_id}
      and not exists (select 1 from webhook_deliveries where webhook_id = ${deleted.webhook_id})`.execute(db);
  return removed.length + 1;
}

/** Removes a batch of deliveries, and the bodies that no other delivery has. Returns the deliveries' events. */
async function removeDeliveriesOf(db: Db, webhook_id: string): Promise<string[]> {
  // Bodies are locked in the order of their ids, so two processes do not wait for each other.
  const { rows } = await sql<{ event_id: string }>`/* service */ with removed as (
      delete from webhook_deliveries where id in (
        select id from webhook_deliveries where webhook_id = ${webhook_id} limit ${batchSize} for update skip locked)
      returning event_id),
    counts as (select event_id, count(*) as count from removed group by 1),
    bodies as (
      select b.event_id, b.deliveries - counts.count as rest from webhook_bodies b join counts using (event_id)
      where b.deliveries is not null order by b.event_id for update of b),
    kept as (
      update webhook_bodies b set deliveries = bodies.rest from bodies where b.event_id = bodies.event_id and bodies.rest > 0),
    unused as (
      delete from webhook_bodies b using bodies where b.event_id = bodies.event_id and bodies.rest <= 0)
    select event_id from removed`.execute(db);
  return rows.map((row) => row.event_id);
}

/**
 * Removes bodies whose deliveries are not counted, because they were stored before deliveries were. They go with the
 * app's last webhook, because another webhook could have received the same event.
 */
async function removeUncountedBodies(db: Db, appId: string, eventIds: readonly string[]): Promise<void> {
  const sorted = eventIds.toSorted();
  // With its bounds, the statement reads only the partitions of these days.
  await sql`/* service */ delete from webhook_bodies where event_id = any(${sorted}::uuid[]) and deliveries is null
    and event_id between ${sorted.at(0) ?? null} and ${sorted.at(-1) ?? null}
    and not exists (select 1 from webhooks where app_id = ${appId})`.execute(db);
}

const dayMs = 24 * 60 * 60 * 1000;
const keptMs = 30 * dayMs;
const expiredMs = 6 * dayMs;

/**
 * Removes deliveries and warnings older than 30 days. What nobody has acknowledged by then expires, and its reader can
 * see for another six days what it was. Bodies are kept for another week: their age is that of the event, which may have
 * waited before the fan-out. Returns the number of removed rows.
 */
export async function removeOldDeliveries(db: Db, now: Date): Promise<number> {
  const before = (ms: number) => minIdAt(new Date(now.getTime() - ms));
  const warnedBefore = new Date(now.getTime() - keptMs);
  const endsAt = performance.now() + maxMs;
  let expired = 0;
  for (let inBatch = batchSize; inBatch === batchSize && performance.now() < endsAt; expired += inBatch)
    inBatch = await expireUnread(db, before(keptMs), batchSize);
  const isOld = sql`id < ${before(keptMs)} and (status <> 'expired' or id < ${before(keptMs + expiredMs)})`;
  const removed = [
    await purge(db, { table: 'webhook_deliveries', where: isOld, order: 'id' }),
    await purge(db, { table: 'webhook_warnings', where: sql`due_at is null and created_date < ${warnedBefore}` }),
  ];
  return removed.reduce((sum, count) => sum + count, expired);
}
