// The fan-out, which turns an event into one body and a numbered delivery for each subscribed webhook
// (docs/api/webhooks.md#events).
import {
  listenAfterCommit,
  type MessageEvent,
  presentMessageEvent,
  presentRecordEvent,
  type RecordEvent,
} from '../../events.ts';
import type { Event } from '../../kit/background/events/dispatch.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { type WebhookRow, webhookEvents } from './contract.ts';
import { deliveryQueue } from './delivery.ts';
import { toStreamTopic } from './pull.ts';
import { type DeliveryTarget, type LoadedDelivery, readTargetsWithCommit } from './store/delivery-queue.ts';
import {
  insertDeliveries,
  isSending,
  type NewDelivery,
  type SubscribedWebhook,
  selectSubscribed,
} from './store/fan-out.ts';

type WebhookEvent = Event<MessageEvent | RecordEvent>;

const appIdOf = ({ payload }: WebhookEvent): string => ('agent_id' in payload ? payload.agent_id : payload.app_id);

/**
 * Returns the exact bytes to send. The event log is `jsonb`, which doesn't preserve key order, so the order is set
 * here.
 */
function bodyOf(event: WebhookEvent): string {
  const { payload } = event;
  const presented =
    'agent_id' in payload ? presentMessageEvent({ ...event, payload }) : presentRecordEvent({ ...event, payload });
  return JSON.stringify(presented);
}

/**
 * A webhook never receives an event that occurred before the webhook was created, even if the event is dispatched
 * later.
 */
const isSubscribed = (webhook: SubscribedWebhook, { name, occurred_at, payload }: WebhookEvent): boolean =>
  webhook.events.includes(name) &&
  occurred_at >= webhook.created_date &&
  ('agent_id' in payload || webhook.entity_names === null || webhook.entity_names.includes(payload.entity_name));

/** A workspace's deliveries to the same host share a concurrency limit. */
export const concurrencyKeyOf = ({
  workspace_id,
  target_url,
}: Pick<WebhookRow, 'workspace_id' | 'target_url'>): string =>
  `${workspace_id} ${new URL(target_url).hostname.replace(/\.$/, '')}`;

/** Turns events into deliveries, and attempts as many of them in this process as the limits allow. */
export const listenForDeliveries = (wake: Pick<WakeUps, 'notify'>) =>
  listenAfterCommit([...webhookEvents.agent, ...webhookEvents.app], {
    read: (events) => selectSubscribed([...new Set(events.map(appIdOf))]),
    async handle(db, events, { now, rows, queues }) {
      const { deliveries, bodies } = fanOut(events, rows);
      if (deliveries.length === 0) return;
      await insertDeliveries(db, bodies, deliveries, now);
      const pulled = new Set(
        deliveries.filter(({ webhook }) => webhook.mode === 'pull').map(({ webhook }) => webhook.id),
      );
      for (const id of pulled) afterCommit(db, () => wake.notify(toStreamTopic(id)));
      const due = deliveries.filter(({ webhook }) => isSending(webhook)).map(({ webhook }) => webhook.id);
      if (due.length === 0) return;
      const queue = queues.get(deliveryQueue);
      if (queue === undefined) return afterCommit(db, () => wake.notify(deliveryQueue));
      const texts = new Map(bodies.map(({ event_id, body }) => [event_id, body]));
      const webhookIds = [...new Set(due)];
      const targets = await readTargetsWithCommit(db, webhookIds);
      await queue.claimWithCommit(db, webhookIds, (row) => attachTarget(row as LoadedDelivery, targets.rows, texts));
    },
  });

/** The claim may include one of the webhook's older deliveries, whose body is not in `bodies`. */
function attachTarget(
  row: LoadedDelivery,
  targets: readonly DeliveryTarget[],
  bodies: ReadonlyMap<string, string>,
): LoadedDelivery | undefined {
  const [target, body] = [targets.find(({ id }) => id === row.webhook_id), bodies.get(row.event_id)];
  return target === undefined || body === undefined ? undefined : { ...row, target, body };
}

/** Handles one batch of events, in log order. */
function fanOut(events: readonly WebhookEvent[], webhooks: readonly SubscribedWebhook[]) {
  const subscribers = Map.groupBy(webhooks, (webhook) => webhook.app_id);
  const deliveries = events.flatMap((event) =>
    (subscribers.get(appIdOf(event)) ?? [])
      .filter((webhook) => isSubscribed(webhook, event))
      .map((webhook): NewDelivery => ({ id: newId(), webhook, event, concurrency_key: concurrencyKeyOf(webhook) })),
  );
  const byEvent = Map.groupBy(deliveries, ({ event }) => event.id);
  const bodies = events.flatMap((event) => {
    const { length } = byEvent.get(event.id) ?? [];
    const { workspace_id } = event.payload;
    return length === 0 ? [] : [{ workspace_id, event_id: event.id, body: bodyOf(event), deliveries: length }];
  });
  return { deliveries, bodies };
}
