// Streams a webhook's deliveries as they are added to its log, and what becomes of them
// (docs/api/webhooks.md#stream-deliveries).
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Source } from '../../core/streams/reader.ts';
import { answerWithEvents, type Streams, writeEvent, writeRefusal } from '../../core/streams/streams.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Answer } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import type { HeldRequest } from '../../kit/http/operation.ts';
import { LatestMap } from '../../kit/latest-map.ts';
import type { Db } from '../../tables.ts';
import { toDeliveryHeaders } from './attempt.ts';
import { presentDelivery, type WebhookRow } from './contract.ts';
import { toStreamTopic } from './pull.ts';
import type { Signer } from './signing.ts';
import { listBodies } from './store/bodies.ts';
import {
  type FollowedWebhook,
  findFollowed,
  findNextSequence,
  findOldestUnread,
  type ListedDelivery,
  readFollowed,
} from './store/stream.ts';
import { recordRead } from './store/webhooks.ts';

export interface StreamDeps {
  readonly streams: Streams;
  readonly signer: Signer;
  readonly clock: Clock;
}

export const streamSeconds = 30 * 60;
const maxMs = streamSeconds * 1000;
const batch = { limit: 200, maxBytes: 256 * 1024 };

/** Changes are told of the newest deliveries only, because they are found by reading these again. */
const watchedDeliveries = 200;

/**
 * What a follower has seen: the deliveries up to a number, and the changes up to another one. Changes are numbered in
 * each process from 2 on, so callers never send their number. 0 stands for a follower that has just arrived, which is
 * told of changes after its first item.
 */
interface Position {
  readonly sequence: number;
  readonly change: number;
}

/** Without a delivery, the item only says that there are changes. */
interface StreamItem {
  readonly position: Position;
  readonly changes: Changes;
  readonly added?: { readonly delivery: ListedDelivery; readonly body: string; readonly webhook: FollowedWebhook };
}

interface Follower {
  readonly after: number | undefined;
  readonly lastEventId: unknown;
  readonly held: HeldRequest;
  readonly now: Date;
}

type WebhookAccess = AppAccess & { readonly webhook: WebhookRow };

export async function streamDeliveries(
  db: Db,
  deps: StreamDeps,
  access: WebhookAccess,
  { after, lastEventId, held, now }: Follower,
): Promise<Answer<never>> {
  const { webhook } = access;
  const last = (await findFollowed(db, webhook))?.last_sequence ?? 0;
  const sent = lastEventId === undefined ? after : parseId(lastEventId);
  if (sent !== undefined && sent > last)
    throw new ValidationError([
      {
        loc: lastEventId === undefined ? ['query', 'after_seq'] : ['header', 'Last-Event-ID'],
        msg: "must be at most the number of the webhook's last delivery",
        type: 'value_error',
      },
    ]);
  const from = sent ?? (await findStart(db, webhook, last));
  const next = (await findNextSequence(db, webhook, from)) ?? last + 1;
  deps.streams.takePlace(access, held);
  await recordRead(db, webhook, now);
  return answerWithEvents(held, (closed) => writeEvents(deps, access, { from, next, held, closed }), { maxMs });
}

/** A follower that does not say where begins with what nobody has acknowledged, otherwise with what is added from now on. */
async function findStart(db: Db, webhook: WebhookRow, last: number): Promise<number> {
  const unread = webhook.mode === 'pull' ? await findOldestUnread(db, webhook) : undefined;
  return unread === undefined ? last : unread - 1;
}

function parseId(header: unknown): number {
  if (/^\d{1,15}$/.test(String(header))) return Number(header);
  throw new ValidationError([
    { loc: ['header', 'Last-Event-ID'], msg: 'must be the id of an event from this webhook', type: 'value_error' },
  ]);
}

async function* writeEvents(
  { streams, signer, clock }: StreamDeps,
  { webhook, caller }: WebhookAccess,
  { from, next, held, closed }: { from: number; next: number; held: HeldRequest; closed: AbortSignal },
): AsyncGenerator<string> {
  let seen: Position = { sequence: from, change: 0 };
  function* present({ position, changes, added }: StreamItem): Generator<string> {
    if (seen.change === 0) yield writeWithoutId('ready', JSON.stringify({ from_sequence: next }));
    for (const delivery of changes.listBetween(seen, position)) yield writeWithoutId('delivery.changed', delivery);
    if (added !== undefined && position.sequence > seen.sequence) {
      const { delivery, body, webhook } = added;
      const { id: delivery_id, event_type, sequence, attempts_made } = delivery;
      const request = { delivery_id, event_type, sequence, attempt: attempts_made + 1, body };
      const headers = toDeliveryHeaders(signer, webhook, request, clock.now());
      yield writeEvent(sequence, { event: 'delivery', data: { delivery: presentDelivery(delivery), headers, body } });
    }
    seen = position;
  }
  const end = yield* streams.follow(toSource(webhook), { from: seen, maxMs, held, closed }, present);
  if (end.reason === 'refused') yield writeRefusal(end.error, caller.request_id);
}

/** An event that leaves the id from which the caller continues as it is. */
const writeWithoutId = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

function toSource(webhook: WebhookRow): Source<Position, StreamItem, undefined> {
  const { workspace_id, app_id, id } = webhook;
  const changes = createChanges();
  return {
    topic: toStreamTopic(id),
    owner: { owner: workspace_id, part: app_id },
    compare: (a, b) => a.sequence - b.sequence || a.change - b.change,
    async read(db, from) {
      const watchedFrom = Math.max(0, from.sequence - watchedDeliveries);
      const limit = watchedDeliveries + batch.limit;
      const { webhook: followed, deliveries } = await readFollowed(db, webhook, watchedFrom, limit);
      if (followed === undefined) return { items: [], hasMore: false, end: { value: undefined } };
      const next = deliveries.filter(({ sequence }) => sequence > from.sequence);
      const bodies = await listBodies(db, webhook, next, batch.maxBytes);
      const read = next.slice(0, bodies.length);
      const reached = read.at(-1)?.sequence ?? from.sequence;
      const oldestWatched = followed.last_sequence - watchedDeliveries;
      changes.note(deliveries.filter(({ sequence }) => sequence > oldestWatched && sequence <= reached));
      const toItem = (sequence: number) => ({ position: { sequence, change: changes.last() }, changes });
      const items: StreamItem[] = read.map((delivery, index) => {
        const body = bodies[index] ?? null;
        return { ...toItem(delivery.sequence), ...(body !== null && { added: { delivery, body, webhook: followed } }) };
      });
      if (items.length === 0 && from.change < changes.last()) items.push(toItem(from.sequence));
      return { items, hasMore: read.length > 0 && reached < followed.last_sequence };
    },
  };
}

interface Changes {
  /** Compares deliveries with how they were read before. */
  note(deliveries: readonly ListedDelivery[]): void;
  last(): number;
  /** The deliveries, as JSON, that a follower has seen and that changed since. */
  listBetween(seen: Position, position: Position): string[];
}

function createChanges(): Changes {
  let last = 1;
  const known = new LatestMap<number, { readonly text: string; readonly change: number }>(2 * watchedDeliveries);
  return {
    note(deliveries) {
      for (const delivery of deliveries) {
        const text = JSON.stringify(presentDelivery(delivery));
        const before = known.get(delivery.sequence);
        if (before?.text !== text) known.set(delivery.sequence, { text, change: before === undefined ? 0 : ++last });
      }
    },
    last: () => last,
    listBetween(seen, position) {
      if (seen.change === 0 || seen.change === position.change) return [];
      const isNew = (change: number) => change > seen.change && change <= position.change;
      return [...known]
        .filter(([sequence, { change }]) => sequence <= seen.sequence && isNew(change))
        .map(([, { text }]) => text);
    },
  };
}
