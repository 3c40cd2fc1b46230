// Checks that every operation that can change something declares its audit entries. After every test file, all changes
// made by its tests are checked for their entries (see server/test/support/world.ts).
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { listRoutes } from '../../describe/routes.ts';
import { auditTypes, workspaceAuditTypes } from '../../src/core/audit/types.ts';

const routes = await listRoutes();

it.each(routes.filter((route) => route.method !== 'GET').map((route) => [route.name, route] as const))(
  '%s declares its audit entries',
  (_name, route) => {
    expect(route.audits, "list the entries in `audits`, or set it to 'nothing'").toBeDefined();
    const { audits } = route;
    const types = typeof audits === 'object' && 'sometimes' in audits ? audits.sometimes : audits;
    if (typeof types === 'object')
      expect(types.filter((type) => !auditTypes.some((known) => known === type))).toEqual([]);
  },
);

it('the reference lists the types of entries that a workspace may have', () => {
  const page = readFileSync(new URL('../../../docs/api/audit-log.md', import.meta.url), 'utf8');
  const rows = page
    .slice(page.indexOf('\n## Types'), page.indexOf('\n## Record writes'))
    .matchAll(/^\| `([\w.]+\.)` \| (.*) \|$/gm);
  const listed = [...rows].flatMap(([, prefix, names = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${prefix}${name}`),
  );
  expect(listed.sort()).toEqual([...workspaceAuditTypes].sort());
});

it.each(routes.filter((route) => route.method === 'GET').map((route) => [route.name, route] as const))(
  '%s is a GET and declares no audit entry',
  (_name, route) => {
    expect(route.audits).toBeUndefined();
  },
);
