// The queries that read a webhook's delivery log.
import { sql } from 'kysely';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import { type DeliveryQuery, type DeliveryRow, type WebhookRow, webhookEvents } from '../contract.ts';
import type { WebhookKey } from './webhooks.ts';

export const listedColumns = [
  'id',
  'workspace_id',
  'webhook_id',
  'event_id',
  'event_type',
  'sequence',
  'status',
  'attempts_made',
  'last_status_code',
  'created_date',
  'delivered_at',
  'due_at',
  'claimed_slot',
] as const;

const isRunning = sql<boolean>`claimed_slot is not null`;

export async function listDeliveries(db: Db, webhook: WebhookRow, query: DeliveryQuery, after: Position | undefined) {
  const ascending = query.after_seq !== undefined;
  if (query.event_type !== undefined && !webhookEvents[webhook.scope].some((name) => name === query.event_type))
    return [];
  let rows = selectDeliveries(db, webhook)
    .select(listedColumns)
    .orderBy('sequence', ascending ? 'asc' : 'desc')
    .limit(query.limit + 1);
  if (query.status === 'delivering')
    rows = rows.where('id', 'in', selectDeliveries(db, webhook).where(isRunning).select('id').offset(0));
  else if (query.status === 'pending' && webhook.mode === 'pull')
    rows = rows.where('status', '=', 'pending').where('due_at', 'is', null); // uses the index on unread rows
  else if (query.status === 'pending')
    rows = rows.where('due_at', 'is not', null).where('claimed_slot', 'is', null); // uses the index on queued rows
  else if (query.status !== undefined) rows = rows.where('status', '=', query.status).where((is) => is.not(isRunning));
  if (query.event_type !== undefined) rows = rows.where('event_type', '=', query.event_type);
  if (query.after_seq !== undefined) rows = rows.where('sequence', '>', query.after_seq);
  if (query.before_seq !== undefined) rows = rows.where('sequence', '<', query.before_seq);
  if (query.from !== undefined)
    rows = rows.where('sequence', '>=', await findFirstSequenceSince(db, webhook, query.from));
  if (query.to !== undefined)
    rows = rows.where('sequence', '<', await findFirstSequenceSince(db, webhook, new Date(query.to.getTime() + 1)));
  if (after !== undefined) rows = rows.where('sequence', ascending ? '>' : '<', Number(after[0]));
  return rows.$castTo<Omit<DeliveryRow, 'attempts'>>().execute();
}

export const findDelivery = (db: Db, { webhook }: { webhook: WebhookKey }, id: string) =>
  selectDeliveries(db, webhook).where('id', '=', idOrNull(id)).selectAll().$castTo<DeliveryRow>().executeTakeFirst();

export async function countDeliveries(
  db: Db,
  webhook: WebhookKey,
  status: 'held' | 'missed',
  since: Date,
): Promise<number> {
  const { count } = await selectDeliveries(db, webhook)
    .where('status', '=', status)
    .where('created_date', '>=', since)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Returns the first sequence number created at or after `time`. Sequence numbers are in chronological order, so a
 * binary search finds it by reading one row per step, without an index on `created_date`.
 */
export async function findFirstSequenceSince(db: Db, webhook: WebhookKey, time: Date): Promise<number> {
  const { low, high } = await selectDeliveries(db, webhook)
    .select((is) => [is.fn.min('sequence').as('low'), is.fn.max('sequence').as('high')])
    .executeTakeFirstOrThrow();
  let [from, to] = [low ?? 1, (high ?? 0) + 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const row = await selectDeliveries(db, webhook)
      .where('sequence', '=', middle)
      .select('created_date')
      .executeTakeFirst();
    if (row === undefined || row.created_date < time) from = middle + 1;
    else to = middle;
  }
  return from;
}

const selectDeliveries = (db: Db, { workspace_id, id }: WebhookKey) =>
  db.selectFrom('webhook_deliveries').where('workspace_id', '=', workspace_id).where('webhook_id', '=', id);
