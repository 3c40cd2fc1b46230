// The OpenAPI 3.1 document, which is built from the server's routes.
import type { Route } from '../core/auth/route.ts';
import { nameSessionCookie } from '../core/auth/session-cookie.ts';
import { grammarSchemas } from '../features/entities/index.ts';
import type { JsonSchema } from '../kit/http/json-schema.ts';
import { capitalize } from '../kit/text.ts';
import { version as release } from '../release.ts';
import { describeCodes } from './errors.ts';
import { eventSchemas, webhookSection } from './events.ts';
import { createExamples, inlineUsedOnce } from './examples.ts';
import { commonHeaders, headerComponents } from './headers.ts';
import { defaultSecurity, describeOperation, restName } from './operations.ts';
import { memberSchemas, problemSchema, validationSchema } from './problems.ts';
import { createSchemas, withoutFieldExamples } from './schemas.ts';
import { tagOf, tags } from './tags.ts';

export const apiVersion = '1.0.0';

/** With `tag`, the document contains only that feature's operations and the components they refer to. */
export function buildOpenApi(routes: readonly Route[], baseUrl: string, tag?: string): JsonSchema {
  const written = {
    Problem: problemSchema,
    ValidationError: validationSchema,
    ...memberSchemas,
    ...eventSchemas,
    ...grammarSchemas,
  };
  const described = routes.filter((route) => tag === undefined || tagOf(route) === tag);
  const schemas = createSchemas(written);
  const components = { schemas, parameters: {}, responses: {}, examples: createExamples(schemas.all) };
  const paths: Record<string, JsonSchema> = {};
  for (const route of described) {
    const path = route.path.replace('{*}', `{${restName}}`);
    paths[path] ??= {};
    (paths[path] as JsonSchema)[route.method.toLowerCase()] = describeOperation(route, components);
  }
  inlineUsedOnce(paths, components.examples);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Plinth',
      version: apiVersion,
      summary: 'The management API of an app-building platform',
      description: introduce(baseUrl),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    security: defaultSecurity,
    tags: tags.filter(({ name }) => tag === undefined || name === tag).map(withTitle),
    paths,
    ...((tag === undefined || tag === 'webhooks') && { webhooks: webhookSection }),
    components: {
      schemas: sortKeys({ ...withoutFieldExamples(schemas.all), ...written }),
      parameters: sortKeys(components.parameters),
      responses: sortKeys(components.responses),
      examples: sortKeys(components.examples.all),
      headers: headerComponents,
      securitySchemes: describeSecurity(baseUrl),
      'x-problem-codes': describeCodes(described),
    },
  };
  return tag === undefined ? document : withoutUnused(document);
}

const describeSecurity = (baseUrl: string) => ({
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'A personal access token (plp_…), a workspace key, or a token of an app user.',
  },
  api_key: {
    type: 'apiKey',
    in: 'header',
    name: 'api_key',
    description: 'A personal API key (deprecated; use a token) or a workspace key.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: nameSessionCookie(baseUrl.startsWith('https:')),
    description: 'The session of a signed-in browser.',
  },
});

const introduce = (
  baseUrl: string,
): string => `Manage the parts of an app builder: workspaces and members, apps with data under rules, agents, webhooks, credits and an
audit log.

The release of Plinth is ${release}, and the version of its API is ${apiVersion}. Both are in beta.

## First request

Create a token on the [start page](${baseUrl}/), and send it as a bearer token:

\`\`\`sh
curl ${baseUrl}/api/auth/me \\
  -H "Authorization: Bearer $TOKEN"
\`\`\`

## Errors

Every error except 422 is a problem (\`application/problem+json\`) with a stable \`code\`, a \`detail\` that says what to do next,
and \`retry_safe\` where it matters. A 422 names each faulty field.

## Response headers

- \`X-Request-Id\`: names the request in logs and in the audit log
- \`X-Changed: false\`: everything was already as requested
- \`X-Ignored-Fields\`: fields and parameters that had no effect
- \`X-Partial-Result\`: a part could not be read
- \`X-Truncated\`: the list was cut at its maximum
- \`X-Warning\`: codes of warnings

Besides the headers that operations declare, a response may have those of HTTP, CORS and browser security:
${commonHeaders.map((name) => `\`${name}\``).join(', ')}.

## Properties of operations

- \`x-effect\`: what a call may do (read, change, remove, spend)
- \`x-prices\`: what a call costs in credits
- \`x-secret-fields\`: which fields are shown once
- \`x-held-seconds\`: how long the connection may stay open
- \`x-repeat\`: whether a request whose outcome is unknown may be sent again
- \`x-events\`: the events of the stream, and which of them is the \`last\`: always, or with some values if the stream then ends

\`components.x-problem-codes\` lists all codes.
`;

/** Adds the names that readers see, for example on the reference page. */
const withTitle = (tag: { name: string }) => ({
  ...tag,
  'x-displayName': capitalize(tag.name.replaceAll('-', ' ')),
});

const sortKeys = (components: Record<string, JsonSchema>): Record<string, JsonSchema> =>
  Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Removes components that nothing in the document refers to. */
function withoutUnused<Document extends { components: Record<string, object> }>(document: Document): Document {
  const { components, ...rest } = document;
  const used = new Set<string>();
  const follow = (node: unknown): void => {
    for (const [, kind, name] of JSON.stringify(node).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      const at = `${kind}/${name}`;
      if (used.has(at)) continue;
      used.add(at);
      follow((components[kind as string] as Record<string, unknown>)[name as string]);
    }
  };
  follow({ rest, codes: components['x-problem-codes'] });
  const kept = Object.entries(components).map(([kind, all]) => [
    kind,
    kind === 'securitySchemes' || kind === 'x-problem-codes'
      ? all
      : Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`${kind}/${name}`))),
  ]);
  return { ...document, components: Object.fromEntries(kept) };
}
