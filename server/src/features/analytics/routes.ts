// The HTTP contract for analytics.
import { readCredentials, writeCredentials } from '../../core/auth/credentials.ts';
import { appAs } from '../../core/auth/guards/app.ts';
import { appData } from '../../core/auth/guards/app-data.ts';
import type { Guard } from '../../core/auth/guards/guard.ts';
import { perMinute } from '../../core/auth/limits.ts';
import type { DataAccess } from '../../core/auth/proofs.ts';
import { type Route, route } from '../../core/auth/route.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import { TrackBody, Tracked, UserStats } from './contract.ts';
import type { Ingest } from './ingestion.ts';
import { type ReadDeps, readRoutes } from './reads/routes.ts';
import { getUserStats } from './stats.ts';
import { toSender, trackEvents } from './track.ts';

export interface AnalyticsRouteDeps extends ReadDeps {
  readonly ingest: Ingest;
  readonly storage: StorageQuota;
  /** The header in which trusted proxies send the client's country. */
  readonly countryHeader: string | undefined;
  /** Called with the name of any count that could not be read, and the error. */
  readonly onUnreadable: (count: string, error: unknown) => void;
}

const maxBatchBytes = 256 * 1024;

/** Members are admitted by role. The app's users and anonymous callers may only send events about themselves. */
const senderGuard: Guard<DataAccess> = { ...appData(), needs: 'app viewer' };

export const analyticsRoutes = (deps: AnalyticsRouteDeps): Route[] => [
  route({
    name: 'trackEvents',
    method: 'POST',
    path: '/api/apps/{app_id}/analytics/track/batch',
    summary: 'Send events that record what people do in an app',
    description:
      'An invalid event is rejected with a reason, and the others are stored. For 60 days, an event with the same `event_id` is a duplicate. Events from an app user are attributed to that user, and events from anonymous callers to nobody. `__user_heartbeat_event__` only shows that the user is active.',
    headers: ['X-Ignored-Fields'],
    credentials: { ...writeCredentials, appUser: true },
    access: senderGuard,
    limit: perMinute(300, 'caller+app'),
    stores: 'measured',
    body: TrackBody,
    bodyLimitBytes: maxBatchBytes,
    audits: 'nothing',
    answers: { 200: Tracked },
    refusals: [{ status: 402, code: 'storage_quota_exceeded' }],
    handle: ({ db, access, body, headers, now }) => {
      const sender = toSender(access, headers, deps.countryHeader);
      return trackEvents(db, deps, access, { events: body.events, sender }, now);
    },
  }),
  route({
    name: 'getUserStats',
    method: 'GET',
    path: '/api/apps/{app_id}/analytics/stats/users',
    summary: 'Count the users of an app by when they were last seen',
    description:
      'Each user is counted once, by their most recent event; `live_users` counts users by their heartbeats. A count that could not be read is 0, and `X-Partial-Result` names it.',
    headers: ['X-Data-As-Of', 'X-Partial-Result'],
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app'),
    answers: { 200: UserStats },
    handle: ({ db, access, now }) => getUserStats(db, access, deps.onUnreadable, now),
  }),
  ...readRoutes(deps),
];
