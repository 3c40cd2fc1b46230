// Owns the HTTP contract of analytics.
import { appData } from '../../core/auth/app-data-guard.ts';
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { perMinute } from '../../core/auth/limits.ts';
import type { DataAccess } from '../../core/auth/proofs.ts';
import { appAs, type Guard } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { TrackBody, Tracked, UserStats } from './contract.ts';
import type { Ingest } from './ingestion.ts';
import { type ReadDeps, readRoutes } from './reads/routes.ts';
import { getUserStats } from './stats.ts';
import { toSender, trackEvents } from './track.ts';

export interface AnalyticsRouteDeps extends ReadDeps {
  readonly ingest: Ingest;
  /** In which trusted proxies send the country of the client. */
  readonly countryHeader: string | undefined;
  /** Called with the name of a count that could not be read, and why. */
  readonly onUnreadable: (count: string, error: unknown) => void;
}

const maxBatchBytes = 256 * 1024;

/** Members by their role; the app's users and anonymous callers for what they do themselves. */
const senderGuard: Guard<DataAccess> = { ...appData(), needs: 'app viewer' };

export const analyticsRoutes = (deps: AnalyticsRouteDeps): Route[] => [
  route({
    name: 'trackEvents',
    method: 'POST',
    path: '/api/apps/{app_id}/analytics/track/batch',
    summary: 'Send events: what people do in an app',
    description:
      'An event with a fault is rejected alone, with its reason. `event_id` makes a repeated event a duplicate for 60 days. Events of an app user are theirs; those of anonymous callers belong to nobody. `__user_heartbeat_event__` only says that the user is there.',
    headers: ['X-Ignored-Fields'],
    credentials: { ...writeCredentials, appUser: true },
    access: senderGuard,
    limit: perMinute(300, 'caller+app'),
    body: TrackBody,
    bodyLimitBytes: maxBatchBytes,
    audits: 'nothing',
    answers: { 200: Tracked },
    handle: ({ access, body, headers, now }) =>
      trackEvents(deps.ingest, access, body.events, toSender(access, headers, deps.countryHeader), now),
  }),
  route({
    name: 'getUserStats',
    method: 'GET',
    path: '/api/apps/{app_id}/analytics/stats/users',
    summary: 'Count the users of an app by when they were last seen',
    description:
      'Each user counts once, by their most recent event; `live_users` by heartbeats. A count that could not be read is 0, and `X-Partial-Result` names it.',
    headers: ['X-Data-As-Of', 'X-Partial-Result'],
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app'),
    answers: { 200: UserStats },
    handle: ({ db, access, now }) => getUserStats(db, access, now, deps.onUnreadable),
  }),
  ...readRoutes(deps),
];
