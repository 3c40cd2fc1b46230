// /llms.txt: an introduction for language models, in the format of https://llmstxt.org.
import type { Route } from '../core/auth/route.ts';
import { effectOf } from '../kit/http/operation.ts';
import { tagOf, tags } from './tags.ts';

export function buildLlmsText(routes: readonly Route[], baseUrl: string): string {
  return [
    '# Plinth',
    '',
    '> The management API of an app-building platform: apps and agents, entity records under rules, webhooks with signed',
    '> deliveries, workspace members, credits and an audit log.',
    '',
    ...introduction,
    '',
    '## Documents',
    '',
    `- [OpenAPI 3.1, all operations](${baseUrl}/openapi.json): every operation with its body, answers, errors and examples`,
    ...tags.map(({ name, description }) => `- [${name}](${baseUrl}/openapi/${name}.json): ${description}`),
    ...tags.flatMap(({ name, description }) => [
      '',
      `## ${name}`,
      '',
      description,
      '',
      ...listOperations(routes, name),
    ]),
    '',
  ].join('\n');
}

const introduction = [
  'Send `Authorization: Bearer <token>`. Errors are JSON with a stable `code`, a `detail` that says what to do next, and',
  '`retry_safe`. A 422 names each fault in `detail[].loc` and `detail[].msg`. Repeat a request that creates something only',
  'with the same `Idempotency-Key`. After 429 and 503 wait `Retry-After` seconds. `X-Ignored-Fields` names what had no',
  'effect; `X-Partial-Result` names what could not be read. Ids are UUIDs, times ISO 8601 in UTC. Each operation below is',
  'followed by what it does: read, change, remove (takes something away) or spend (uses credits).',
];

const listOperations = (routes: readonly Route[], tag: string): string[] =>
  routes
    .filter((route) => tagOf(route) === tag)
    .map((route) => `- \`${route.method} ${route.path}\` ${route.name} (${effectOf(route)}): ${route.summary}`);
