// The queries for streams of deliveries, and for acknowledging deliveries of pull webhooks.
//
// A delivery of a pull webhook has no `due_at`, so the queue never has it. Example, for a webhook that is turned off and
// on again, and whose reader stops after the third delivery:
//
//   step                                      #1         #2       #3       #4
//   fan-out (insertDeliveries)                pending
//   webhook off, then an event                pending    missed
//   webhook on, then two events               pending    missed   pending  pending
//   acknowledged up to 3 (acknowledgeBatch)   delivered  delivered delivered pending
//   30 days later (expireUnread)                                           expired
import { sql } from 'kysely';
import { prepared } from '../../../kit/db/database.ts';
import { sendTogether } from '../../../kit/db/send.ts';
import type { Db } from '../../../tables.ts';
import type { DeliveryRow, WebhookRow } from '../contract.ts';
import { listedColumns } from './deliveries.ts';
import type { WebhookKey } from './webhooks.ts';

const isUnread = sql`status in ('pending', 'missed') and due_at is null`;

/** What is read of a webhook while its deliveries are followed. */
export type FollowedWebhook = Pick<WebhookRow, 'id' | 'secret' | 'previous_secret' | 'previous_secret_expires_at'> & {
  readonly last_sequence: number;
};

export type ListedDelivery = Omit<DeliveryRow, 'attempts'>;

const selectFollowed = prepared<FollowedWebhook, [workspaceId: string, id: string]>(
  'find followed webhook',
  `select w.id, w.secret, w.previous_secret, w.previous_secret_expires_at, s.last_sequence
   from webhooks w join webhook_sequences s on s.webhook_id = w.id
   where w.workspace_id = $1 and w.id = $2 and s.workspace_id = $1`,
);

export const findFollowed = async (db: Db, { workspace_id, id }: WebhookKey): Promise<FollowedWebhook | undefined> =>
  (await selectFollowed(db, workspace_id, id))[0];

const selectAfter = prepared<ListedDelivery, [workspaceId: string, id: string, after: number, limit: number]>(
  'list deliveries after a number',
  `select ${listedColumns.join(', ')} from webhook_deliveries
   where workspace_id = $1 and webhook_id = $2 and sequence > $3 order by sequence limit $4`,
);

/** Reads the webhook and its deliveries after a number, in order. The webhook is undefined if it was deleted. */
export async function readFollowed(db: Db, { workspace_id, id }: WebhookKey, after: number, limit: number) {
  const [[webhook], deliveries] = await sendTogether(
    db,
    selectFollowed.query(workspace_id, id),
    selectAfter.query(workspace_id, id, after, limit),
  );
  return { webhook, deliveries };
}

/** The first number after the given one that is still in the log. */
export async function findNextSequence(db: Db, { workspace_id, id }: WebhookKey, after: number) {
  const { rows } = await sql<{ next: number | null }>`select min(sequence) as next from webhook_deliveries
    where workspace_id = ${workspace_id} and webhook_id = ${id} and sequence > ${after}`.execute(db);
  return rows[0]?.next ?? undefined;
}

/** The number of the oldest delivery that nobody has acknowledged. */
export async function findOldestUnread(db: Db, { workspace_id, id }: WebhookKey): Promise<number | undefined> {
  const { rows } = await sql<{ oldest: number | null }>`select min(sequence) as oldest from webhook_deliveries
    where workspace_id = ${workspace_id} and webhook_id = ${id} and ${isUnread}`.execute(db);
  return rows[0]?.oldest ?? undefined;
}

export const acknowledgedPerBatch = 5_000;

/** Rows are locked in the order of their numbers, so two calls do not wait for each other. Returns how many there were. */
export async function acknowledgeBatch(
  db: Db,
  { workspace_id, id }: WebhookKey,
  upTo: number,
  now: Date,
): Promise<number> {
  const { numAffectedRows } = await sql`update webhook_deliveries set status = 'delivered', delivered_at = ${now}
    where workspace_id = ${workspace_id} and id in (
      select id from webhook_deliveries
      where workspace_id = ${workspace_id} and webhook_id = ${id} and sequence <= ${upTo} and ${isUnread}
      order by sequence limit ${acknowledgedPerBatch} for update)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Expires deliveries of pull webhooks with a smaller id that nobody has acknowledged. Returns how many, up to a limit. */
export async function expireUnread(db: Db, before: string, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ update webhook_deliveries set status = 'expired' where id in (
      select next.id from webhooks w
        cross join lateral (select id from webhook_deliveries d
          where d.webhook_id = w.id and ${isUnread} order by sequence limit 1) oldest
        cross join lateral (select id from webhook_deliveries d
          where d.webhook_id = w.id and ${isUnread} order by sequence limit ${limit}) next
      where w.mode = 'pull' and oldest.id < ${before} and next.id < ${before} limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0);
}
