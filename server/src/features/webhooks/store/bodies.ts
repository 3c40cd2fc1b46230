// Reads the bodies of webhook events, each from the partition of its event's day.
import { type CompiledQuery, sql } from 'kysely';
import { partitionNumberOf, preparedForPartition } from '../../../kit/background/partitions.ts';
import type { Db } from '../../../tables.ts';
import type { DeliveryRow } from '../contract.ts';
import type { WebhookKey } from './webhooks.ts';

const partitions = { column: 'event_id', days: 1 } as const;

const selectBodies = preparedForPartition<{ event_id: string; body: string }, [readonly string[]]>(
  'list bodies of deliveries',
  partitions,
  (isInPartition) =>
    `/* service */ select event_id, body from webhook_bodies where event_id = any($1::uuid[]) and ${isInPartition}`,
);

/** Returns a query for each day that the events are from. Most deliveries are attempted within minutes. */
export const queryBodies = (eventIds: readonly string[]): CompiledQuery<{ event_id: string; body: string }>[] =>
  [...Map.groupBy(new Set(eventIds), (id) => partitionNumberOf(id, partitions.days)).values()].map((ids) =>
    selectBodies(ids[0] as string).query(ids),
  );

const selectBody = preparedForPartition<{ body: string }, [workspaceId: string, eventId: string]>(
  'get body of delivery',
  partitions,
  (isInPartition) => `select body from webhook_bodies where workspace_id = $1 and event_id = $2 and ${isInPartition}`,
);

export async function getBody(db: Db, { workspace_id, event_id }: DeliveryRow): Promise<{ body: string }> {
  const [row] = await selectBody(event_id)(db, workspace_id, event_id);
  if (row === undefined) throw new Error(`the body of event ${event_id} has expired`);
  return row;
}

/**
 * Lists the bodies of deliveries in their order, limited in size. Returns at least one if there are deliveries. A body is
 * null if it was removed.
 */
export async function listBodies(
  db: Db,
  { workspace_id }: WebhookKey,
  deliveries: readonly { readonly event_id: string }[],
  maxBytes: number,
): Promise<(string | null)[]> {
  if (deliveries.length === 0) return [];
  const event_ids = deliveries.map((delivery) => delivery.event_id);
  const sorted = event_ids.toSorted();
  // With its bounds, the statement reads only the partitions of these days.
  const { rows } = await sql<{ body: string | null }>`select body from (
      select place, body, coalesce(sum(octet_length(body)) over (order by place) - octet_length(body), 0) as before
      from unnest(${event_ids}::uuid[]) with ordinality as listed (event_id, place)
        left join webhook_bodies b on b.workspace_id = ${workspace_id} and b.event_id = listed.event_id
           and b.event_id between ${sorted[0]} and ${sorted.at(-1)}) sized
    where before < ${maxBytes} order by place`.execute(db);
  return rows.map((row) => row.body);
}
