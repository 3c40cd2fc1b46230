// Owns the check that every operation which can change something declares its audit entries. Whether it writes them is
// checked after every test file, for all changes that its tests made (see server/test/support/world.ts).
import { expect, it } from 'vitest';
import { listRoutes } from '../../describe/routes.ts';

const routes = await listRoutes();

it.each(routes.filter((route) => route.method !== 'GET').map((route) => [route.name, route] as const))(
  '%s declares its audit entries',
  (_name, route) => {
    expect(route.audits, "list the entries in `audits`, or set it to 'nothing'").toBeDefined();
    const { audits } = route;
    const types = typeof audits === 'object' && 'sometimes' in audits ? audits.sometimes : audits;
    if (typeof types === 'object') for (const type of types) expect(type).toMatch(/^[a-z_]+(\.[a-z_]+)+$/);
  },
);

it.each(routes.filter((route) => route.method === 'GET').map((route) => [route.name, route] as const))(
  '%s is a GET and declares no audit entry',
  (_name, route) => {
    expect(route.audits).toBeUndefined();
  },
);
