// Removes expired data: deleted webhooks' logs, and old deliveries, bodies and warnings.
import { sql } from 'kysely';
import { purge } from '../../../kit/background/purge.ts';
import { minIdAt } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';

const batchSize = 5_000;

/** Polling query: returns a row if a deleted webhook still has a log. */
export const deletedLogsDueInMs = 'select 0 from deleted_webhooks limit 1';

/**
 * Removes the next batch of a deleted webhook's log. Bodies are removed once the app has no webhooks left, because
 * another webhook could have received the same event. Returns the number of removed rows.
 */
export async function removeDeletedLogs(db: Db): Promise<number> {
  const { rows } = await sql<{ webhook_id: string; app_id: string }>`/* service */ select webhook_id, app_id
    from deleted_webhooks order by deleted_date limit 1`.execute(db);
  const [deleted] = rows;
  if (deleted === undefined) return 0;
  const removed = await sql<{ event_id: string }>`/* service */ delete from webhook_deliveries where id in (
    select id from webhook_deliveries where webhook_id = ${deleted.webhook_id} limit ${batchSize} for update skip locked)
    returning event_id`.execute(db);
  await sql`/* service */ delete from webhook_bodies where event_id = any(${removed.rows.map((row) => row.event_id)}::uuid[])
    and not exists (select 1 from webhooks where app_id = ${deleted.app_id})`.execute(db);
  if (removed.rows.length < batchSize)
    await sql`/* service */ delete from deleted_webhooks where webhook_id = ${deleted.webhook_id}
      and not exists (select 1 from webhook_deliveries where webhook_id = ${deleted.webhook_id})`.execute(db);
  return removed.rows.length + 1;
}

const dayMs = 24 * 60 * 60 * 1000;
const keptMs = 30 * dayMs;

/**
 * Removes deliveries and warnings older than 30 days. Bodies are kept for another week, because their age is
 * taken from the event's id, and the event may have waited before the fan-out. Returns the number of removed rows.
 */
export async function removeOldDeliveries(db: Db, now: Date): Promise<number> {
  const before = (ms: number) => minIdAt(new Date(now.getTime() - ms));
  const warnedBefore = new Date(now.getTime() - keptMs);
  const removed = [
    await purge(db, { table: 'webhook_deliveries', where: sql`id < ${before(keptMs)}`, order: 'id' }),
    await purge(db, {
      table: 'webhook_bodies',
      where: sql`event_id < ${before(keptMs + 7 * dayMs)}`,
      order: 'event_id',
    }),
    await purge(db, { table: 'webhook_warnings', where: sql`due_at is null and created_date < ${warnedBefore}` }),
  ];
  return removed.reduce((sum, count) => sum + count, 0);
}
