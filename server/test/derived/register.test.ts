// Compares the routes with the register of operations (docs/api/operations.yaml) and with the list of error codes
// (docs/api/errors.yaml), in both directions.
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../describe/errors.ts';
import { listRoutes } from '../../describe/routes.ts';
import { type AcceptedCredentials, open } from '../../src/core/auth/credentials.ts';
import { unlimited } from '../../src/core/auth/limits.ts';
import { findRequiredPlan } from '../../src/core/auth/plans.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { listRefusals, pipelineRefusals } from '../../src/openapi/errors.ts';
import { register } from './register.ts';

const routes = await listRoutes();
const entries = new Map(register.map((entry) => [entry.name, entry]));

/** The limit as the register words it. */
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

  it('honours Idempotency-Key where the register says so', () => {
    expect(route.idempotency ?? 'none').toBe(entry?.idempotency);
  });

  it('is included in the plans of the register', () => {
    expect((route.plan && findRequiredPlan('free', route.plan)) ?? null).toBe(entry?.plan);
  });

  it('answers only with listed error codes', () => {
    // 422 answers have no code: they list faults (docs/api/conventions.md#validation-errors).
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
