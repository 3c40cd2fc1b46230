// Owns `trackEvents`: which events of a request are accepted, and what is stored of them.
import type { DataAccess } from '../../core/auth/proofs.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { checkEvent, heartbeatName, listIgnored, type RejectReason, type Sender, type SentEvent } from './event.ts';
import type { Ingest, StoredEvent } from './ingestion.ts';
import { toCopyLine } from './store/events.ts';
import { readUserAgent } from './user-agent.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const maxIgnored = 100;

export async function trackEvents(
  ingest: Ingest,
  { app }: DataAccess,
  sent: readonly unknown[],
  sender: Sender,
  now: Date,
) {
  const rejected: { index: number; reason: RejectReason }[] = [];
  const accepted: StoredEvent[] = [];
  const ignored: string[] = [];
  sent.forEach((each, index) => {
    const event = checkEvent(each, sender, now);
    if (typeof event === 'string') rejected.push({ index, reason: event });
    else accepted.push(toStored(app.id, event, sender, now));
    if (ignored.length < maxIgnored)
      for (const name of listIgnored(each, sender)) ignored.push(`events.${index}.${name}`);
  });
  const duplicates = await ingest(accepted, now);
  return withNotes({ accepted: accepted.length - duplicates, duplicates, rejected }, { ignored });
}

/** Whoever a request comes from. `countryHeader` is one that only trusted proxies may set. */
export function toSender({ caller }: DataAccess, headers: Headers, countryHeader: string | undefined): Sender {
  const country = countryHeader === undefined ? undefined : headers[countryHeader];
  return {
    ...readUserAgent(headers['user-agent'] as string | undefined), // Node joins or drops repeated ones
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
  // Nobody can have been there after the moment in which we heard of it, whatever the clock of their device says.
  if (event.event_name === heartbeatName)
    return { app_id, sent_id: null, user_id, at: at < now ? at : now, line: null };
  const line = toCopyLine({ ...event, app_id, event_id: sent_id ?? newId(), country, device_type, os });
  return { app_id, sent_id, user_id, at, line };
}
