// `trackEvents`: deciding which of a request's events to accept, and what to store for each.
import type { DataAccess } from '../../core/auth/proofs.ts';
import { isOutsider } from '../../core/auth/request/caller.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { checkEvent, heartbeatName, listIgnored, type RejectReason, type Sender, type SentEvent } from './event.ts';
import { type Ingest, measureEvents, type StoredEvent } from './ingestion.ts';
import { toCopyLine } from './store/events.ts';
import { readUserAgent } from './user-agent.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const maxIgnored = 100;
/** The part of the quota that app users and strangers can fill, so they can't stop what the workspace itself stores. */
const outsiderShare = 0.8;

interface TrackDeps {
  readonly ingest: Ingest;
  readonly storage: StorageQuota;
}

/** Throws 402 if the accepted events would exceed the workspace's storage quota. */
export async function trackEvents(
  db: Db,
  { ingest, storage }: TrackDeps,
  access: DataAccess,
  { events, sender }: { readonly events: readonly unknown[]; readonly sender: Sender },
  now: Date,
) {
  const { app } = access;
  const rejected: { index: number; reason: RejectReason }[] = [];
  const accepted: StoredEvent[] = [];
  const ignored: string[] = [];
  events.forEach((each, index) => {
    const event = checkEvent(each, sender, now);
    if (typeof event === 'string') rejected.push({ index, reason: event });
    else accepted.push(toStored(app.id, event, sender, now));
    if (ignored.length < maxIgnored)
      for (const name of listIgnored(each, sender)) ignored.push(`events.${index}.${name}`);
  });
  const share = isOutsider(access.caller) ? outsiderShare : 1;
  await storage.admit(db, access, measureEvents(accepted), now, share);
  const duplicates = await ingest(accepted, now);
  return withNotes({ accepted: accepted.length - duplicates, duplicates, rejected }, { ignored });
}

/** Describes a request's sender. `countryHeader` is a header that only trusted proxies may set. */
export function toSender({ caller }: DataAccess, headers: Headers, countryHeader: string | undefined): Sender {
  const country = countryHeader === undefined ? undefined : headers[countryHeader];
  return {
    ...readUserAgent(headers['user-agent'] as string | undefined), // Node joins or drops repeated headers
    country: typeof country === 'string' && /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : null,
    attribution:
      caller.kind === 'anonymous'
        ? 'nobody'
        : caller.app_user_id === null
          ? 'as_sent'
          : { app_user_id: caller.app_user_id },
  };
}

function toStored(app_id: string, event: SentEvent, { country, device_type, os }: Sender, now: Date): StoredEvent {
  const { event_id: sent_id, user_id, at } = event;
  // A user can't have been present after we received the heartbeat, whatever their device's clock says.
  if (event.event_name === heartbeatName)
    return { app_id, sent_id: null, user_id, at: at < now ? at : now, line: null };
  const line = toCopyLine({ ...event, app_id, event_id: sent_id ?? newId(), country, device_type, os });
  return { app_id, sent_id, user_id, at, line };
}
