// Owns what an installation says of itself: alive, ready, its figures, and the description of its API (contract §13).
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
import { answer } from '../../kit/http/shapes.ts';
import { isBearerToken } from '../../kit/metrics.ts';

/** What is known of the installation; handed in, so that nothing else can be said of it. */
export interface InstallationDeps {
  checkReadiness(): Promise<{
    database: 'ok' | 'unreachable';
    migrations: 'ok' | 'pending' | 'unknown';
    redis: 'ok' | 'unreachable';
    draining: boolean;
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

const ofInstallation = { method: 'GET', credentials: open, access: anyone } as const;

export function installationRoutes(installation: InstallationDeps): Route[] {
  // Written once: they cannot change while the process runs.
  let json: string | undefined;
  let yaml: string | undefined;
  return [
    route({
      ...ofInstallation,
      name: 'live',
      path: '/healthz',
      summary: 'Is the process running?',
      limit: unlimited,
      answers: { 200: answer('Liveness', { status: z.literal('ok') }) },
      handle: () => ({ status: 'ok' }) as const,
    }),
    route({
      ...ofInstallation,
      name: 'ready',
      path: '/readyz',
      summary: 'Can the process serve requests?',
      description:
        'Redis is reported and does not decide: without it requests are served, and limits are counted per process.',
      limit: unlimited,
      answers: { 200: Readiness, 503: Readiness },
      handle: async () => {
        const checks = await installation.checkReadiness();
        const ready = checks.database === 'ok' && checks.migrations === 'ok' && !checks.draining;
        return ready
          ? { status: 'ready' as const, checks }
          : new Answer({ status: 'not_ready' as const, checks }, {}, 503);
      },
    }),
    route({
      ...ofInstallation,
      name: 'metrics',
      path: '/metrics',
      summary: 'Figures for Prometheus',
      description: 'Needs the bearer token `METRICS_TOKEN`; without one set the path does not exist.',
      access: { ...anyone, needs: 'metrics token' },
      limit: unlimited,
      answers: { 200: media('text/plain; version=0.0.4; charset=utf-8', 'Prometheus text') },
      refusals: [
        { status: 401, code: 'credentials_invalid' },
        { status: 404, code: 'route_not_found' },
      ],
      handle: async ({ headers }) => {
        requireMetricsToken(installation.metricsToken, headers.authorization);
        return installation.readMetrics();
      },
    }),
    route({
      ...ofInstallation,
      name: 'openapi',
      path: '/openapi.json',
      summary: 'The description of this API, OpenAPI 3.1',
      limit: perMinute(60, 'address', { group: 'openapi' }),
      answers: { 200: media('application/json; charset=utf-8', 'OpenAPI 3.1 document') },
      handle: () => (json ??= JSON.stringify(installation.openApiDocument())),
    }),
    route({
      ...ofInstallation,
      name: 'openapiYaml',
      path: '/openapi.yaml',
      summary: 'The description of this API, OpenAPI 3.1, as YAML',
      limit: perMinute(60, 'address', { group: 'openapi' }),
      answers: { 200: media('application/yaml; charset=utf-8', 'OpenAPI 3.1 document') },
      handle: () => (yaml ??= stringify(installation.openApiDocument())),
    }),
    route({
      ...ofInstallation,
      name: 'serverInfo',
      path: '/api/info',
      summary: 'What this installation is and what it is set up for',
      limit: perMinute(60, 'address'),
      answers: { 200: Info },
      handle: () => installation.describeServer(),
    }),
    route({
      ...ofInstallation,
      name: 'reference',
      path: '/docs',
      summary: 'An interactive reference page of this API',
      limit: perMinute(60, 'address'),
      answers: { 200: media('text/html; charset=utf-8', 'a page') },
      handle: () => new Answer(referencePage, { headers: { 'content-security-policy': referencePolicy } }),
    }),
    route({
      ...ofInstallation,
      name: 'referenceAsset',
      path: '/docs/assets/{file}',
      summary: 'The script and style of the reference page',
      limit: perMinute(300, 'address'),
      answers: { 200: media('application/octet-stream', 'a file') },
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

/** Swagger UI as its package ships it, and the one line that starts it: a file of its own, so that no inline script runs. */
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

const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'";

const referencePage = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Plinth API reference</title>
  <link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
  <div id="reference"></div>
  <script src="/docs/assets/swagger-ui-bundle.js"></script>
  <script src="/docs/assets/start.js"></script>
</body>
</html>
`;
