// Owns the routes of the API's description: the OpenAPI document, whole and by feature, a text for language models, and the
// reference page (docs/api/installation.md#openapi-document).
import { open } from '../../core/auth/credentials.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { anyone } from '../../core/auth/resource-guards.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { routeNotFound } from '../../kit/http/errors.ts';
import { type FixedFile, fixedFile } from '../../kit/http/fixed-file.ts';
import { media } from '../../kit/http/operation.ts';
import { answerWithPage } from '../../kit/http/page.ts';
import { readScalarScript } from '../../kit/http/scalar.ts';

export interface Description {
  /** Of one feature, or of all. */
  buildDocument(feature?: string): object;
  readonly features: readonly string[];
  buildLlmsText(): string;
}

const shared = { method: 'GET', credentials: open, access: anyone } as const;
const limit = perMinute(60, 'address', { group: 'openapi' });
const headers = ['ETag'];
const notModified = media('application/octet-stream', 'Not modified: `If-None-Match` has the current `ETag`');

export function referenceRoutes(description: Description): Route[] {
  const json = (feature?: string) =>
    fixedFile('application/json; charset=utf-8', () => JSON.stringify(description.buildDocument(feature)));
  const whole = json();
  const byFile = new Map(description.features.map((feature) => [`${feature}.json`, json(feature)]));
  const yaml = fixedFile('application/yaml; charset=utf-8', async () => {
    const { stringify } = await import('yaml'); // hardly ever needed, and much to load
    return stringify(description.buildDocument());
  });
  const llms = fixedFile('text/plain; charset=utf-8', description.buildLlmsText);
  return [
    route({
      ...shared,
      name: 'openapi',
      path: '/openapi.json',
      summary: 'Read the OpenAPI 3.1 document of this API',
      limit,
      headers,
      answers: { 200: media('application/json; charset=utf-8', 'OpenAPI 3.1 document'), 304: notModified },
      handle: ({ headers }) => whole.answer(headers),
    }),
    route({
      ...shared,
      name: 'openapiYaml',
      path: '/openapi.yaml',
      summary: 'Read the OpenAPI 3.1 document of this API, as YAML',
      limit,
      headers,
      answers: { 200: media('application/yaml; charset=utf-8', 'OpenAPI 3.1 document'), 304: notModified },
      handle: ({ headers }) => yaml.answer(headers),
    }),
    route({
      ...shared,
      name: 'openapiOfFeature',
      path: '/openapi/{file}',
      summary: 'Read the OpenAPI 3.1 document of one feature',
      description:
        'Complete in itself: `webhooks.json`, `entities.json` … The tags of the whole document are the features.',
      limit,
      headers,
      answers: { 200: media('application/json; charset=utf-8', 'OpenAPI 3.1 document'), 304: notModified },
      refusals: [{ status: 404, code: 'route_not_found' }],
      handle: ({ params, headers }) => findFile(byFile, params.file).answer(headers),
    }),
    route({
      ...shared,
      name: 'llms',
      path: '/llms.txt',
      summary: 'Read what a language model needs to use this API',
      limit,
      headers,
      answers: { 200: media('text/plain; charset=utf-8', 'Markdown'), 304: notModified },
      handle: ({ headers }) => llms.answer(headers),
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
      headers,
      answers: { 200: media('application/octet-stream', 'File'), 304: notModified },
      refusals: [{ status: 404, code: 'route_not_found' }],
      handle: ({ params, headers }) => findFile(assets, params.file).answer(headers),
    }),
  ];
}

function findFile(files: ReadonlyMap<string, FixedFile>, name: string): FixedFile {
  const file = files.get(name);
  if (file === undefined) throw routeNotFound();
  return file;
}

const script = 'text/javascript; charset=utf-8';
const anHour = 'public, max-age=3600';

/**
 * Nothing is loaded from elsewhere, and nothing is reported to anybody: Scalar's developer tools, which would offer to upload
 * the document, are off. Its copy of zod would try whether it may compile code, which the content security policy reports.
 */
const startScript = `globalThis.__zod_globalConfig = { jitless: true };
addEventListener('DOMContentLoaded', () =>
  Scalar.createApiReference('#reference', {
    url: '/openapi.json',
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    authentication: { preferredSecurityScheme: 'bearer' },
    defaultOpenFirstTag: false,
    defaultOpenAllTags: false,
  }),
);
`;

/** Scalar and the lines that start it, which are a file because the content security policy forbids inline scripts. */
const assets: ReadonlyMap<string, FixedFile> = new Map([
  ['scalar.js', fixedFile(script, readScalarScript, anHour)],
  ['start.js', fixedFile(script, () => startScript, anHour)],
]);

const referencePage = {
  sources:
    "script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'",
  html: `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Plinth API reference</title>
</head>
<body>
  <div id="reference"></div>
  <noscript><p>This page needs JavaScript. Without it, read <a href="/openapi.json">the OpenAPI document</a>.</p></noscript>
  <script src="/docs/assets/start.js"></script>
  <script src="/docs/assets/scalar.js"></script>
</body>
</html>
`,
};
