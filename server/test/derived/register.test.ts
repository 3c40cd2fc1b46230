// Compares the routes with the operations register (docs/api/operations.yaml) and the list of error codes
// (docs/api/errors.yaml), in both directions.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../describe/errors.ts';
import { listRoutes } from '../../describe/routes.ts';
import { type AcceptedCredentials, open } from '../../src/core/auth/credentials.ts';
import { unlimited } from '../../src/core/auth/limits.ts';
import { findRequiredPlan } from '../../src/core/auth/plans.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { repeatOf } from '../../src/kit/http/operation.ts';
import { listRefusals, pipelineRefusals } from '../../src/openapi/errors.ts';
import { register } from './register.ts';

const routes = await listRoutes();
const entries = new Map(register.map((entry) => [entry.name, entry]));

/** Formats the limit in the register's notation. */
function limitInWords({ limit }: Route): string {
  if (limit === unlimited) return 'none';
  const { quota, windowSeconds, per, group, scaledBy } = limit;
  const window = windowSeconds === 60 ? 'minute' : `${windowSeconds} seconds`;
  const usual = per === 'address' ? 'never' : 'plan';
  const scaling = { never: 'never scaled', override: 'scaled by override only', plan: 'scaled by plan' }[scaledBy];
  return [
    `${quota} per ${window} per ${per.replace('+', ' and ')}`,
    ...(group ? [`group ${group}`] : []),
    ...(scaledBy === usual ? [] : [scaling]),
  ].join(', ');
}

describe('the register', () => {
  it('has exactly the operations that are served', () => {
    const served = routes.map((route) => route.name);
    expect(register.map((entry) => entry.name).sort()).toEqual([...served].sort());
    expect(new Set(served).size).toBe(served.length);
  });

  it('has the operations for sessions only that docs/api/credentials.md lists', () => {
    const page = readFileSync(new URL('../../../docs/api/credentials.md', import.meta.url), 'utf8');
    const rows = /### Sessions only\n(.*?)\n### /s
      .exec(page)?.[1]
      ?.split('\n')
      .filter((line) => line.startsWith('| `'));
    const listed = rows?.flatMap((row) =>
      [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    const sessionOnly = register.filter(({ session, full }) => session && !full).map(({ name }) => name);
    expect(listed?.sort()).toEqual(sessionOnly.sort());
  });
});

describe.each(routes.map((route) => [route.name, route] as const))('%s', (name, route) => {
  const entry = entries.get(name);

  it('has the method and path of the register', () => {
    expect(`${route.method} ${route.path}`).toBe(`${entry?.method} ${entry?.path}`);
  });

  it('accepts the credentials of the register, and no other', () => {
    const accepted: AcceptedCredentials = route.credentials === open ? {} : route.credentials;
    expect(entry).toMatchObject({
      isOpen: route.credentials === open,
      session: accepted.session === true,
      full: accepted.token !== undefined,
      readOnly: accepted.token === 'read_only',
      key: accepted.key === true,
      workspaceKey: accepted.workspaceKey ?? null,
      appUser: accepted.appUser !== undefined,
      anonymous: accepted.appUser === true,
    });
  });

  it('requires the role of the register', () => {
    expect(route.access.needs).toBe(entry?.role);
  });

  it('has the limit of the register', () => {
    expect(limitInWords(route)).toBe(entry?.limit);
  });

  it('has the byte budget of the register', () => {
    expect(route.bytes?.[0]?.group ?? null).toBe(entry?.bytes);
  });

  it('is refused at the storage quota where the register says so', () => {
    expect(route.stores !== undefined).toBe(entry?.isRefusedAtQuota);
  });

  it('honours Idempotency-Key where the register says so', () => {
    expect(route.idempotency ?? 'none').toBe(entry?.idempotency);
  });

  it('can be repeated as the register says', () => {
    expect(repeatOf(route)).toBe(entry?.repeat);
  });

  it('is included in the plans of the register', () => {
    expect((route.plan && findRequiredPlan('free', route.plan)) ?? null).toBe(entry?.plan);
  });

  it('answers only with listed error codes', () => {
    // 422 responses have no code, because they list faults (docs/api/conventions.md#validation-errors).
    const unlisted = listRefusals(route).filter(
      ({ status, code }) => status !== 422 && errorCodes[code]?.status !== status,
    );
    expect(unlisted).toEqual([]);
  });
});

describe('the list of error codes', () => {
  it.each(Object.entries(errorCodes))('%s is declared by an operation or by the pipeline', (code, { status }) => {
    const declared = [...routes.flatMap(listRefusals), ...pipelineRefusals];
    expect(declared).toContainEqual({ status, code });
  });
});
