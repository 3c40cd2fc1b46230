// Owns the routes of the installation itself: health checks, metrics and server information
// (docs/api/installation.md).
import { z } from 'zod';
import { credentialsInvalid, open } from '../../core/auth/credentials.ts';
import { perMinute, unlimited } from '../../core/auth/limits.ts';
import { anyone } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { Answer } from '../../kit/http/answer.ts';
import { routeNotFound } from '../../kit/http/errors.ts';
import { media } from '../../kit/http/operation.ts';
import { answer } from '../../kit/http/shapes.ts';
import { isBearerToken } from '../../kit/metrics.ts';
import { type Description, referenceRoutes } from './reference.ts';

export interface InstallationDeps {
  checkReadiness(): Promise<{
    database: 'ok' | 'unreachable';
    migrations: 'ok' | 'pending' | 'unknown';
    redis: 'ok' | 'unreachable';
    draining: boolean;
    workers: 'ok' | 'none_seen' | 'unknown';
    queue_lag_seconds: number | null;
    worker_heartbeat: string | null;
  }>;
  readMetrics(): Promise<string>;
  readonly metricsToken: string | undefined;
  readonly description: Description;
  describeServer(): {
    name: 'Plinth';
    version: string;
    api_version: string;
    beta: true;
    features: { ads: boolean; model: boolean; git: boolean; browser: boolean; mail: boolean };
  };
}

const Readiness = answer('Readiness', {
  status: z.enum(['ready', 'not_ready']),
  checks: answer('ReadinessChecks', {
    database: z.enum(['ok', 'unreachable']),
    migrations: z.enum(['ok', 'pending', 'unknown']),
    redis: z.enum(['ok', 'unreachable']),
    draining: z.boolean(),
    workers: z.enum(['ok', 'none_seen', 'unknown']),
    queue_lag_seconds: z.number().nullable(),
    worker_heartbeat: z.string().nullable(),
  }),
});

const Info = answer('ServerInfo', {
  name: z.literal('Plinth'),
  version: z.string(),
  api_version: z.string(),
  beta: z.literal(true),
  features: answer('ServerFeatures', {
    ads: z.boolean(),
    model: z.boolean(),
    git: z.boolean(),
    browser: z.boolean(),
    mail: z.boolean(),
  }),
});

const shared = { method: 'GET', credentials: open, access: anyone } as const;

export function installationRoutes(deps: InstallationDeps): Route[] {
  return [
    route({
      ...shared,
      name: 'live',
      path: '/healthz',
      summary: 'Check that the process is running',
      limit: unlimited,
      answers: { 200: answer('Liveness', { status: z.literal('ok') }) },
      handle: () => ({ status: 'ok' }) as const,
    }),
    route({
      ...shared,
      name: 'ready',
      path: '/readyz',
      summary: 'Check that the process can serve requests',
      description:
        'Ready means that the database is reachable, its migrations are applied and the process is not shutting down. The other checks are informational: without Redis, requests are served and rate limits are counted per process; without workers (`none_seen`: no heartbeat in 30 seconds), requests are served and background work waits.',
      limit: unlimited,
      answers: { 200: Readiness, 503: Readiness },
      handle: async () => {
        const checks = await deps.checkReadiness();
        const ready = checks.database === 'ok' && checks.migrations === 'ok' && !checks.draining;
        return ready
          ? { status: 'ready' as const, checks }
          : new Answer({ status: 'not_ready' as const, checks }, {}, 503);
      },
    }),
    route({
      ...shared,
      name: 'metrics',
      path: '/metrics',
      summary: 'Read metrics in the Prometheus text format',
      description: 'Requires `METRICS_TOKEN` as bearer token. If the setting is unset, the response is 404.',
      access: { ...anyone, needs: 'metrics token' },
      limit: unlimited,
      answers: { 200: media('text/plain; version=0.0.4; charset=utf-8', 'Prometheus text format') },
      refusals: [
        { status: 401, code: 'credentials_invalid' },
        { status: 404, code: 'route_not_found' },
      ],
      handle: async ({ headers }) => {
        requireMetricsToken(deps.metricsToken, headers.authorization);
        return deps.readMetrics();
      },
    }),
    route({
      ...shared,
      name: 'serverInfo',
      path: '/api/info',
      summary: 'Read the version and the configured features of this installation',
      limit: perMinute(60, 'address'),
      answers: { 200: Info },
      handle: () => deps.describeServer(),
    }),
    ...referenceRoutes(deps.description),
  ];
}

function requireMetricsToken(token: string | undefined, authorization: string | string[] | undefined): void {
  if (token === undefined) throw routeNotFound();
  if (!isBearerToken(String(authorization ?? ''), token)) throw credentialsInvalid();
}
