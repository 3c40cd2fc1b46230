// The routes for the installation itself: health checks, metrics and server information
// (docs/api/installation.md).
import { z } from 'zod';
import { credentialsInvalid, open } from '../../core/auth/credentials.ts';
import { anyone } from '../../core/auth/guards/visitor.ts';
import { perMinute, unlimited } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { Answer } from '../../kit/http/answer.ts';
import { media } from '../../kit/http/operation.ts';
import { routeNotFound } from '../../kit/http/response/errors.ts';
import { answer, described } from '../../kit/http/shapes.ts';
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
    features: Record<keyof z.input<typeof Features>, boolean>;
    stand_in_requests: readonly string[];
    mail_inbox_url: string | null;
  };
}

const Readiness = answer('Readiness', {
  status: described(z.enum(['ready', 'not_ready']), 'Whether the process can serve requests.'),
  checks: described(
    answer('ReadinessChecks', {
      database: described(z.enum(['ok', 'unreachable']), 'Whether the process can reach the database.'),
      migrations: described(
        z.enum(['ok', 'pending', 'unknown']),
        "Whether the database has all migrations of this version; `unknown` if it can't be read.",
      ),
      redis: described(
        z.enum(['ok', 'unreachable']),
        'Whether the process can reach Redis; without it, rate limits are counted per process.',
      ),
      draining: described(z.boolean(), 'Whether the process is shutting down and should get no more requests.'),
      workers: described(
        z.enum(['ok', 'none_seen', 'unknown']),
        "Whether a worker has sent a heartbeat in the last 30 seconds; `unknown` if the database can't be read.",
      ),
      queue_lag_seconds: described(
        z.number().nullable(),
        'The number of seconds for which the oldest due work has waited; null if unknown.',
        0,
      ),
      worker_heartbeat: described(
        z.string().nullable(),
        "When a worker last sent a heartbeat; null if no worker has run yet, or if the database can't be read.",
        '2026-11-15T09:30:00.000Z',
      ),
    }),
    'The result of each check; `database`, `migrations` and `draining` decide the status.',
  ),
});

const Features = answer('ServerFeatures', {
  ads: described(z.boolean(), 'Whether an ad platform is configured.'),
  model: described(z.boolean(), 'Whether a language model for agents is configured.'),
  git: described(z.boolean(), 'Whether a git host is configured.'),
  browser: described(z.boolean(), 'Whether a browser that checks pages for errors is configured.', false),
  mail: described(z.boolean(), 'Whether outgoing mail is configured.'),
  apps_domain: described(
    z.boolean(),
    'Whether apps have a domain of their own; without it, their pages run in a sandbox.',
  ),
  payments: described(
    z.boolean(),
    'Whether workspaces pay for advertising by card here; otherwise that is arranged elsewhere.',
  ),
  connectors: described(z.boolean(), 'Whether at least one service that apps connect to by OAuth is configured.'),
  console: described(z.boolean(), 'Whether the console, the web interface, is built and served.', false),
});

const Info = answer('ServerInfo', {
  name: described(z.literal('Plinth'), 'Always `Plinth`.'),
  version: described(z.string(), 'The release of Plinth that is running.', '0.1.0'),
  api_version: described(z.string(), 'The version of the API, which is also that of the OpenAPI document.', '1.0.0'),
  beta: described(z.literal(true), 'Always true: the release and the API are both in beta.'),
  features: described(Features, 'Whether the provider of each feature is configured.'),
  stand_in_requests: described(
    z.array(z.string()).readonly(),
    'What the builder chat can be asked for if a stand-in for a language model is configured: first the app, then changes of it. Empty with a real model.',
    [],
  ),
  mail_inbox_url: described(
    z.string().nullable(),
    'The page that shows all mails if a stand-in for a mail server keeps them instead of delivering them, as under `npm run dev`; null with a real mail server, and without mail.',
    null,
  ),
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
      answers: { 200: answer('Liveness', { status: described(z.literal('ok'), 'Always `ok`.') }) },
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
      description:
        'Requires the value of the setting `METRICS_TOKEN` as a bearer token. Without this setting, the response is 404.',
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
