// Owns removing what is no longer kept: the logs of deleted webhooks, and deliveries, bodies and warnings that are too old.
import { sql } from 'kysely';
import { minIdAt } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';

const batchSize = 5_000;

/** SQL for polling. */
export const deletedLogsDueInMs = 'select 0 from deleted_webhooks limit 1';

/**
 * Removes the next batch of the log of one deleted webhook. Bodies are removed once no webhook of the app is left that
 * could have received the same event. Returns how many rows were removed.
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
 * Removes a batch of deliveries and warnings older than 30 days. Bodies are kept a week longer, because their id is that of
 * the event, which may have waited before the fan-out. Returns how many rows were removed.
 */
export async function removeOldDeliveries(db: Db, now: Date): Promise<number> {
  const before = (ms: number) => minIdAt(new Date(now.getTime() - ms));
  const removed = [
    await sql`/* service */ delete from webhook_deliveries where id in (
      select id from webhook_deliveries where id < ${before(keptMs)} order by id limit ${batchSize})`.execute(db),
    await sql`/* service */ delete from webhook_bodies where event_id in (
      select event_id from webhook_bodies where event_id < ${before(keptMs + 7 * dayMs)} order by event_id limit ${batchSize})`.execute(
      db,
    ),
    await sql`/* service */ delete from webhook_warnings where id in (
      select id from webhook_warnings where due_at is null and created_date < ${new Date(now.getTime() - keptMs)}
      limit ${batchSize})`.execute(db),
  ];
  return removed.reduce((sum, { numAffectedRows }) => sum + Number(numAffectedRows ?? 0), 0);
}
