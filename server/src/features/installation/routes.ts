// Owns the routes of the installation itself: health checks, metrics, OpenAPI document and reference page
// (docs/api/installation.md).
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { credentialsInvalid, open } from '../../core/auth/credentials.ts';
import { perMinute, unlimited } from '../../core/auth/limits.ts';
import { anyone } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { Answer } from '../../kit/http/answer.ts';
import { routeNotFound } from '../../kit/http/errors.ts';
import { media } from '../../kit/http/operation.ts';
import { answerWithPage } from '../../kit/http/page.ts';
import { answer } from '../../kit/http/shapes.ts';
import { isBearerToken } from '../../kit/metrics.ts';

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
  openApiDocument(): object;
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
  // Cached: the document can't change while the process runs.
  let json: string | undefined;
  let yaml: string | undefined;
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
      name: 'openapi',
      path: '/openapi.json',
      summary: 'Read the OpenAPI 3.1 document of this API',
      limit: perMinute(60, 'address', { group: 'openapi' }),
      answers: { 200: media('application/json; charset=utf-8', 'OpenAPI 3.1 document') },
      handle: () => (json ??= JSON.stringify(deps.openApiDocument())),
    }),
    route({
      ...shared,
      name: 'openapiYaml',
      path: '/openapi.yaml',
      summary: 'Read the OpenAPI 3.1 document of this API, as YAML',
      limit: perMinute(60, 'address', { group: 'openapi' }),
      answers: { 200: media('application/yaml; charset=utf-8', 'OpenAPI 3.1 document') },
      handle: () => (yaml ??= stringify(deps.openApiDocument())),
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
    route({
      ...shared,
      name: 'reference',
      path: '/docs',
      summary: 'Show the interactive reference page of this API',
      limit: perMinute(60, 'address'),
      answers: { 200: media('text/html; charset=utf-8', 'HTML page') },
      handle: () => answerWithPage(referencePage),
    }),
    route({
      ...shared,
      name: 'referenceAsset',
      path: '/docs/assets/{file}',
      summary: 'Read scripts and styles of the reference page',
      limit: perMinute(300, 'address'),
      answers: { 200: media('application/octet-stream', 'File') },
      refusals: [{ status: 404, code: 'route_not_found' }],
      handle: ({ params }) => referenceAsset(params.file),
    }),
  ];
}

function requireMetricsToken(token: string | undefined, authorization: string | string[] | undefined): void {
  if (token === undefined) throw routeNotFound();
  if (!isBearerToken(String(authorization ?? ''), token)) throw credentialsInvalid();
}

const assetFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const script = 'text/javascript; charset=utf-8';

/** Swagger UI and the line that starts it, which is a file because the content security policy forbids inline scripts. */
const assets: Record<string, { type: string; read(): Promise<Buffer> }> = {
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: () => readFile(join(assetFolder, 'swagger-ui.css')) },
  'swagger-ui-bundle.js': { type: script, read: () => readFile(join(assetFolder, 'swagger-ui-bundle.js')) },
  'start.js': {
    type: script,
    read: async () =>
      Buffer.from(
        "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', deepLinking: true, docExpansion: 'list' });\n",
      ),
  },
};

async function referenceAsset(file: string): Promise<Answer<Buffer>> {
  const asset = Object.hasOwn(assets, file) ? assets[file] : undefined;
  if (asset === undefined) throw routeNotFound();
  return new Answer(await asset.read(), {
    headers: { 'content-type': asset.type, 'cache-control': 'public, max-age=3600' },
  });
}

const referencePage = {
  sources: "script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'",
  html: `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Plinth API reference</title>
  <link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
  <div id="reference"></div>
  <noscript><p>This page needs JavaScript. Without it, read <a href="/openapi.json">the OpenAPI document</a>.</p></noscript>
  <script src="/docs/assets/swagger-ui-bundle.js"></script>
  <script src="/docs/assets/start.js"></script>
</body>
</html>
`,
};
