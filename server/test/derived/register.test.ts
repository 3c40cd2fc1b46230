// Every route is what the register of operations says it is: method, path, credentials, role, limit, idempotency.
import { describe, expect, it } from 'vitest';
import { describedRoutes } from '../../describe/routes.ts';
import { type AcceptedCredentials, open } from '../../src/core/auth/credentials.ts';
import { type Limit, unlimited } from '../../src/core/auth/limits.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { listRefusals } from '../../src/openapi.ts';
import { contractCodes, type Registered, register } from './register.ts';

const routes = await describedRoutes();
const registered = new Map(register.map((row) => [`${row.method} ${row.path}`, row]));

// Served beside the register: pages for people.
const beside = new Set(['reference', 'referenceAsset', 'resetPasswordPage', 'invitationPage']);

const letters: Record<Limit['per'], string> = {
  caller: 'c',
  workspace: 'w',
  user: 'u',
  app: 'a',
  address: 'i',
  'caller+app': 'c+a',
  'workspace+app': 'w+a',
  'address+app': 'i+a',
};

// The spec's four figures that an override may change; they carry no mark in the register (§0.8).
const overridable = new Set(['listMembers', 'getConnectionConfig', 'removeFolderItem', 'deleteFlow']);

function limitAsWritten(route: Route): string {
  if (route.limit === unlimited) return 'none';
  const { quota, windowSeconds, per, group, scaledBy } = route.limit;
  const figure = `${quota}${windowSeconds === 60 ? '' : `/${windowSeconds}s`} ${letters[per]}`;
  return `${figure}${scaledBy === 'never' && per !== 'address' ? '!' : ''}${group && group !== 'openapi' ? ` [${group}]` : ''}`;
}

describe('the register', () => {
  it('was read whole', () => {
    expect(register.length).toBeGreaterThan(200);
    expect(register.filter((row) => row.appUser)).toHaveLength(11);
    expect(contractCodes.get(404)?.has('folder_not_found')).toBe(true);
  });

  it('names every operation once', () => {
    const names = routes.map((route) => route.name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe.each(routes.filter((route) => !beside.has(route.name)).map((route) => [route.name, route] as const))(
  '%s',
  (_name, route) => {
    const row = registered.get(`${route.method} ${route.path}`) as Registered;

    it('is in the register, with its method and path', () => {
      expect(row).toBeDefined();
      if (!row.name.match(/\d$/)) expect(route.name).toBe(row.name);
      expect(route.origin).toBe(row.origin);
    });

    it('accepts the credentials the register lists, and no other', () => {
      const accepted = route.credentials === open ? {} : (route.credentials as AcceptedCredentials);
      expect({
        isOpen: route.credentials === open,
        session: accepted.session === true,
        full: accepted.token !== undefined,
        readOnly: accepted.token === 'read_only',
        key: accepted.key === true,
        workspaceKey: accepted.workspaceKey ?? null,
        appUser: accepted.appUser === true,
      }).toEqual({
        isOpen: row.isOpen,
        session: row.session,
        full: row.full,
        readOnly: row.readOnly,
        key: row.key,
        workspaceKey: row.workspaceKey,
        appUser: row.appUser,
      });
    });

    it('asks for the role the register names', () => {
      const needs = route.name === 'createFolder' ? 'personal: w:viewer; workspace: w:editor' : route.access.needs;
      if (!row.isOpen) expect(needs).toBe(row.role);
    });

    it('has the limit the register names', () => {
      // A mark on an address counter says nothing new: those never scale.
      expect(limitAsWritten(route)).toBe(row.limit.replace(/ i!$/, ' i'));
      if (route.limit !== unlimited && overridable.has(route.name)) expect(route.limit.scaledBy).toBe('override');
    });

    it('honours Idempotency-Key where the register says so', () => {
      expect({ optional: 'I', required: 'I*' }[route.idempotency as string] ?? '').toBe(row.idempotency);
    });

    it('refuses only with codes of the contract', () => {
      const unknown = listRefusals(route).filter(
        ({ status, code }) => status !== 422 && !contractCodes.get(status)?.has(code),
      );
      expect(unknown).toEqual([]);
    });
  },
);
