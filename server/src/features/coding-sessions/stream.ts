// Owns following a session: a stream of its events, from whichever process, which resumes after the last version that the caller has
// seen. No connection to the database is held while nothing happens.
import { Readable } from 'node:stream';
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { WakeableSleep, type WakeUps } from '../../kit/background/workers/wake.ts';
import { classifyFailure } from '../../kit/db/failures.ts';
import { type Answer, eventStream } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { presentSession } from './contract.ts';
import { toInputRequest } from './input-request.ts';
import { toSessionTopic } from './session.ts';
import { listEventsAfter, type SessionEvent } from './store/events.ts';
import { findSession, findWatched, type SessionRow, type Watched } from './store/sessions.ts';
import { isEnded } from './transitions.ts';

export interface StreamDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly baseUrl: string;
  /** Aborted when this process shuts down: callers continue at another process. */
  readonly shutdownSignal: AbortSignal;
}

type SessionAccess = AppAccess & { readonly session: SessionRow };

export const streamSeconds = 30 * 60;
const pingMs = 15_000;
const accessEveryMs = 10_000;
const batch = { limit: 200, maxBytes: 256 * 1024 };

export function streamSession(
  db: Db,
  deps: StreamDeps,
  access: SessionAccess,
  lastEventId: string | undefined,
): Answer<never> {
  const closed = new AbortController();
  const events = followSession(db, deps, access, toVersion(lastEventId, access.session), closed.signal);
  const body = Readable.from(events, { objectMode: false });
  // Also for a caller who does not read: the events then wait for it, and so would the check of the time.
  const timer = setTimeout(() => body.destroy(), streamSeconds * 1000 + pingMs);
  body.once('close', () => {
    clearTimeout(timer);
    closed.abort();
  });
  return eventStream(body, { headers: { 'x-session-version': String(access.session.version) } });
}

/** Undefined: the caller has seen nothing, or what can't be of this session. */
function toVersion(lastEventId: string | undefined, { version, has_events }: SessionRow): number | undefined {
  if (lastEventId === undefined || !/^\d{1,9}$/.test(lastEventId) || !has_events) return undefined;
  const seen = Number(lastEventId);
  return seen <= version ? seen : undefined;
}

/** Ends when the session has ended and everything was sent, and after half an hour at the latest. */
async function* followSession(
  db: Db,
  { wake, baseUrl, shutdownSignal }: StreamDeps,
  access: SessionAccess,
  from: number | undefined,
  closed: AbortSignal,
): AsyncGenerator<string> {
  const { session } = access;
  const stop = AbortSignal.any([closed, shutdownSignal]);
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toSessionTopic(session.id), idle.wake);
  const until = performance.now() + streamSeconds * 1000;
  let position = from;
  let pingAt = performance.now() + pingMs;
  let checkAt = performance.now() + accessEveryMs;
  /** Asked before anything is sent, however much there is to send. */
  const maySend = async (): Promise<boolean> => {
    if (performance.now() < checkAt) return true;
    checkAt = performance.now() + accessEveryMs;
    return mayStillRead(db, access);
  };
  try {
    if (position === undefined) {
      const present = (await findSession(db, access, session.id)) ?? session;
      for (const event of presentNow(present, baseUrl)) yield write(event);
      position = present.version;
    }
    while (!stop.aborted && performance.now() < until) {
      const watched = await findWatched(db, session).catch(toUnknown);
      if (watched === undefined) return; // it was removed
      while (watched !== 'unknown' && position < watched.version) {
        if (!(await maySend())) return;
        const next: SessionEvent[] = await listEventsAfter(db, session, position, batch);
        for (const event of next) yield write(event);
        position = next.at(-1)?.version ?? watched.version;
        pingAt = performance.now() + pingMs;
      }
      if (watched !== 'unknown' && isEnded(watched.state)) return;
      if (performance.now() >= pingAt) {
        if (!(await maySend())) return;
        yield ': ping\n\n';
        pingAt = performance.now() + pingMs;
      }
      await idle.sleep(Math.max(1, Math.min(wake.pollMs(), pingAt - performance.now())), stop);
    }
  } finally {
    unlisten();
  }
}

/** What a caller who comes anew sees first. */
const presentNow = (session: SessionRow, baseUrl: string): SessionEvent[] => {
  const { version } = session;
  const request = toInputRequest(session);
  const data = presentSession(session, baseUrl);
  if (request === null) return [{ version, event: 'state', data }];
  // Whose connection breaks between the two gets the question when it continues.
  return [
    { version: version - 1, event: 'state', data },
    { version, event: 'input_request', data: request },
  ];
};

const write = ({ version, event, data }: SessionEvent): string =>
  `id: ${version}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** While the database is unavailable, the caller keeps waiting. */
function toUnknown(error: unknown): Watched | 'unknown' {
  if (classifyFailure(error) === undefined) throw error;
  return 'unknown';
}

/** Whoever loses the role, or the credential, sees nothing more. */
async function mayStillRead(db: Db, { caller, app }: SessionAccess): Promise<boolean> {
  try {
    return (await findAccessOnBehalf(db, caller, app.id, 'editor')) !== undefined;
  } catch (error) {
    return toUnknown(error) === 'unknown';
  }
}
