// Every operation that can change something says which audit entries it leaves. That it leaves them is checked after
// every test file, over all the changes its tests made (see world.ts).
import { expect, it } from 'vitest';
import { listRoutes } from '../../describe/routes.ts';

const routes = await listRoutes();

it.each(routes.filter((route) => route.method !== 'GET').map((route) => [route.name, route] as const))(
  '%s says what it leaves in the audit log',
  (_name, route) => {
    expect(route.audits, 'name the entries, or say nothing').toBeDefined();
    const { audits } = route;
    const types = typeof audits === 'object' && 'sometimes' in audits ? audits.sometimes : audits;
    if (typeof types === 'object') for (const type of types) expect(type).toMatch(/^[a-z_]+(\.[a-z_]+)+$/);
  },
);

it.each(routes.filter((route) => route.method === 'GET').map((route) => [route.name, route] as const))(
  '%s reads, and leaves nothing',
  (_name, route) => {
    expect(route.audits).toBeUndefined();
  },
);
