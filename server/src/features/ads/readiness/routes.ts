// The HTTP routes for launch readiness.
import { readCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { LaunchReadiness } from './contract.ts';
import { getLaunchReadiness, type ReadinessDeps } from './readiness.ts';

export const readinessRoutes = (deps: ReadinessDeps): Route[] => [
  route({
    name: 'getLaunchReadiness',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/launch-readiness',
    summary: 'Read whether a campaign can be launched now, and what prevents it',
    description:
      'The payment provider and the landing page are checked on each request, the ad platform at most once a minute. `X-Data-As-Of` says when the advertising account was read, if not during this request. `X-Partial-Result` names what could not be read.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app', { group: 'adread' }),
    work: 'outside',
    heldSeconds: 30,
    headers: ['X-Data-As-Of'],
    answers: { 200: LaunchReadiness },
    handle: ({ db, access, now }) => getLaunchReadiness(db, deps, access, now),
  }),
];
