// Writes docs/generated/catalogue.md: every operation in one table.
import { open } from '../src/core/auth/credentials.ts';
import { unlimited } from '../src/core/auth/limits.ts';
import type { Route } from '../src/core/auth/route.ts';
import { listRefusals } from '../src/openapi/errors.ts';
import { listCredentials } from '../src/openapi/operations.ts';

export function describeCatalogue(routes: readonly Route[]): string {
  const rows = [...routes].sort((a, b) => a.path.localeCompare(b.path) || a.method.localeCompare(b.method)).map(row);
  return [
    '# Catalogue of operations',
    '',
    'Written by `npm run describe` from the routes. Do not edit.',
    '',
    `${routes.length} operations. [operations.yaml](../api/operations.yaml) explains the credentials and roles,`,
    '[errors.md](errors.md) the error codes.',
    '',
    '| Operation | Method and path | What it does | Credentials | Role | Limit | Error codes |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function row(route: Route): string {
  const credentials = route.credentials === open ? 'open' : listCredentials(route.credentials).join(', ');
  const limit =
    route.limit === unlimited
      ? 'none'
      : `${route.limit.quota} per ${route.limit.windowSeconds} s per ${route.limit.per}`;
  const codes = [...new Set(listRefusals(route).map(({ status, code }) => `${status} ${code}`))].join(', ');
  const cells = [
    route.name,
    `\`${route.method} ${route.path}\``,
    route.summary,
    credentials,
    route.access.needs,
    limit,
    codes,
  ];
  return `| ${cells.join(' | ')} |`;
}
