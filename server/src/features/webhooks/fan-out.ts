// Owns the way from an event to deliveries: the body as every receiver sees it, which webhooks it concerns, and its place
// in the sequence of each (docs/contract.md §4.4, §5.10).
import type { MessageEvent, RecordEvent } from '../../events.ts';
import type { Event } from '../../kit/background/events/dispatch.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { WebhookRow } from './contract.ts';
import { insertBodies, insertDeliveries, listSubscribed, type Subscriber, takeSequences } from './store.ts';

type Told = Event<MessageEvent | RecordEvent>;

const appOf = ({ payload }: Told): string => ('agent_id' in payload ? payload.agent_id : payload.app_id);

/** Byte by byte what is sent. The keys are in the contract's order: the event log keeps none. */
function bodyOf({ id, name, occurred_at, payload }: Told): string {
  const told = { id, type: name, created_at: occurred_at.toISOString() };
  return JSON.stringify({ ...told, ...('agent_id' in payload ? messageOf(payload) : recordOf(payload)) });
}

function messageOf({ agent_id, conversation_id, data }: MessageEvent) {
  const { id, role, content, content_truncated, file_urls, created_date, updated_date } = data.message;
  const message = { id, role, content, content_truncated, file_urls, created_date, updated_date };
  return { agent_id, conversation_id, data: { message, user: { id: data.user.id, email: data.user.email } } };
}

function recordOf(told: RecordEvent) {
  const { app_id, entity_name, entity_id, data, old_data, changed_fields, depth, payload_too_large } = told;
  const actor = told.actor && { id: told.actor.id, email: told.actor.email };
  return { app_id, entity_name, entity_id, data, old_data, changed_fields, actor, depth, payload_too_large };
}

/** What happened before there was a webhook is none of its business, however late it is heard. */
const concerns = (webhook: Subscriber, { name, occurred_at, payload }: Told): boolean =>
  webhook.events.includes(name) &&
  occurred_at >= webhook.created_date &&
  ('agent_id' in payload || webhook.entity_names === null || webhook.entity_names.includes(payload.entity_name));

/** The workspace and the host a delivery goes to: what may run at once there is bounded. */
export const concurrencyKeyOf = ({
  workspace_id,
  target_url,
}: Pick<WebhookRow, 'workspace_id' | 'target_url'>): string =>
  `${workspace_id} ${new URL(target_url).hostname.replace(/\.$/, '')}`;

/** One batch of events, in the order of the log; gives how many deliveries are to be made now. */
export async function fanOut(db: Db, events: readonly Told[], now: Date): Promise<number> {
  const subscribers = Map.groupBy(
    await listSubscribed(db, [...new Set(events.map(appOf))]),
    (webhook) => webhook.app_id,
  );
  const pairs = events.flatMap((event) =>
    (subscribers.get(appOf(event)) ?? [])
      .filter((webhook) => concerns(webhook, event))
      .map((webhook) => ({ webhook, event })),
  );
  if (pairs.length === 0) return 0;
  const next = await takeSequences(
    db,
    Map.groupBy(pairs, ({ webhook }) => webhook.id),
  );
  const deliveries = pairs.flatMap(({ webhook, event }) => {
    const sequence = next.get(webhook.id);
    if (sequence === undefined) return []; // deleted meanwhile
    next.set(webhook.id, sequence + 1);
    return { id: newId(), webhook, event, sequence, concurrency_key: concurrencyKeyOf(webhook) };
  });
  const told = new Set(deliveries.map(({ event }) => event));
  await insertBodies(
    db,
    [...told].map((event) => ({ workspace_id: event.payload.workspace_id, event_id: event.id, body: bodyOf(event) })),
  );
  await insertDeliveries(db, deliveries, now);
  return deliveries.filter(({ webhook }) => webhook.disabled_at === null).length;
}
