// The routes for the API's description: the OpenAPI document for all features or for one, a text for language
// models, and the reference page (docs/api/installation.md#openapi-document).
import { open } from '../../core/auth/credentials.ts';
import { anyone } from '../../core/auth/guards/visitor.ts';
import { perMinute } from '../../core/auth/limits.ts';
import { type Route, route } from '../../core/auth/route.ts';
import { media } from '../../kit/http/operation.ts';
import { answerWithPage } from '../../kit/http/page/page.ts';
import { readScalarScript } from '../../kit/http/page/scalar.ts';
import { routeNotFound } from '../../kit/http/response/errors.ts';
import { type FixedFile, fixedFile } from '../../kit/http/response/fixed-file.ts';

export interface Description {
  /** Builds the document for one feature, or for all features. */
  buildDocument(feature?: string): object;
  readonly features: readonly string[];
  buildLlmsText(): string;
  /** The samples of each operation, by its name. */
  buildCodeSamples(): object;
}

const shared = { method: 'GET', credentials: open, access: anyone } as const;
const limit = perMinute(60, 'address', { group: 'openapi' });
const headers = ['ETag'];
const notModified = media('application/octet-stream', 'Not modified since this `ETag`');

export function referenceRoutes(description: Description): Route[] {
  const json = (feature?: string) =>
    fixedFile('application/json; charset=utf-8', () => JSON.stringify(description.buildDocument(feature)));
  const whole = json();
  const byFile = new Map(description.features.map((feature) => [`${feature}.json`, json(feature)]));
  const yaml = fixedFile('application/yaml; charset=utf-8', async () => {
    const { stringify } = await import('yaml'); // rarely needed, and slow to load
    return stringify(description.buildDocument());
  });
  const files = new Map([
    ...assets,
    [
      'samples.json',
      fixedFile('application/json; charset=utf-8', () => JSON.stringify(description.buildCodeSamples())),
    ],
  ]);
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
        'Each document, such as `webhooks.json` or `entities.json`, is complete in itself. The features are the tags of the whole document.',
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
      summary: 'Read a description of this API for language models',
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
      handle: ({ params, headers }) => findFile(files, params.file).answer(headers),
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
 * The samples are not in the document, whose readers are programs: they would make it half as large again.
 *
 * The page loads nothing from other origins and sends no data anywhere. Scalar's developer tools are off, because they
 * would offer to upload the document. Its copy of zod runs with `jitless`. Otherwise zod would test whether it may
 * compile code, which violates the content security policy.
 */
const startScript = `globalThis.__zod_globalConfig = { jitless: true };
const load = async (path) => {
  const response = await fetch(path);
  return response.json();
};
addEventListener('DOMContentLoaded', async () => {
  const [content, samples] = await Promise.all([load('/openapi.json'), load('/docs/assets/samples.json')]);
  for (const operation of Object.values(content.paths).flatMap(Object.values))
    operation['x-codeSamples'] = samples[operation.operationId] ?? [];
  Scalar.createApiReference('#reference', {
    content,
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    authentication: { preferredSecurityScheme: 'bearer' },
    defaultOpenFirstTag: false,
    defaultOpenAllTags: false,
  });
});
`;

/**
 * Scalar and its start script. The script is a separate file because the content security policy forbids inline
 * scripts.
 */
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
