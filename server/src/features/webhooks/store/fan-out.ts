// Owns the queries that turn a batch of events into deliveries. They run in the one dispatcher of the installation, in the
// transaction that marks the events as dispatched.
import { prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { WebhookRow } from '../contract.ts';

/** The columns of a webhook that decide which events it receives. */
export type SubscribedWebhook = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'app_id' | 'events' | 'entity_names' | 'target_url' | 'disabled_at' | 'created_date'
>;

export const listSubscribedWebhooks = (db: Db, app_ids: readonly string[]): Promise<SubscribedWebhook[]> =>
  selectSubscribedWebhooks(db, app_ids);

const selectSubscribedWebhooks = prepared<SubscribedWebhook, [readonly string[]]>(
  'list subscribed webhooks',
  `/* service */ select workspace_id, id, app_id, events, entity_names, target_url, disabled_at, created_date
   from webhooks where app_id = any($1::uuid[]) order by app_id, id`,
);

/**
 * Reserves sequence numbers: as many per webhook as it has entries in `byWebhook`. Returns the first number of each. Example:
 * webhook A is at 17 and has 3 new deliveries, so its counter becomes 20 and 18 is returned. A webhook that was deleted
 * meanwhile is left out.
 */
export async function takeSequences(db: Db, byWebhook: ReadonlyMap<string, readonly unknown[]>) {
  const counts = [...byWebhook.values()].map((entries) => entries.length);
  const rows = await updateSequences(db, [...byWebhook.keys()], counts);
  return new Map(rows.map((row) => [row.webhook_id, row.first]));
}

const updateSequences = prepared<{ webhook_id: string; first: number }, [readonly string[], readonly number[]]>(
  'take webhook sequence numbers',
  `/* service */ update webhook_sequences s set last_sequence = s.last_sequence + taken.count
   from unnest($1::uuid[], $2::int[]) taken(webhook_id, count) where s.webhook_id = taken.webhook_id
   returning s.webhook_id, s.last_sequence - taken.count + 1 as first`,
);

export interface NewBody {
  readonly workspace_id: string;
  readonly event_id: string;
  readonly body: string;
}

export const insertBodies = (db: Db, bodies: readonly NewBody[]) =>
  insertBodyRows(
    db,
    bodies.map((row) => row.workspace_id),
    bodies.map((row) => row.event_id),
    bodies.map((row) => row.body),
  );

const insertBodyRows = prepared<object, [readonly string[], readonly string[], readonly string[]]>(
  'insert webhook bodies',
  `insert into webhook_bodies (workspace_id, event_id, body)
   select * from unnest($1::uuid[], $2::uuid[], $3::text[])`,
);

export interface NewDelivery {
  readonly id: string;
  readonly webhook: SubscribedWebhook;
  readonly event: { readonly id: string; readonly name: string };
  readonly sequence: number;
  readonly concurrency_key: string;
}

/** Deliveries to a webhook that is on are due at once. Those to a webhook that is off are numbered and kept as `missed`. */
export const insertDeliveries = (db: Db, deliveries: readonly NewDelivery[], now: Date) =>
  insertDeliveryRows(
    db,
    now,
    JSON.stringify(
      deliveries.map(({ id, webhook, event, sequence, concurrency_key }) => ({
        id,
        workspace_id: webhook.workspace_id,
        webhook_id: webhook.id,
        event_id: event.id,
        event_type: event.name,
        sequence,
        concurrency_key,
        is_off: webhook.disabled_at !== null,
      })),
    ),
  );

const insertDeliveryRows = prepared<object, [Date, string]>(
  'insert webhook deliveries',
  `insert into webhook_deliveries
     (id, workspace_id, webhook_id, event_id, event_type, sequence, concurrency_key, status, created_date, due_at)
   select d.id, d.workspace_id, d.webhook_id, d.event_id, d.event_type, d.sequence, d.concurrency_key,
     case when d.is_off then 'missed' else 'pending' end, $1, case when d.is_off then null else clock_timestamp() end
   from json_to_recordset($2::json) as d(id uuid, workspace_id uuid, webhook_id uuid, event_id uuid, event_type text,
     sequence bigint, concurrency_key text, is_off boolean)`,
);
