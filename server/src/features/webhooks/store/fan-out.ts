// The queries that turn a batch of events into deliveries. They run in the installation's single dispatcher, in
// the transaction that marks the events as dispatched.
import { prepared } from '../../../kit/db/database.ts';
import { sendWithCommit } from '../../../kit/db/send.ts';
import type { Db } from '../../../tables.ts';
import type { WebhookRow } from '../contract.ts';

/** The columns that decide which events a webhook receives. */
export type SubscribedWebhook = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'app_id' | 'events' | 'entity_names' | 'mode' | 'target_url' | 'disabled_at' | 'created_date'
>;

export const selectSubscribed = (app_ids: readonly string[]) => selectSubscribedWebhooks.query(app_ids);

const selectSubscribedWebhooks = prepared<SubscribedWebhook, [readonly string[]]>(
  'list subscribed webhooks',
  `/* service */ select workspace_id, id, app_id, events, entity_names, mode, target_url, disabled_at, created_date
   from webhooks where app_id = any($1::uuid[]) order by app_id, id`,
);

export interface NewBody {
  readonly workspace_id: string;
  readonly event_id: string;
  readonly body: string;
  /** The number of deliveries that have this body. */
  readonly deliveries: number;
}

export interface NewDelivery {
  readonly id: string;
  readonly webhook: SubscribedWebhook;
  readonly event: { readonly id: string; readonly name: string };
  readonly concurrency_key: string;
}

/** Whether deliveries of the webhook are attempted. Those of a pull webhook wait for its reader. */
export const isSending = ({ mode, disabled_at }: SubscribedWebhook): boolean => mode === 'push' && disabled_at === null;

/**
 * Inserts bodies and deliveries with the commit. Deliveries are due immediately if their webhook sends. If it is off,
 * they are numbered and kept as `missed`.
 */
export async function insertDeliveries(
  db: Db,
  bodies: readonly NewBody[],
  deliveries: readonly NewDelivery[],
  now: Date,
): Promise<void> {
  const count = new Map<string, number>();
  const rows = deliveries.map(({ id, webhook, event, concurrency_key }) => {
    const offset = count.get(webhook.id) ?? 0;
    count.set(webhook.id, offset + 1);
    return {
      id,
      workspace_id: webhook.workspace_id,
      webhook_id: webhook.id,
      event_id: event.id,
      event_type: event.name,
      offset,
      concurrency_key,
      is_off: webhook.disabled_at !== null,
      is_due: isSending(webhook),
    };
  });
  await sendWithCommit(
    db,
    insertBodyRows.query(
      bodies.map((row) => row.workspace_id),
      bodies.map((row) => row.event_id),
      bodies.map((row) => row.body),
      bodies.map((row) => row.deliveries),
    ),
  );
  await sendWithCommit(db, insertDeliveryRows.query(now, JSON.stringify(rows), [...count.keys()], [...count.values()]));
}

const insertBodyRows = prepared<object, [readonly string[], readonly string[], readonly string[], readonly number[]]>(
  'insert webhook bodies',
  `insert into webhook_bodies (workspace_id, event_id, body, deliveries)
   select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[])`,
);

// `taken` reserves a sequence number for each of a webhook's new deliveries. Example: webhook A is at 17 and has 3 new
// deliveries, so its counter becomes 20, and the deliveries get 18 to 20. Webhooks deleted in the meantime are left
// out.
const insertDeliveryRows = prepared<
  object,
  [now: Date, deliveries: string, webhooks: readonly string[], counts: readonly number[]]
>(
  'insert webhook deliveries',
  `/* service */ with taken as (
     update webhook_sequences s set last_sequence = s.last_sequence + new.count
     from unnest($3::uuid[], $4::int[]) new(webhook_id, count) where s.webhook_id = new.webhook_id
     returning s.webhook_id, s.last_sequence - new.count + 1 as first)
   insert into webhook_deliveries
     (id, workspace_id, webhook_id, event_id, event_type, sequence, concurrency_key, status, created_date, due_at)
   select d.id, d.workspace_id, d.webhook_id, d.event_id, d.event_type, taken.first + d."offset", d.concurrency_key,
     case when d.is_off then 'missed' else 'pending' end, $1, case when d.is_due then clock_timestamp() end
   from json_to_recordset($2::json) as d(id uuid, workspace_id uuid, webhook_id uuid, event_id uuid, event_type text,
     "offset" bigint, concurrency_key text, is_off boolean, is_due boolean)
   join taken on taken.webhook_id = d.webhook_id`,
);
