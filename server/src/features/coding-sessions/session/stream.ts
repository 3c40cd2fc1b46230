// Streams a session's events, which any process can do. The stream resumes after the last version that the
// caller has seen.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Source } from '../../../core/streams/reader.ts';
import { answerWithEvents, type ping, type Streams, writeEvent } from '../../../core/streams/streams.ts';
import type { Answer } from '../../../kit/http/answer.ts';
import type { HeldRequest } from '../../../kit/http/operation.ts';
import { presentSession } from '../contract.ts';
import { listEventsAfter, type SessionEvent } from '../store/events.ts';
import { findWatched, type SessionRow } from '../store/sessions.ts';
import { isEnded } from '../transitions.ts';
import { toInputRequest } from './input-request.ts';
import { toSessionTopic } from './session.ts';

export interface StreamDeps {
  readonly streams: Streams;
  readonly baseUrl: string;
}

type SessionAccess = AppAccess & { readonly session: SessionRow };

export const streamSeconds = 30 * 60;
const maxMs = streamSeconds * 1000;
const batch = { limit: 200, maxBytes: 256 * 1024 };

export function streamSession(
  { streams, baseUrl }: StreamDeps,
  access: SessionAccess,
  { lastEventId, held }: { readonly lastEventId: string | undefined; readonly held: HeldRequest },
): Answer<never> {
  const { session } = access;
  const seen = toVersion(lastEventId, session);
  streams.takePlace(access, held);
  const headers = { 'x-session-version': String(session.version) };
  return answerWithEvents(held, (closed) => followSession(streams, session, { baseUrl, seen, held }, closed), {
    headers,
    maxMs,
  });
}

/** Undefined if the caller has seen nothing yet, or sent a version that can't belong to this session. */
function toVersion(lastEventId: string | undefined, { version, has_events }: SessionRow): number | undefined {
  if (lastEventId === undefined || !/^\d{1,9}$/.test(lastEventId) || !has_events) return undefined;
  const seen = Number(lastEventId);
  return seen <= version ? seen : undefined;
}

interface Follower {
  readonly baseUrl: string;
  readonly seen: number | undefined;
  readonly held: HeldRequest;
}

/** Ends when the session has ended and all events have been sent, or after half an hour. */
async function* followSession(
  streams: Streams,
  session: SessionRow,
  { baseUrl, seen, held }: Follower,
  closed: AbortSignal,
): AsyncGenerator<string> {
  if (seen === undefined) for (const event of presentNow(session, baseUrl)) yield writeEvent(event.version, event);
  const following = { from: seen ?? session.version, maxMs, held, closed };
  const events: AsyncGenerator<string | typeof ping> = streams.follow(
    toSource(session),
    following,
    ({ position, event, data }) => [writeEvent(position, { event, data })],
  );
  yield* events;
}

type SessionItem = Omit<SessionEvent, 'version'> & { readonly position: number };

const toSource = (session: SessionRow): Source<number, SessionItem, undefined> => ({
  topic: toSessionTopic(session.id),
  owner: { owner: session.workspace_id, part: session.app_id },
  compare: (a, b) => a - b,
  async read(db, from) {
    const watched = await findWatched(db, session);
    const events = watched && watched.version > from ? await listEventsAfter(db, session, from, batch) : [];
    const items = events.map(({ version, event, data }) => ({ position: version, event, data }));
    const last = items.at(-1)?.position;
    const hasMore = watched !== undefined && last !== undefined && last < watched.version;
    const isOver = watched === undefined || isEnded(watched.state);
    return isOver && !hasMore ? { items, hasMore, end: { value: undefined } } : { items, hasMore };
  },
});

/** The first events for a caller that has not seen any yet. */
const presentNow = (session: SessionRow, baseUrl: string): SessionEvent[] => {
  const { version } = session;
  const request = toInputRequest(session);
  const data = presentSession(session, baseUrl);
  if (request === null) return [{ version, event: 'state', data }];
  // If the connection breaks between the two events, the client receives the question after it reconnects.
  return [
    { version: version - 1, event: 'state', data },
    { version, event: 'input_request', data: request },
  ];
};
