// Owns the fan-out: one event becomes one body and a numbered delivery for each webhook that subscribes to it
// (docs/api/webhooks.md#events).
import { type MessageEvent, presentMessageEvent, presentRecordEvent, type RecordEvent } from '../../events.ts';
import type { Event } from '../../kit/background/events/dispatch.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { WebhookRow } from './contract.ts';
import {
  insertBodies,
  insertDeliveries,
  listSubscribedWebhooks,
  type SubscribedWebhook,
  takeSequences,
} from './store/fan-out.ts';

type WebhookEvent = Event<MessageEvent | RecordEvent>;

const appIdOf = ({ payload }: WebhookEvent): string => ('agent_id' in payload ? payload.agent_id : payload.app_id);

/** The exact bytes that are sent. The event log is `jsonb`, which loses the order of keys, so it is set here. */
function bodyOf(event: WebhookEvent): string {
  const { payload } = event;
  const presented =
    'agent_id' in payload ? presentMessageEvent({ ...event, payload }) : presentRecordEvent({ ...event, payload });
  return JSON.stringify(presented);
}

/** A webhook never receives an event from before it was created, even if that event is dispatched later. */
const isSubscribed = (webhook: SubscribedWebhook, { name, occurred_at, payload }: WebhookEvent): boolean =>
  webhook.events.includes(name) &&
  occurred_at >= webhook.created_date &&
  ('agent_id' in payload || webhook.entity_names === null || webhook.entity_names.includes(payload.entity_name));

/** Deliveries of a workspace to the same host share a limit on how many run at once. */
export const concurrencyKeyOf = ({
  workspace_id,
  target_url,
}: Pick<WebhookRow, 'workspace_id' | 'target_url'>): string =>
  `${workspace_id} ${new URL(target_url).hostname.replace(/\.$/, '')}`;

/** Handles one batch of events, in log order. Returns how many deliveries are due now. */
export async function fanOut(db: Db, events: readonly WebhookEvent[], now: Date): Promise<number> {
  const subscribers = Map.groupBy(
    await listSubscribedWebhooks(db, [...new Set(events.map(appIdOf))]),
    (webhook) => webhook.app_id,
  );
  const pairs = events.flatMap((event) =>
    (subscribers.get(appIdOf(event)) ?? [])
      .filter((webhook) => isSubscribed(webhook, event))
      .map((webhook) => ({ webhook, event })),
  );
  if (pairs.length === 0) return 0;
  const next = await takeSequences(
    db,
    Map.groupBy(pairs, ({ webhook }) => webhook.id),
  );
  const deliveries = pairs.flatMap(({ webhook, event }) => {
    const sequence = next.get(webhook.id);
    if (sequence === undefined) return []; // the webhook was deleted meanwhile
    next.set(webhook.id, sequence + 1);
    return { id: newId(), webhook, event, sequence, concurrency_key: concurrencyKeyOf(webhook) };
  });
  const delivered = new Set(deliveries.map(({ event }) => event));
  await insertBodies(
    db,
    [...delivered].map((event) => ({
      workspace_id: event.payload.workspace_id,
      event_id: event.id,
      body: bodyOf(event),
    })),
  );
  await insertDeliveries(db, deliveries, now);
  return deliveries.filter(({ webhook }) => webhook.disabled_at === null).length;
}
