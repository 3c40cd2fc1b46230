// Writes docs/generated/catalogue.md: every operation in one table.
import { open } from '../src/core/auth/credentials.ts';
import { unlimited } from '../src/core/auth/limits.ts';
import type { Route } from '../src/core/auth/route.ts';
import { credentialsOf, listRefusals } from '../src/openapi.ts';

export function describeCatalogue(routes: readonly Route[]): string {
  const rows = [...routes].sort((a, b) => a.path.localeCompare(b.path) || a.method.localeCompare(b.method)).map(row);
  return [
    '# Catalogue of operations',
    '',
    'Written by `npm run describe` from the routes. Do not edit.',
    '',
    `${routes.length} operations. *Who*: the credentials accepted; *access*: the role needed.`,
    '',
    '| Operation | Method and path | What it does | Who | Access | Limit | Refusals |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function row(route: Route): string {
  const who = route.credentials === open ? 'anyone' : credentialsOf(route.credentials).join(', ');
  const limit =
    route.limit === unlimited
      ? 'none'
      : `${route.limit.quota} per ${route.limit.windowSeconds} s and ${route.limit.per}`;
  const refusals = [...new Set(listRefusals(route).map(({ status, code }) => `${status} ${code}`))].join(', ');
  const cells = [
    route.name,
    `\`${route.method} ${route.path}\``,
    route.summary,
    who,
    route.access.needs,
    limit,
    refusals,
  ];
  return `| ${cells.join(' | ')} |`;
}
